"""The paper's query over stretches of one long column of whole numbers, in three ways that give the same answers.

Nothing is appended and nothing leaves: this is the reading alone. `raw_scan` goes through numbers as they lie;
`decoded_scan` reads Windrow's blocks first; `planes_scan` computes on blocks in bit planes without reading them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _in_order import Floats, Ints
from numba import njit
from streamzip.aggregates import aggregate

from windrow.operators.compression.coded_column import CodedColumn
from windrow.operators.compression.folding import extremes, ranked, sums
from windrow.operators.kernels.compression.columns import new_rooms, read_rows


def raw_scan(values: Ints, lows: Ints, size: int) -> Floats:
    answers = np.empty((len(lows), 4))
    _raw_scan(values, lows, size, np.empty((2, size), np.int64), answers)
    return answers


@njit(cache=True, nogil=True)
def _raw_scan(values: Any, lows: Any, size: int, rooms: Any, answers: Any) -> None:
    for i in range(len(lows)):
        aggregate(values[lows[i] : lows[i] + size], size, False, rooms[0], rooms[1], answers[i])


def decoded_scan(column: CodedColumn, lows: Ints, size: int) -> Floats:
    answers = np.empty((len(lows), 4))
    headers = column.starts, column.offsets, column.leasts, column.block_kinds, column.skips
    _decoded_scan(column.data, headers, column.block_rows, lows, size, np.empty((3, size), np.int64), answers)
    return answers


@njit(cache=True, nogil=True)
def _decoded_scan(data: Any, headers: Any, rows: int, lows: Any, size: int, rooms: Any, answers: Any) -> None:
    starts, offsets, leasts, kinds, skips = headers
    own, spare, window = new_rooms(rows), np.empty(rows, np.uint64), rooms[2].view(np.uint64)
    for i in range(len(lows)):
        at, end = lows[i], lows[i] + size
        block = np.searchsorted(starts, at, side="right") - 1
        while at < end:
            stop = min(end, starts[block + 1])
            skipped, out = np.int64(skips[block]) + at - starts[block], window[at - lows[i] :]
            read_rows(data, offsets[block], kinds[block], leasts[block], skipped, stop - at, False, out, own, spare)
            at, block = stop, block + 1
        aggregate(rooms[2], size, False, rooms[0], rooms[1], answers[i])


def planes_scan(column: CodedColumn, lows: Ints, size: int) -> Floats:
    highs, ranks = lows + size, np.tile(np.array([(size - 1) // 2, size // 2]), (len(lows), 1))
    tops, bottoms = sums(column, lows, highs)
    least, greatest = extremes(column, lows, highs)
    middle, _ = ranked(column, lows, highs, ranks)
    return np.stack([(tops * 2.0**32 + bottoms) / size, least, greatest, middle.mean(axis=1)], axis=1)
