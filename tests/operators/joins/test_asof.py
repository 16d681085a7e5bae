from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.streams import columns
from tests.saved import whole_tables
from windrow.operators.base import Batch, LateRows
from windrow.operators.joins.asof import AsOfJoinOperator
from windrow.plan.checks.joins import joined_names
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Join, Late, Stream
from windrow.semantics.joins import LEFT, AsOf, JoinKind, Row, join
from windrow.semantics.progress.policies import END, START, Punctuation
from windrow.semantics.scalars.expressions import Call, Column

LEFTS = columns(ts=pa.int64(), k=pa.int32(), x=pa.int64())
RIGHTS = columns(ts=pa.int64(), k=pa.int64(), y=pa.float64(), z=pa.string())
SAME = Call("=", (Column("a_k"), Column("b_k")))
Element = tuple[int, Row | Punctuation]


def _node(window: AsOf, kind: JoinKind = JoinKind.INNER, keyed: bool = True, late: Late = Late.DROP) -> Join:
    names = joined_names((LEFTS, RIGHTS), ("a", "b"))
    sides = Stream("a", LEFTS, "ts"), Stream("b", RIGHTS, "ts")
    return Join(*sides, kind, window, SAME if keyed else None, names, ("a", "b"), late=late)


def _operator(node: Join) -> AsOfJoinOperator:
    return AsOfJoinOperator(node, (shape_of(node.left), shape_of(node.right)), shape_of(node))


def _batch(rows: list[Row], side: int) -> Batch:
    data = pa.RecordBatch.from_pylist(rows, schema=(LEFTS, RIGHTS)[side])
    return Batch(data, np.array([row["ts"] for row in rows], np.int64), None, "ab"[side])


def _run(node: Join, elements: Iterable[Element], cuts: Iterable[bool], restarts: Iterable[bool]) -> tuple[Any, Any]:
    """Results and late rows; rows of one side are pushed together until something cuts them."""
    operator = _operator(node)
    results: list[Row] = []
    late: list[Row] = []
    promised = START
    pending: tuple[int, list[Row]] = (LEFT, [])

    def take(given: Iterable[Any]) -> None:
        nonlocal promised
        for element in given:
            if isinstance(element, Batch):
                assert (element.times >= promised).all()
                results.extend(element.data.to_pylist())
            elif isinstance(element, LateRows):
                late.extend(element.data.to_pylist())
            else:
                promised = element.value

    for (side, element), cut, restart in zip(elements, cuts, restarts, strict=False):
        if pending[1] and (cut or side != pending[0] or isinstance(element, Punctuation)):
            take(operator.process(_batch(pending[1], pending[0]), pending[0]))
            pending = side, []
        if restart and not pending[1]:
            tables, operator = whole_tables(operator.state()), _operator(node)
            operator.restore(tables)
        if isinstance(element, Punctuation):
            take(operator.punctuate(element, side))
        else:
            pending = side, [*pending[1], element]
    assert promised == END
    return results, late


def _expected(node: Join, elements: Iterable[Element]) -> tuple[list[Row], list[int]]:
    bounds = [START, START]
    sides: tuple[list[tuple[int, Row]], list[tuple[int, Row]]] = ([], [])
    late = []
    for side, element in elements:
        if isinstance(element, Punctuation):
            bounds[side] = element.value
        elif element["ts"] < bounds[side]:
            late.append(element["ts"])
        else:
            sides[side].append((element["ts"], {name: element[name] for name in (LEFTS, RIGHTS)[side].names}))
    assert isinstance(node.window, AsOf)

    def same(left: Row, right: Row) -> bool | None:
        if node.on is None:
            return True
        return None if left["k"] is None or right["k"] is None else bool(left["k"] == right["k"])

    pairs = join(*sides, node.window, node.kind, same)
    rows = [
        {c.name: None if pair[c.side] is None else (pair[c.side] or {})[c.source] for c in node.columns}
        for pair in pairs
    ]
    return rows, late


def _bag(rows: Iterable[Row]) -> Counter[str]:
    return Counter(repr(row) for row in rows)


_KEYS = st.sampled_from((0, 1, None))
_ROWS = (
    st.fixed_dictionaries({"ts": st.integers(-9, 30), "k": _KEYS, "x": st.integers(0, 3)}),
    st.fixed_dictionaries(
        {
            "ts": st.integers(-9, 30),
            "k": _KEYS,
            "y": st.sampled_from((None, 0.5, float("inf"), -1.0)),
            "z": st.sampled_from((None, "", "a", "b")),
        }
    ),
)


