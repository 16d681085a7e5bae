"""Multisets as sorted runs (group, key, count): made from rows, merged, subtracted."""

from __future__ import annotations

from windrow.operators.kernels.compiled import kernel


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
def merge_runs(codes, keys, counts, more_codes, more_keys, more_counts, sign, out_codes, out_keys, out_counts):
    """Add (sign 1) or take away (sign -1) sorted runs; runs that come to nothing leave. Returns their number."""
    i, j, written = 0, 0, 0
    while i < len(codes) or j < len(more_codes):
        if j == len(more_codes) or (
            i < len(codes)
            and (codes[i] < more_codes[j] or (codes[i] == more_codes[j] and keys[i] < more_keys[j]))
        ):
            out_codes[written], out_keys[written], out_counts[written] = codes[i], keys[i], counts[i]
            i += 1
        elif i == len(codes) or codes[i] != more_codes[j] or keys[i] != more_keys[j]:
            out_codes[written], out_keys[written] = more_codes[j], more_keys[j]
            out_counts[written] = sign * more_counts[j]
            j += 1
        else:
            out_codes[written], out_keys[written] = codes[i], keys[i]
            out_counts[written] = counts[i] + sign * more_counts[j]
            i += 1
            j += 1
        if out_counts[written] != 0:
            written += 1
    return written
