"""How kept rows are held changes no answer: any join, any mode, blocks of any size, restarts, and rows on the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.handshake.test_operator import handshake
from tests.operators.joins import test_asof
from tests.operators.joins.cases import (
    NAMES,
    PREDICATES,
    STREAMS,
    Arrival,
    Driven,
    answered,
    arrivals,
    batch_of,
    by_definition,
    operator_of,
    plans,
    row_windows,
    time_windows,
)
from tests.operators.joins.test_operator import FLAGS, driven_by
from tests.saved import whole_tables
from windrow.operators.base import Batch
from windrow.operators.joins import store as stores
from windrow.operators.joins.asof_rows import AsOfRows
from windrow.operators.joins.base import AnyJoin
from windrow.operators.joins.operator import JoinOperator
from windrow.operators.state.changes import Stamped
from windrow.operators.store import block_cache, sealed_array, sealing
from windrow.operators.store.budget import Budget
from windrow.operators.store.row_block import RowBlock
from windrow.plan.checks.joins import usual_time
from windrow.plan.compression import Compression, CompressionMode
from windrow.plan.nodes import Join, Late
from windrow.semantics.joins import LEFT, RIGHT, AsOf, Between, JoinKind
from windrow.semantics.progress.policies import END, Punctuation

SIZES = st.sampled_from((4, 64, 1024))
MODES = st.sampled_from((CompressionMode.AUTO, CompressionMode.BLOCKS))


@contextmanager
def blocks_of(rows: int) -> Iterator[None]:
    """Blocks of so many rows; few rows are enough for a segment and to be sealed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealing, "BLOCK_ROWS", rows)
        patch.setattr(sealing, "LEAST_ROWS", min(rows, 8))
        patch.setattr(sealing, "MOST_ROWS", 4 * rows)
        patch.setattr(sealing, "PAYS", 0)
        patch.setattr(sealed_array, "WORTH", 1000.0 if rows < 1024 else 1.0)
        patch.setattr(stores, "ROWS", 2)
        patch.setattr(sealing, "PACKED_PAYS", 0)
        yield


def held(plan: Join, mode: CompressionMode) -> Join:
    return replace(plan, compression=Compression(mode))


def limited(make: Callable[[], Any], limit: int | None) -> Callable[[], Any]:
    """Operators whose rows go to the disk beyond a limit."""

    def made() -> Any:
        operator = make()
        for budget in operator.budgets:
            if limit is not None:
                budget.share(Budget(limit))
        return operator

    return made


LIMITS = st.sampled_from((None, None, 0, 3000))


@given(
    plans(st.one_of(time_windows(), row_windows())), MODES, SIZES, LIMITS, arrivals(max_size=150), FLAGS, FLAGS, FLAGS
)
def test_joins_give_the_same(
    plan: Join,
    mode: CompressionMode,
    rows: int,
    limit: int | None,
    arrived: list[Arrival],
    cuts: list[bool],
    saves: list[bool],
    masks: list[bool],
) -> None:
    with blocks_of(rows):
        asked = held(plan, mode)
        run = driven_by(Driven(asked, limited(lambda: operator_of(asked), limit)), arrived, cuts, saves, masks)
    assert answered(run.results) == answered(by_definition(plan, arrived))
    assert run.operator.stored_rows == 0
    plain = held(plan, CompressionMode.OFF)
    other = driven_by(Driven(plain, lambda: operator_of(plain)), arrived, cuts, [False], masks)
    assert other.promises[-1] == run.promises[-1]
    assert other.operator.counters.late == run.operator.counters.late


@given(plans(), MODES, SIZES, LIMITS, arrivals(max_size=100), st.integers(1, 3), FLAGS, FLAGS)
def test_chains_give_the_same(
    plan: Join,
    mode: CompressionMode,
    rows: int,
    limit: int | None,
    arrived: list[Arrival],
    threads: int,
    cuts: list[bool],
    saves: list[bool],
) -> None:
    with blocks_of(rows):
        asked = held(plan, mode)
        made = limited(lambda: handshake(asked, threads, 3), limit)
        run = driven_by(Driven(asked, made), arrived, cuts, saves, [False])
    assert answered(run.results) == answered(by_definition(plan, arrived))
    assert run.operator.stored_rows == 0


@given(
    st.lists(test_asof._elements(), min_size=1, max_size=4),
    test_asof._WINDOWS,
    MODES,
    st.sampled_from((4, 64)),
    LIMITS,
    st.sampled_from((JoinKind.INNER, JoinKind.LEFT)),
    test_asof._COINS,
    test_asof._COINS,
)
def test_nearest_rows_are_the_same(
    parts: list[list[test_asof.Element]],
    window: AsOf,
    mode: CompressionMode,
    rows: int,
    limit: int | None,
    kind: JoinKind,
    cuts: list[bool],
    restarts: list[bool],
) -> None:
    elements = [e for part in parts for e in part if not (isinstance(e[1], Punctuation) and e[1].value == END)]
    elements = [*elements, (LEFT, Punctuation(END)), (RIGHT, Punctuation(END))]
    elements = [e for place, e in enumerate(elements) if not _goes_back(elements[:place], e)]
    node = held(test_asof._node(window, kind, late=Late.SIDE), mode)
    with blocks_of(rows), pytest.MonkeyPatch.context() as patch:
        plain = test_asof._operator
        patch.setattr(test_asof, "_operator", lambda node: limited(lambda: plain(node), limit)())
        results, late = test_asof._run(node, elements, cuts * 4, restarts * 4)
    expected, missed = test_asof._expected(node, elements)
    assert test_asof._bag(expected) == test_asof._bag(results)
    assert len(missed) == len(late)


