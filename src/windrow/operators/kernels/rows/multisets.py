"""Multisets as sorted runs (group, key, count): made from rows, merged, subtracted."""

from __future__ import annotations

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.searching import first_not_before


@kernel
def sort_segments(segments, keys, starts, out):
    """`out` = the keys of segment 0, sorted, then those of segment 1, ...; `starts` gets where each begins.

    `starts` must be zero and one longer than there are segments.
    """
    for i in range(len(segments)):
        starts[segments[i] + 1] += 1
    for s in range(1, len(starts)):
        starts[s] += starts[s - 1]
    place = starts[:-1].copy()
    for i in range(len(segments)):
        out[place[segments[i]]] = keys[i]
        place[segments[i]] += 1
    for s in range(len(starts) - 1):
        if starts[s + 1] - starts[s] > 1:
            out[starts[s] : starts[s + 1]].sort()


@kernel
def count_runs(starts, keys, out_segments, out_keys, out_counts):
    """Equal neighbours become one run with a count. Returns the number of runs."""
    written = 0
    for s in range(len(starts) - 1):
        i = starts[s]
        while i < starts[s + 1]:
            j = i + 1
            while j < starts[s + 1] and keys[j] == keys[i]:
                j += 1
            out_segments[written] = s
            out_keys[written] = keys[i]
            out_counts[written] = j - i
            written += 1
            i = j
    return written


@kernel
def merge_runs(codes, keys, counts, more_codes, more_keys, more_counts, out_codes, out_keys, out_counts):
    """Both multisets as one. Returns the number of runs."""
    i, j, written = 0, 0, 0
    while i < len(codes) or j < len(more_codes):
        if j == len(more_codes) or (
            i < len(codes) and (codes[i] < more_codes[j] or (codes[i] == more_codes[j] and keys[i] < more_keys[j]))
        ):
            out_codes[written], out_keys[written], out_counts[written] = codes[i], keys[i], counts[i]
            i += 1
        elif i == len(codes) or codes[i] != more_codes[j] or keys[i] != more_keys[j]:
            out_codes[written], out_keys[written] = more_codes[j], more_keys[j]
            out_counts[written] = more_counts[j]
            j += 1
        else:
            out_codes[written], out_keys[written] = codes[i], keys[i]
            out_counts[written] = counts[i] + more_counts[j]
            i += 1
            j += 1
        written += 1
    return written


@inlined
def _seek(codes, keys, low, size, code, key):
    """The first run from `low` on that is not before (code, key), by steps that double: cheap when it is near."""
    step = 1
    high = low
    while high < size and (codes[high] < code or (codes[high] == code and keys[high] < key)):
        low = high + 1
        high += step
        step *= 2
    return first_not_before(codes, keys, low, min(high, size), code, key)


@inlined
def _copy(source, start, target, to, size):
    for i in range(size):
        target[to + i] = source[start + i]


@kernel
def apply_changes(codes, keys, counts, size, changed_codes, changed_keys, changes, out_codes, out_keys, out_counts):
    """Sorted runs with sorted changes (counts to add, or to take away) applied. Returns the number of runs.

    Runs between two changes are copied as a block; runs that come to nothing leave.
    """
    at, written = 0, 0
    for c in range(len(changed_codes)):
        place = _seek(codes, keys, at, size, changed_codes[c], changed_keys[c])
        _copy(codes, at, out_codes, written, place - at)
        _copy(keys, at, out_keys, written, place - at)
        _copy(counts, at, out_counts, written, place - at)
        written += place - at
        at = place
        count = changes[c]
        if at < size and codes[at] == changed_codes[c] and keys[at] == changed_keys[c]:
            count += counts[at]
            at += 1
        if count != 0:
            out_codes[written] = changed_codes[c]
            out_keys[written] = changed_keys[c]
            out_counts[written] = count
            written += 1
    _copy(codes, at, out_codes, written, size - at)
    _copy(keys, at, out_keys, written, size - at)
    _copy(counts, at, out_counts, written, size - at)
    return written + size - at


@kernel
def at_ranks(firsts, lasts, sizes, counts, ranks, out, after):
    """The run with the `ranks[s]`-th row of each segment, and that with the next one; any where there is none.

    A segment of as many runs as rows has each value once: its rank is the place of the run.
    """
    for s in range(len(firsts)):
        i, last, left = firsts[s], lasts[s] - 1, ranks[s]
        if lasts[s] - firsts[s] == sizes[s]:
            i += left
            left = 0
        while i < last and left >= counts[i]:
            left -= counts[i]
            i += 1
        out[s] = min(i, len(counts) - 1)
        after[s] = min(i + 1 if i < last and left + 1 >= counts[i] else i, len(counts) - 1)
