"""Which right row is nearest to each left one in time, and which right rows none will look at: pure array code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.kinds.base import Array, Integers
from windrow.operators.expressions.values import decoded
from windrow.operators.state.keys import ordered_keys, present
from windrow.operators.store.row_block import RowBlock
from windrow.semantics.joins import AsOf

NONE = -1


def nearest(left: RowBlock, right: RowBlock, window: AsOf) -> Integers:
    """The place of each left row's partner among the right rows, or NONE. A negative key meets nothing.

    Both sides are sorted together by key and time; a partner is the last right row before a left one, or, forward,
    the first after it. `right` must hold one row a key and time: see `without_ties`.
    """
    codes = np.concatenate([left["code"], right["code"]])
    times = np.concatenate([left["place"], right["place"]])
    is_right = np.arange(len(codes)) >= len(left)
    # Of equal times the right row comes first where it counts as seen, last where it does not.
    behind = is_right if window.strict != window.forward else ~is_right
    order = np.lexsort((behind, times, codes))
    if window.forward:
        order = order[::-1]
    placed = np.where(is_right[order], np.arange(len(order)), NONE)
    last = np.maximum.accumulate(placed) if len(placed) else placed
    partner = np.where(last >= 0, order[np.maximum(last, 0)], 0)
    fits = (last >= 0) & (codes[partner] == codes[order]) & (codes[order] >= 0)
    if window.within is not None:
        fits &= np.abs(times[partner] - times[order]) <= window.within
    found = np.full(len(order), NONE, np.int64)
    found[order] = np.where(fits, partner - len(left), NONE)
    return found[: len(left)]


def beaten(rows: RowBlock, whole: Callable[[Integers], pa.RecordBatch]) -> Integers:
    """Places of rows that are not the greatest of their key and time, by the columns that `whole` gives of some rows.

    Columns count from left to right; NULL is the smallest.
    """
    order = np.lexsort((rows["place"], rows["code"]))
    codes, times = rows["code"][order], rows["place"][order]
    same = (codes[1:] == codes[:-1]) & (times[1:] == times[:-1])
    if not same.any():
        return np.empty(0, np.int64)
    tied = np.append(same, False) | np.append(False, same)
    numbers = np.cumsum(np.append(True, ~same))[tied]
    order = order[tied]
    ranks = [rank for column in whole(order).columns for rank in _ranks(column)]
    best = np.lexsort((*reversed(ranks), numbers))
    is_last = np.append(np.diff(numbers[best]) > 0, True)
    places: Integers = order[best[~is_last]]
    return places


def _ranks(column: Array) -> list[Integers]:
    """What orders the values of a column, first thing first: none for lists and the like."""
    column = decoded(column)
    if pa.types.is_nested(column.type):
        return []
    known = present(column)
    if pa.types.is_floating(column.type) and not pa.types.is_float16(column.type):
        keys = ordered_keys(column.fill_null(0.0))
    elif pa.types.is_null(column.type):
        keys = np.zeros(len(column), np.int64)
    else:
        ranked = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
        keys = ranked.to_numpy(zero_copy_only=False).astype(np.int64)
    return [known.astype(np.int64), np.where(known, keys, 0)]


def superseded(rows: RowBlock, bound: int) -> npt.NDArray[np.bool_]:
    """Which rows have a later one of their key below a bound: no left row from the bound on looks as far back."""
    order = np.lexsort((rows["place"], rows["code"]))
    codes, times = rows["code"][order], rows["place"][order]
    gone = np.zeros(len(order), np.bool_)
    gone[order[:-1]] = (codes[1:] == codes[:-1]) & (times[1:] < bound)
    return gone
