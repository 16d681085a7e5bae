"""Progress by partition: the input operator, batch by batch, against its slow namesake, element by element."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.operators.input.test_lead import told
from windrow.errors import DataError
from windrow.operators.base import Batch, EarlyRows
from windrow.operators.input.input import Input
from windrow.operators.input.partitions import PartitionProgress
from windrow.operators.input.policy import LeadLimit
from windrow.physical.nodes import Grid
from windrow.semantics.progress.lead import ahead
from windrow.semantics.progress.partitions import Partitions, partition_bounds
from windrow.semantics.progress.policies import END, LIMIT, START, Ordered, Punctuation, Slack
from windrow.semantics.scalars.amounts import Amount

SCHEMA = pa.schema({"ts": pa.int64(), "p": pa.int64()})
Told = tuple[int | None, int] | Punctuation
"""A row, as its partition and its time, or what is said of a partition."""


def stage(
    slack: int = 0, idle: int | None = None, lead: int | None = None, step: int = 1, kind: pa.DataType | None = None
) -> Input:
    policy = Slack(Amount.of(slack), per=("p",)) if slack else Ordered(per=("p",))
    schema = SCHEMA if kind is None else SCHEMA.set(1, pa.field("p", kind))
    partitions = PartitionProgress(policy.per, schema, slack=slack, idle=idle)
    limit = None if lead is None else LeadLimit(lead)
    grid = Grid(3, step)
    return Input("s", "ts", policy, slack=slack, lead=limit, grid=grid, schema=schema, partitions=partitions)


def batches(elements: Sequence[Told], cuts: set[int]) -> Iterator[pa.RecordBatch | Punctuation]:
    """Rows up to the next cut or punctuation together."""
    rows: list[dict[str, Any]] = []
    for i, element in enumerate(elements):
        if rows and (i in cuts or isinstance(element, Punctuation)):
            yield pa.RecordBatch.from_pylist(rows, SCHEMA)
            rows = []
        if isinstance(element, Punctuation):
            yield element
        else:
            rows.append({"p": element[0], "ts": element[1]})
    if rows:
        yield pa.RecordBatch.from_pylist(rows, SCHEMA)


def fed(operator: Input, element: pa.RecordBatch | Punctuation) -> list[Any]:
    if isinstance(element, Punctuation):
        return list(operator.punctuate(element))
    return list(operator.process(Batch.unread(element)))


PARTITIONS = st.sampled_from((1, 2, 3, 4, 5, None))
TIMES = st.one_of(st.integers(0, 30), st.integers(0, 90), st.integers(-300, 300))
PROMISES = st.one_of(st.sampled_from((START, END)), st.integers(0, 90))
ELEMENTS = st.lists(
    st.one_of(*[st.tuples(PARTITIONS, TIMES)] * 4, st.builds(lambda v, p: Punctuation(v, (p,)), PROMISES, PARTITIONS)),
    max_size=40,
)


def met(found: Sequence[Any]) -> tuple[list[tuple[int, int]], int]:
    """The time of each row with the bound that it meets; and the last bound."""
    bound, rows = START, []
    for element in found:
        if isinstance(element, Punctuation):
            assert element.value > bound
            bound = element.value
        elif isinstance(element, Batch):
            rows += [(t, bound) for t in element.times.tolist()]
    return rows, bound


def expected(elements: Sequence[Told], operator: Input) -> tuple[list[tuple[int, int]], int]:
    assert operator.partitions is not None
    *before, last = partition_bounds([*elements, Punctuation(START)], operator.slack, operator.partitions.idle)
    pairs = [(e[1], b) for e, b in zip(elements, before, strict=True) if not isinstance(e, Punctuation)]
    return pairs, last


@given(ELEMENTS, st.sets(st.integers(0, 40)), st.sampled_from((0, 3)), st.sampled_from((None, 0, 7, 40)),
       st.sampled_from((1, 8)), st.sets(st.integers(0, 12)))  # fmt: skip
@example([(1, 10), (2, 4), (1, 20), (2, 12), (1, 21), (3, 5)], set(), 0, None, 1, set())
def test_every_row_meets_the_bound_of_the_slowest_wherever_batches_are_cut(
    elements: list[Told], cuts: set[int], slack: int, idle: int | None, step: int, restarts: set[int]
) -> None:
    operator, found = stage(slack, idle, step=step), []
    for i, element in enumerate(batches(elements, cuts)):
        found += fed(operator, element)
        if i in restarts:
            again = stage(slack, idle, step=step)
            again.restore(operator.state())
            operator = again
    rows, last = expected(elements, operator)
    given, given_last = met(found)
    grid = Grid(3, step)
    assert grid.round_down(last) == given_last
    assert [t for t, _ in rows] == [t for t, _ in given]
    for (t, bound), (_, seen) in zip(rows, given, strict=True):
        rounded = grid.round_down(bound)
        assert seen <= rounded
        assert seen == rounded or t >= rounded


@given(st.lists(st.tuples(PARTITIONS, st.one_of(TIMES, st.just(LIMIT))), min_size=1, max_size=30), st.integers(1, 90),
       st.sets(st.integers(0, 30)))  # fmt: skip
def test_a_row_is_early_by_its_own_partition(elements: list[Any], lead: int, cuts: set[int]) -> None:
    operator = stage(3, lead=lead)
    found = [out for batch in batches(elements, cuts) for out in fed(operator, batch)]
    by = list(ahead([t for _, t in elements], lead, partitions=[p for p, _ in elements]))
    early = [pair for e in found if isinstance(e, EarlyRows) for pair in zip(*told(e.batch), strict=True)]
    assert [(t, t - far) for (_, t), far in zip(elements, by, strict=True) if far is not None] == early
    rest = [element for element, far in zip(elements, by, strict=True) if far is None]
    rows, last = expected(rest, operator)
    given, given_last = met(found)
    assert [t for t, _ in rows] == [t for t, _ in given]
    assert last == given_last
    assert operator.partitions is not None
    assert len({p for p, _ in rest}) == len(operator.partitions)


@pytest.mark.parametrize("many", [1, 2, 3, 63, 64, 65, 300])
def test_many_partitions(many: int) -> None:
    draw = random.Random(many)
    elements = [(draw.randrange(many), i // 3 - draw.randrange(40)) for i in range(1200)]
    operator = stage(5, step=4)
    found = [out for batch in batches(elements, set(range(0, 1200, 500))) for out in fed(operator, batch)]
    rows, last = expected(elements, operator)
    given, given_last = met(found)
    assert Grid(3, 4).round_down(last) == given_last
    late = [t for t, bound in rows if t < Grid(3, 4).round_down(bound)]
    assert late == [t for t, seen in given if t < seen]
    assert len({p for p, _ in elements}) == len(operator.partitions or ())


VALUES: dict[str, tuple[Any, list[Any]]] = {
    "text": (pa.string(), ["a", "", None, "ß"]),
    "text in a dictionary": (pa.dictionary(pa.int32(), pa.string()), ["a", None, "b", ""]),
    "boolean": (pa.bool_(), [True, None, False]),
    "date": (pa.date32(), [date(2024, 1, 1), None, date(1969, 1, 1)]),
    "small integer": (pa.int8(), [-128, 0, None, 127]),
    "decimal": (pa.decimal128(9, 2), [Decimal("1.50"), None, Decimal("-1.50")]),
    "bytes": (pa.binary(), [b"\x00", b"", None]),
    "float": (pa.float64(), [0.5, None, float("inf")]),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_names_a_partition_may_have_any_type_of_a_group_key(name: str) -> None:
    kind, values = VALUES[name]
    draw = random.Random(name)
    places = [(draw.randrange(len(values)), t - draw.randrange(9)) for t in range(60)]
    operator, found = stage(2, kind=kind), []
    for start, end in pairwise(range(0, 61, 12)):
        part = places[start:end]
        columns = {"ts": pa.array([t for _, t in part], pa.int64()), "p": pa.array([values[p] for p, _ in part], kind)}
        found += fed(operator, pa.record_batch(columns))
    assert expected(places, operator)[1] == met(found)[1]
    assert operator.partitions is not None
    again = stage(2, kind=kind)
    again.restore(operator.state())
    assert again.partitions is not None
    for one in values:
        announced = Punctuation(1 << 20, (one,))
        assert fed(operator, announced) == fed(again, announced)
    assert len(values) == len(again.partitions)
    assert (1 << 20) == again.bound


def test_silence_by_the_clock() -> None:
    now = [0.0]
    operator = stage()
    assert operator.partitions is not None
    operator.partitions.silence = 10.0
    operator.partitions.go_by(lambda: now[0])
    fed(operator, pa.RecordBatch.from_pylist([{"ts": 5, "p": 1}, {"ts": 5, "p": 2}, {"ts": 9, "p": 1}], SCHEMA))
    now[0] = 9.0
    assert [] == list(operator.pass_time())
    fed(operator, pa.RecordBatch.from_pylist([{"ts": 20, "p": 1}], SCHEMA))
    assert "partition 2" == operator.partitions.held_back_by
    now[0] = 10.0
    assert [Punctuation(20)] == list(operator.pass_time())
    again = stage()
    assert again.partitions is not None
    again.partitions.silence = 10.0
    again.partitions.go_by(lambda: now[0])
    again.restore(operator.state())
    for one in (operator, again):  # 2 is there again and holds back; 1 is silent from 19 on
        late = fed(one, pa.RecordBatch.from_pylist([{"ts": 7, "p": 2}, {"ts": 30, "p": 1}], SCHEMA))
        assert [([7, 30], 20)] == [(e.times.tolist(), one.bound) for e in late if isinstance(e, Batch)]
    now[0] = 21.0
    assert [Punctuation(30)] == list(operator.pass_time())
    assert [] == list(operator.pass_time())


def test_the_partition_that_holds_back() -> None:
    operator = stage()
    assert operator.partitions is not None
    assert operator.partitions.held_back_by is None
    for element, name in (
        ((1, 10), None),
        (Punctuation(START, (None,)), "partition NULL"),
        ((None, 10), None),
        ((2, 11), "partition 1"),
        (Punctuation(END, (1,)), "partition NULL"),
        (Punctuation(END, (None,)), "partition 2"),
        (Punctuation(END, (2,)), None),
    ):
        for one in batches([element], set()):
            fed(operator, one)
        assert name == operator.partitions.held_back_by
    slow = Partitions()
    assert slow.slowest(0) is None
    slow.see("a", 3)
    assert slow.slowest(0) is None
    slow.see("b", 4)
    assert "a" == slow.slowest(0)
    slow.announce("a", END)
    assert "b" == slow.slowest(0)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (
            (1, 2),
            r"\A`punctuation` must have a value for each of the columns that name a partition of s \(p\), "
            r"got \(1, 2\)\. Hint: write wr\.Punctuation\(value, \(p,\)\)\.\Z",
        ),
        (
            ("x",),
            r"\A`punctuation` must name a partition by values of its columns \(p int64\), got \('x',\)\. Hint: .+\Z",
        ),
    ],
)
def test_what_names_no_partition_is_refused(group: tuple[Any, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        fed(stage(), Punctuation(5, group))
