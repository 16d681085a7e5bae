"""Up to where windows are closed: for all groups, for single ones, and for rows that met different bounds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.errors import DataError
from windrow.operators.base import Batch, GroupPunctuations
from windrow.operators.late.bounds import Bounds
from windrow.operators.state.groups import Groups
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.semantics.progress.policies import END, START
from windrow.semantics.windows.kinds import RowsWindow as LastRows
from windrow.semantics.windows.kinds import Session, Sliding, Window

KEYS = pa.schema([("k", pa.string())])


def bounds_of(window: Window, *keys: str) -> Bounds:
    groups = Groups(KEYS.types)
    groups.encode([pa.array(keys, pa.string())])
    return Bounds(window, KEYS.names, lambda: groups)


def promised(**values: int) -> GroupPunctuations:
    groups = pa.RecordBatch.from_arrays([pa.array(list(values))], schema=KEYS)
    return GroupPunctuations(groups, np.array(list(values.values())))


def batch_of(times: list[int], codes: list[int], bounds: list[int] | None = None) -> tuple[Batch, GroupedRows]:
    data = pa.RecordBatch.from_pydict({"t": times})
    met = None if bounds is None else np.array(bounds)
    return Batch(data, np.array(times), bounds=met), GroupedRows(np.array(times), np.array(codes, np.int32), {})


def test_promises_between_window_ends_close_nothing() -> None:
    bounds = bounds_of(Sliding("t", 10, 5, origin=2), "a")
    assert [True, False, False, True] == [bounds.advance(value) for value in (8, 11, 11, 12)]
    assert (12, 12) == (bounds.bound, bounds.closed)
    assert [False, True, True] == [bounds.closes(value) for value in (16, 17, END)]


def test_without_a_grid_every_promise_closes() -> None:
    bounds = bounds_of(Session("t", 3), "a")
    assert [True, True, False] == [bounds.advance(value) for value in (8, 9, 9)]


def test_a_promise_that_goes_back_is_refused() -> None:
    bounds = bounds_of(Session("t", 3), "a")
    bounds.advance(8)
    with pytest.raises(DataError, match=r"\A`punctuation` must never go back \(the last one was 8\)"):
        bounds.advance(7)


def test_single_groups_are_ahead_until_all_have_caught_up() -> None:
    bounds = bounds_of(Sliding("t", 10, 5), "a", "b")
    bounds.advance(10)
    news = bounds.news(promised(a=23, b=12))
    assert ["a"] == news.groups["k"].to_pylist()
    _, moved = bounds.advance_groups(news)
    assert ([0], [20, 10]) == (moved.tolist(), bounds.of_all().tolist())
    bounds.advance(21)
    bounds.forget()
    assert bounds.ahead is None
    assert [20, 20] == bounds.of_all().tolist()


def test_what_rows_met() -> None:
    bounds = bounds_of(Session("t", 3), "a", "b")
    bounds.advance(5)
    assert bounds.met(*batch_of([5, 9], [0, 1])) is None
    assert [5, 5] == np.asarray(bounds.met(*batch_of([9, 4], [0, 1]))).tolist()
    assert [5, 8] == np.asarray(bounds.met(*batch_of([9, 7], [0, 1], bounds=[5, 8]))).tolist()
    bounds.advance_groups(promised(b=7))
    assert [5, 7] == np.asarray(bounds.met(*batch_of([6, 6], [0, 1]))).tolist()


def test_rows_that_count_by_arrival_are_never_late() -> None:
    bounds = bounds_of(LastRows(3, 1), "a")
    bounds.advance(100)
    assert bounds.met(*batch_of([0, 1], [0, 0])) is None
    assert 0 == len(bounds.news(promised(a=200)))


def test_saved_and_restored() -> None:
    bounds = bounds_of(Sliding("t", 10, 5), "a", "b")
    bounds.advance(11)
    ahead, _ = bounds.advance_groups(bounds.news(promised(b=30)))
    again = bounds_of(Sliding("t", 10, 5), "a", "b")
    again.restore(bounds.to_json(), ahead.state())
    assert (11, 10, [10, 30]) == (again.bound, again.closed, again.of_all().tolist())
    fresh = bounds_of(Sliding("t", 10, 5))
    fresh.restore([START, START], {})
    assert fresh.ahead is None
