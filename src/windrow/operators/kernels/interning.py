"""Values to dense codes: one hash table for 64-bit words, one for byte strings. Codes never change."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel


@inlined
def _word_place(word, size):
    """Where a word is first looked for in a table of `size` places (a power of two): the top bits of a product."""
    return np.int64((np.uint64(word) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & (size - 1)


@kernel
def direct_codes(words, base, table, out):
    """Codes of words within a small range by a table; returns the first word not in it, or -1."""
    unknown = -1
    for i in range(len(words)):
        code = table[words[i] - base]
        out[i] = code
        if code < 0 and unknown < 0:
            unknown = i
    return unknown


@kernel
def intern_words(words, valid, null_code, start, index, stored, count, out):
    """Code of each word from `start` on; stops early when the table is full. Returns (row reached, count)."""
    mask = len(index) - 1
    limit = min(len(stored), len(index) // 2)
    for i in range(start, len(words)):
        if len(valid) and not valid[i]:
            out[i] = null_code
            continue
        word = words[i]
        at = _word_place(word, len(index))
        while index[at] >= 0 and stored[index[at]] != word:
            at = (at + 1) & mask
        if index[at] < 0:
            if count == limit:
                return i, count
            index[at] = count
            stored[count] = word
            count += 1
        out[i] = index[at]
    return len(words), count


@kernel
def index_words(index, stored, count, skip):
    """Put words 0..count into the index, leaving out the code `skip` (the null)."""
    mask = len(index) - 1
    for code in range(count):
        if code != skip:
            at = _word_place(stored[code], len(index))
            while index[at] >= 0:
                at = (at + 1) & mask
            index[at] = code


@inlined
def _eight(data, at):
    """Eight bytes as one word; the compiler makes one load of it."""
    word = np.uint64(0)
    for k in range(8):
        word |= np.uint64(data[at + k]) << np.uint64(8 * k)
    return word


@inlined
def hash_bytes(data, start, end):
    word = np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(end - start)
    at = start
    while at + 8 <= end:
        word = (word ^ _eight(data, at)) * np.uint64(0xBF58476D1CE4E5B9)
        word ^= word >> np.uint64(29)
        at += 8
    rest = np.uint64(0)
    while at < end:
        rest = rest << np.uint64(8) | np.uint64(data[at])
        at += 1
    word = (word ^ rest) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(32))


@inlined
def _same(data, start, end, pool, first):
    at = 0
    while start + at + 8 <= end:
        if _eight(data, start + at) != _eight(pool, first + at):
            return False
        at += 8
    while start + at < end:
        if data[start + at] != pool[first + at]:
            return False
        at += 1
    return True


@kernel
def intern_bytes(offsets, data, valid, null_code, start, index, hashes, ends, pool, count, used, out):
    """Code of each string from `start` on; `ends[c]` is where string c ends in `pool`.

    Stops early when the table or the pool is full. Returns (row reached, count, bytes used).
    """
    mask = len(index) - 1
    limit = min(len(ends), len(index) // 2)
    for i in range(start, len(offsets) - 1):
        if len(valid) and not valid[i]:
            out[i] = null_code
            continue
        begin, end = offsets[i], offsets[i + 1]
        word = hash_bytes(data, begin, end)
        at = np.int64(word & np.uint64(mask))
        while index[at] >= 0:
            code = index[at]
            first = ends[code - 1] if code else 0
            if hashes[code] == word and ends[code] - first == end - begin and _same(data, begin, end, pool, first):
                break
            at = (at + 1) & mask
        if index[at] < 0:
            if count == limit or used + end - begin > len(pool):
                return i, count, used
            for j in range(begin, end):
                pool[used + j - begin] = data[j]
            used += end - begin
            hashes[count] = word
            ends[count] = used
            index[at] = count
            count += 1
        out[i] = index[at]
    return len(offsets) - 1, count, used


@kernel
def index_bytes(index, hashes, count, skip):
    mask = len(index) - 1
    for code in range(count):
        if code != skip:
            at = np.int64(hashes[code] & np.uint64(mask))
            while index[at] >= 0:
                at = (at + 1) & mask
            index[at] = code
