"""How long the code of each class is: Huffman's lengths, none above a limit, and how they are written."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.compression.classes import CLASSES


@kernel
def code_lengths(counts, longest, lengths):
    """The lengths of the shortest prefix code, 0 for classes that do not occur; the number of those that do."""
    order, weights = np.empty(CLASSES, np.int64), np.empty(CLASSES, np.int64)
    size = 0
    for number in range(CLASSES):
        lengths[number] = 0
        if counts[number]:
            spot = size
            while spot > 0 and counts[order[spot - 1]] > counts[number]:
                order[spot] = order[spot - 1]
                spot -= 1
            order[spot] = number
            size += 1
    if size == 1:
        lengths[order[0]] = 1
        return size
    for k in range(size):
        weights[k] = counts[order[k]]
    _shortest(weights, size)
    _limit(weights, size, longest)
    for k in range(size):
        lengths[order[k]] = weights[k]
    return size


@kernel
def _shortest(weights, size):
    """Turn weights in ascending order into lengths of codes, in place (Moffat and Katajainen, 1995)."""
    weights[0] += weights[1]
    root, leaf = 0, 2
    for k in range(1, size - 1):
        if leaf >= size or weights[root] < weights[leaf]:
            weights[k] = weights[root]
            weights[root] = k
            root += 1
        else:
            weights[k] = weights[leaf]
            leaf += 1
        if leaf >= size or (root < k and weights[root] < weights[leaf]):
            weights[k] += weights[root]
            weights[root] = k
            root += 1
        else:
            weights[k] += weights[leaf]
            leaf += 1
    weights[size - 2] = 0
    for k in range(size - 3, -1, -1):
        weights[k] = weights[weights[k]] + 1
    available, used, depth, root, k = 1, 0, 0, size - 2, size - 1
    while available > 0:
        while root >= 0 and weights[root] == depth:
            used += 1
            root -= 1
        while available > used:
            weights[k] = depth
            k -= 1
            available -= 1
        available, depth, used = 2 * used, depth + 1, 0


@kernel
def _limit(lengths, size, longest):
    """Cut lengths, which descend, to the longest; others grow until there are codes for all."""
    room = np.int64(1) << longest
    for k in range(size):
        lengths[k] = min(lengths[k], longest)
        room -= np.int64(1) << (longest - lengths[k])
    k = 0
    while room < 0:  # the rarest that can still grow
        while lengths[k] >= longest:
            k += 1
        room += np.int64(1) << (longest - lengths[k] - 1)
        lengths[k] += 1
    for k in range(size - 1, -1, -1):  # the most frequent take what is left
        while lengths[k] > 1 and room >= np.int64(1) << (longest - lengths[k]):
            room -= np.int64(1) << (longest - lengths[k])
            lengths[k] -= 1


@kernel
def by_length(lengths, last, longest, order, ends):
    """The classes up to the last in the order of their lengths; those of length l end at `ends[l]`."""
    ends[: longest + 1] = 0
    for number in range(last + 1):
        ends[min(lengths[number], longest)] += 1
    ends[0] = 0
    for length in range(1, longest + 1):
        ends[length] += ends[length - 1]
    for number in range(last, -1, -1):
        length = min(lengths[number], longest)
        if length:
            ends[length] -= 1
            order[ends[length]] = number
    for length in range(1, longest):
        ends[length] = ends[length + 1]
    ends[longest] = 0
    for number in range(last + 1):
        ends[longest] += lengths[number] != 0


@kernel
def put_lengths(lengths, data, at):
    """Write the last class that occurs, then four bits a class; a zero is followed by how many more zeros there are."""
    last = CLASSES - 1
    while last > 0 and lengths[last] == 0:
        last -= 1
    data[at] = last
    half, number = 2 * (at + 1), 0
    while number <= last:
        half = _put_half(lengths[number], data, half)
        number += 1
        if lengths[number - 1] == 0:
            more = 0
            while more < 15 and lengths[number] == 0:  # the last one is not zero
                more += 1
                number += 1
            half = _put_half(more, data, half)
    return (half + 1) >> 1


@kernel
def _put_half(value, data, half):
    if half & 1:
        data[half >> 1] |= value << 4
    else:
        data[half >> 1] = value
    return half + 1


@kernel
def get_lengths(data, at, lengths):
    """Read what `put_lengths` wrote: where it ends, and the last class."""
    lengths[:CLASSES] = 0
    last, half, number = np.int64(data[at]), 2 * (at + 1), np.int64(0)
    while number <= last:
        value = np.int64(data[half >> 1] >> (4 * (half & 1))) & 15
        half += 1
        lengths[number] = value
        number += 1
        if value == 0:
            number += np.int64(data[half >> 1] >> (4 * (half & 1))) & 15
            half += 1
    return (half + 1) >> 1, last
