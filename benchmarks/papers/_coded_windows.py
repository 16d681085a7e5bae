"""The windows of the paper over Windrow's own blocks: what `CodedColumn` holds, without its objects.

A key has a ring of coded blocks and the rows that are not yet a block. An answer decodes all of it, as the paper's
windows do, and what leaves is a number of rows skipped at the front, without decoding. `answer_of` is the one loop
that another layout of blocks would replace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from streamzip.aggregates import aggregate, least_alone
from streamzip.windows import VALUE_BYTES

from windrow.operators.kernels.compression.columns import new_rooms, read_rows, write_column
from windrow.operators.kernels.compression.decimals import flipped
from windrow.operators.kernels.compression.plans import PAD, new_plan

HEADER_BYTES = 35
"""What is kept of a block beside its bytes: offset, rows, kind, least, greatest."""
TAIL, HEAD, BLOCKS, SKIPPED = range(4)
"""Of a key: rows in no block, the oldest block, one behind the newest, rows of the oldest that have left."""
KIND, LEAST, BYTES = range(3)
WINDOWS, TAKEN = range(2)


def block_rows(size: int) -> int:
    """Rows of a block: a quarter of the window, but not too few and not more than usual."""
    return max(64, min(1024, size // 4))


@dataclass(frozen=True, eq=False)
class CodedWindows:
    """The windows of all keys over floats."""

    size: int
    advance: int
    rows: int
    tails: npt.NDArray[np.int64]
    states: npt.NDArray[np.int64]
    blocks: npt.NDArray[np.int64]
    data: npt.NDArray[np.uint8]
    plans: npt.NDArray[np.int64]
    seen: npt.NDArray[np.int64]

    @staticmethod
    def of(keys: int, size: int, advance: int) -> CodedWindows:
        rows = block_rows(size)
        slots = size // rows + 2
        return CodedWindows(
            size,
            advance,
            rows,
            np.empty((keys, rows), np.int64),
            np.zeros((keys, 4), np.int64),
            np.empty((keys, slots, 3), np.int64),
            np.empty((keys, slots, 8 * rows + PAD + 64), np.uint8),
            np.tile(new_plan(), (keys, 1)),
            np.zeros(2, np.int64),
        )

    def push(
        self, keys: npt.NDArray[np.int64], values: npt.NDArray[Any], *, whole: bool = True
    ) -> npt.NDArray[np.float64]:
        """Take rows in; the answers of the windows they fill."""
        answers = np.empty((len(values), 4))
        shape = (self.size, self.advance, whole)
        state = (self.tails, self.states, self.blocks, self.data, self.plans, self.seen)
        bits = np.ascontiguousarray(values).view(np.int64)
        return answers[: _push(keys, bits, shape, state, np.empty((3, self.size), np.int64), answers)]

    @property
    def ratio(self) -> float:
        """Bytes of the raw values of the windows answered so far over those kept, headers and raw tail included."""
        return float(self.seen[WINDOWS] * self.size * VALUE_BYTES / self.seen[TAKEN])


@njit(cache=True, nogil=True)
def _push(keys: Any, values: Any, shape: Any, state: Any, rooms: Any, answers: Any) -> int:
    size, advance, whole = shape
    tails, states, blocks, data, plans, seen = state
    rows, filled = tails.shape[1], 0
    spare, scratch = np.empty((2, rows), np.uint64), np.empty(32 * rows + 8192, np.uint8)
    own = new_rooms(rows)
    for i in range(len(values)):
        key, state_of = keys[i], states[keys[i]]
        tails[key, state_of[TAIL]] = flipped(values[i])
        state_of[TAIL] += 1
        if state_of[TAIL] == rows:
            seal(tails[key], state_of, blocks[key], data[key], plans[key], scratch)
        held = (state_of[BLOCKS] - state_of[HEAD]) * rows + state_of[TAIL] - state_of[SKIPPED]
        if held < size:
            continue
        seen[WINDOWS] += 1
        seen[TAKEN] += _bytes(state_of, blocks[key])
        answer_of(tails[key], state_of, blocks[key], data[key], rooms, own, spare, whole, answers[filled])
        filled += 1
        state_of[SKIPPED] += advance
        while state_of[SKIPPED] >= rows and state_of[HEAD] < state_of[BLOCKS]:
            state_of[SKIPPED] -= rows
            state_of[HEAD] += 1
    return filled


@njit(cache=True, nogil=True)
def seal(tail: Any, state: Any, blocks: Any, data: Any, plan: Any, scratch: Any) -> None:
    """Make a block of a full tail, as `CodedColumn.of` does."""
    bounds, extremes, kinds = np.empty((2, 2), np.int64), np.empty((2, 1), np.int64), np.empty(1, np.uint8)
    words = tail.view(np.uint64)
    headers = bounds[0], bounds[1], extremes[0], extremes[1], kinds
    write_column(words, len(tail), 8, True, 0, *headers, scratch, plan)
    slot, taken = state[BLOCKS] % len(blocks), bounds[1, 1]
    data[slot, :taken] = scratch[:taken]
    blocks[slot, KIND], blocks[slot, LEAST], blocks[slot, BYTES] = kinds[0], extremes[0, 0], taken
    state[BLOCKS] += 1
    state[TAIL] = 0


@njit(cache=True, nogil=True)
def answer_of(
    tail: Any, state: Any, blocks: Any, data: Any, rooms: Any, own: Any, spare: Any, whole: bool, answer: Any
) -> None:
    """Decode a window and aggregate it."""
    window, at, rows = rooms[0].view(np.uint64), 0, len(tail)
    skipped = state[SKIPPED]
    for block in range(state[HEAD], state[BLOCKS]):
        slot = block % len(blocks)
        kind, least, count = blocks[slot, KIND], blocks[slot, LEAST], rows - skipped
        read_rows(data[slot], 0, kind, least, skipped, count, True, window[at:], own, spare[0])
        at += count
        skipped = 0
    for place in range(skipped, state[TAIL]):
        rooms[0][at] = flipped(tail[place])
        at += 1
    if whole:
        aggregate(rooms[0], at, True, rooms[1], rooms[2], answer)
    else:
        least_alone(rooms[0], at, True, rooms[1], answer)


@njit(cache=True, nogil=True)
def _bytes(state: Any, blocks: Any) -> Any:
    taken = 8 * state[TAIL]
    for block in range(state[HEAD], state[BLOCKS]):
        taken += HEADER_BYTES + blocks[block % len(blocks), BYTES]
    return taken
