"""For each left row the right row nearest to it in time, among those with the same key. Pure array code."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.kinds.base import Array, Integers
from windrow.operators.expressions.values import decoded
from windrow.operators.state.keys import ordered_keys, validity
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


def without_ties(rows: RowBlock) -> RowBlock:
    """Of rows of equal key and time only the greatest, by its columns from left to right; NULL is the smallest."""
    order = np.lexsort((rows["place"], rows["code"]))
    codes, times = rows["code"][order], rows["place"][order]
    same = (codes[1:] == codes[:-1]) & (times[1:] == times[:-1])
    if not same.any():
        return rows
    numbers = np.concatenate([[0], np.cumsum(~same)])
    ranks = [rank for column in rows.rows.columns for rank in _ranks(column)]
    best = order[np.lexsort((*(rank[order] for rank in reversed(ranks)), numbers))]
    last = np.flatnonzero(np.append(~same, True))
    return rows.take(np.sort(best[last]))


def _ranks(column: Array) -> list[Integers]:
    """What orders the values of a column, first thing first: none for lists and the like."""
    column = decoded(column)
    if pa.types.is_nested(column.type):
        return []
    valid = validity(column)
    present = valid.astype(np.int64) if len(valid) else np.ones(len(column), np.int64)
    if pa.types.is_floating(column.type) and not pa.types.is_float16(column.type):
        keys = ordered_keys(column.fill_null(0.0))
    elif pa.types.is_null(column.type):
        keys = np.zeros(len(column), np.int64)
    else:
        ranked = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
        keys = ranked.to_numpy(zero_copy_only=False).astype(np.int64)
    return [present, np.where(present > 0, keys, 0)]


def superseded(rows: RowBlock, bound: int) -> npt.NDArray[np.bool_]:
    """Which rows have a later one of their key below a bound: no left row from the bound on looks as far back."""
    order = np.lexsort((rows["place"], rows["code"]))
    codes, times = rows["code"][order], rows["place"][order]
    gone = np.zeros(len(order), np.bool_)
    gone[order[:-1]] = (codes[1:] == codes[:-1]) & (times[1:] < bound)
    return gone