def _goes_back(before: list[test_asof.Element], element: test_asof.Element) -> bool:
    """Whether a punctuation says less than one of its side before."""
    side, value = element
    bounds = [other.value for one, other in before if one == side and isinstance(other, Punctuation)]
    return isinstance(value, Punctuation) and any(value.value < bound for bound in bounds)


# What is sealed, and saved


def plan_of(mode: CompressionMode, kind: JoinKind = JoinKind.INNER, key: str = "text") -> Join:
    window, time = Between(-60, 60), usual_time(kind)
    return Join(*STREAMS, kind, window, PREDICATES[key], NAMES, ("l", "r"), time, compression=Compression(mode))


def filled(operator: AnyJoin, rows: int, *, start: int = 0) -> list[Any]:
    """Rows of both sides, a second each, with promises close behind."""
    found: list[Any] = []
    for first in range(start, start + rows, 20):
        for side in (LEFT, RIGHT):
            data = [{"ts": t, "k": "ab"[t % 2], "g": t % 5, "x": t % 3, "y": t / 4} for t in range(first, first + 20)]
            found += operator.process(batch_of(data, side), side)
            found += operator.punctuate(Punctuation(first + 15), side)
    return found


@pytest.mark.parametrize("mode", [CompressionMode.AUTO, CompressionMode.BLOCKS])
def test_segments_that_ended_are_sealed_and_saved_once(mode: CompressionMode) -> None:
    with blocks_of(4):
        operator = operator_of(plan_of(mode))
        filled(operator, 200)
        first = operator.state()
        filled(operator, 20, start=200)
        second = operator.state()
    runs = [run for store in operator.held for run in store._all()]
    assert sum(run.number >= 0 for run in runs) > 6
    stamps = [
        {n: t.stamp for n, t in state.items() if isinstance(t, Stamped) and "." in n} for state in (first, second)
    ]
    kept = stamps[0].keys() & stamps[1].keys()
    assert len(kept) > 50
    assert all(stamps[0][name] is stamps[1][name] for name in kept)
    assert operator.budgets[0].kept.rows == operator.stored_rows


def test_payload_goes_to_the_disk_and_is_looked_up_there() -> None:
    with blocks_of(4), pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_cache, "FEWEST", 1000)
        operator = limited(lambda: operator_of(plan_of(CompressionMode.AUTO)), 0)()
        found = filled(operator, 200)
    (budget,) = operator.budgets
    assert budget.kept.spilled_bytes > 0
    assert budget.cache.hits > 0
    assert budget.cache.misses > 0
    other = operator_of(plan_of(CompressionMode.OFF))
    assert other.budgets == ()
    assert _values(found) == _values(filled(other, 200))


def _values(elements: list[Any]) -> list[Any]:
    return sorted(repr(row) for e in elements if isinstance(e, Batch) for row in e.data.to_pylist())


def test_saved_runs_come_back_sealed() -> None:
    with blocks_of(4):
        operator = operator_of(plan_of(CompressionMode.BLOCKS, JoinKind.FULL, "key and two bands"))
        filled(operator, 200)
        tables = whole_tables(operator.state())
        again = operator_of(plan_of(CompressionMode.BLOCKS, JoinKind.FULL, "key and two bands"))
        again.restore(tables)
    assert isinstance(again, JoinOperator)
    for one, other in zip(operator.held, again.held, strict=True):
        assert (len(one), one.step) == (len(other), other.step)
        assert sorted(run.number for run in one._all()) == sorted(run.number for run in other._all())
        assert sum(np.count_nonzero(r.matched) for r in one._all() if r.matched is not None) == sum(
            np.count_nonzero(r.matched) for r in other._all() if r.matched is not None
        )


@pytest.mark.parametrize("mode", [CompressionMode.AUTO, CompressionMode.BLOCKS])
def test_rows_of_a_chain_are_saved_once_with_their_blocks(mode: CompressionMode) -> None:
    with blocks_of(4):
        operator = handshake(plan_of(mode), 2, 3)
        filled(operator, 100)
        first = operator.state()
        filled(operator, 20, start=100)
        second = operator.state()
        again = handshake(plan_of(mode), 2, 3)
        again.restore(whole_tables(second))
    kept = [name for name in first.keys() & second.keys() if ".row." in name]
    assert len(kept) > 9
    stamps = [[t.stamp for name in kept if isinstance(t := state[name], Stamped)] for state in (first, second)]
    assert all(one is other for one, other in zip(*stamps, strict=True))
    rest = [sum(map(len, one.held)) for one in (operator, again)]
    assert rest[0] >= rest[1] > 0
    assert _values(filled(operator, 40, start=120)) == _values(filled(again, 40, start=120))


def test_right_rows_leave_their_block_once_half_of_it_is_done_with() -> None:
    schema = pa.schema([("ts", pa.int64())])
    with blocks_of(4):
        asked = sealing.sealing_of(Compression(CompressionMode.BLOCKS))
        rows = AsOfRows(schema, asked)
        times = np.arange(12)
        rows.add(RowBlock({"place": times, "code": np.zeros(12, np.int32)}, pa.record_batch([pa.array(times)], ["ts"])))
        rows.seal()
        (block,) = rows.store.blocks
        assert block.is_sealed
        rows.drop(np.array([0, 3, 5]))
        assert rows.store.blocks == [block]
        assert (9, 1) == (len(rows), rows.least)
        rows.drop(np.array([1, 2, 4]))
    assert [6, 7, 8, 9, 10, 11] == rows.keys()["place"].tolist()
    assert len(rows.store) == len(rows)
    numbers = rows.keys()["number"]
    assert [11, 6] == rows.whole(numbers[[5, 0]])["ts"].to_pylist()