@st.composite
def _elements(draw: st.DrawFn) -> list[Element]:
    bounds = [-10, -10]
    found: list[Element] = []
    for _ in range(draw(st.integers(0, 25))):
        side = draw(st.integers(0, 1))
        if draw(st.integers(0, 3)) == 0:
            bounds[side] += draw(st.integers(0, 9))
            found.append((side, Punctuation(bounds[side])))
        else:
            row: Row = draw(_ROWS[side])
            found.append((side, row))
    ends = draw(st.permutations((0, 1)))
    return [*found, *((side, Punctuation(END)) for side in ends)]


_WINDOWS = st.builds(
    lambda forward, strict, within: AsOf(forward, strict, 7 if forward and within is None else within),
    st.booleans(),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 12)),
)
_COINS = st.lists(st.booleans(), min_size=30, max_size=30)


@given(_elements(), _WINDOWS, st.sampled_from((JoinKind.INNER, JoinKind.LEFT)), st.booleans(), _COINS, _COINS)
def test_each_left_row_meets_the_nearest_right_one(
    elements: list[Element], window: AsOf, kind: JoinKind, keyed: bool, cuts: list[bool], restarts: list[bool]
) -> None:
    node = _node(window, kind, keyed, Late.SIDE)
    results, late = _run(node, elements, cuts, restarts)
    expected, missed = _expected(node, elements)
    assert _bag(expected) == _bag(results)
    assert sorted(missed) == sorted(row["b_ts"] if row["a_ts"] is None else row["a_ts"] for row in late)


def test_looking_back_without_a_limit_keeps_one_row_a_key() -> None:
    operator = _operator(_node(AsOf()))
    for step in range(100):
        rows = [{"ts": 10 * step + i, "k": i % 3, "y": 1.0, "z": ""} for i in range(10)]
        list(operator.process(_batch(rows, 1), 1))
        for side in (0, 1):
            list(operator.punctuate(Punctuation(10 * step + 10), side))
        assert operator.stored_rows == 3


def test_promises_follow_the_slower_side() -> None:
    operator = _operator(_node(AsOf()))
    list(operator.process(_batch([{"ts": 5, "k": 0, "x": 1}], 0), 0))
    assert [Punctuation(5)] == list(operator.punctuate(Punctuation(9), 0))
    assert [] == list(operator.punctuate(Punctuation(5), 1))
    assert [Punctuation(9)] == list(operator.punctuate(Punctuation(6), 1))


@pytest.mark.parametrize("many", [5_000])
def test_keys_that_no_row_has_are_forgotten(many: int) -> None:
    operator = _operator(_node(AsOf(within=1)))
    for step in range(4):
        rows = [{"ts": 10 * step, "k": many * step + i, "y": 1.0, "z": ""} for i in range(many)]
        list(operator.process(_batch(rows, 1), 1))
        for side in (0, 1):
            list(operator.punctuate(Punctuation(10 * step + 9), side))
    assert operator.keys.groups.count <= 2 * many


def test_keys_of_left_rows_are_forgotten_where_the_right_side_stands_still() -> None:
    operator = _operator(_node(AsOf(), JoinKind.LEFT))
    list(operator.process(_batch([{"ts": 0, "k": 1, "y": 1.0, "z": ""}], 1), 1))
    for step in range(6):
        rows = [{"ts": 10 * step, "k": 5_000 * step + i, "x": 1} for i in range(5_000)]
        list(operator.process(_batch(rows, 0), 0))
        for side in (0, 1):
            list(operator.punctuate(Punctuation(10 * step + 9), side))
    assert operator.keys.groups.count <= 10_001


def test_a_column_may_be_called_place() -> None:
    one, other = (Stream(name, columns(ts=pa.int64(), place=pa.string()), "ts") for name in "ab")
    names = joined_names([one.schema, other.schema], ("a", "b"))
    node = Join(one, other, JoinKind.INNER, AsOf(), None, names, ("a", "b"))
    operator = AsOfJoinOperator(node, (shape_of(node.left), shape_of(node.right)), shape_of(node))
    data = pa.record_batch([pa.array([1]), pa.array(["here"])], names=["ts", "place"])
    list(operator.process(Batch(data, np.array([1]), None, "b"), 1))
    tables = whole_tables(operator.state())
    operator.restore(tables)
    assert whole_tables(operator.state()) == tables
