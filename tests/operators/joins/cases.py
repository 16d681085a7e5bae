"""Joins of two small streams, driven element by element, beside what they mean by definition.

plans()                  joins of every kind, window and sort of predicate
arrivals()               rows and punctuations of both sides as they come
Driven(plan)             the operator of a plan, its results, late rows and promises
by_definition(...)       the answer, from the rows in time
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tests.saved import whole_tables
from tests.semantics.join_definitions import three_step
from tests.strategies import BASES
from windrow.operators.base import Batch, Element, GroupPunctuations, LateRows
from windrow.operators.joins.operator import JoinOperator
from windrow.physical.how import How
from windrow.pipeline.build import build
from windrow.plan.checks.joins import joined_names, usual_time
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Join, JoinStrategy, JoinTime, Late, Stream
from windrow.semantics import joins
from windrow.semantics.joins import LEFT, RIGHT, Between, JoinKind, JoinWindow, LastRows, SameWindow
from windrow.semantics.progress.policies import END, START, Punctuation
from windrow.semantics.scalars.evaluate import evaluate
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal

Arrival: TypeAlias = tuple[int, "dict[str, Any] | Punctuation"]
_LEFT: dict[str, pa.DataType] = {
    "ts": pa.int64(),
    "k": pa.string(),
    "g": pa.int64(),
    "x": pa.int32(),
    "y": pa.float64(),
}
_RIGHT: dict[str, pa.DataType] = {
    "ts": pa.int64(),
    "k": pa.dictionary(pa.int32(), pa.string()),
    "g": pa.float64(),
    "x": pa.int64(),
    "y": pa.float32(),
}
SCHEMAS = (
    pa.schema(_LEFT),
    pa.schema(_RIGHT),
)
STREAMS = Stream("one", SCHEMAS[LEFT], "ts"), Stream("two", SCHEMAS[RIGHT], "ts")
NAMES = joined_names(SCHEMAS, ("l", "r"))


def column(side: int, name: str) -> Column:
    return Column(f"{'lr'[side]}_{name}")


def equal(name: str) -> Expression:
    return Call("=", (column(LEFT, name), column(RIGHT, name)))


def band(name: str, low: float, high: float, around: int = RIGHT, *, strict: bool = False) -> Expression:
    """`center + low <= value <= center + high`; with `strict`, neither end is meant."""
    value, center = column(1 - around, name), column(around, name)
    above = Call(">" if strict else ">=", (value, Call("+", (center, Literal(low)))))
    return Call("and", (above, Call("<" if strict else "<=", (value, Call("+", (center, Literal(high)))))))


def both(*parts: Expression) -> Expression:
    first, *others = parts
    for other in others:
        first = Call("and", (first, other))
    return first


SUM = Call(">", (Call("+", (column(LEFT, "x"), column(RIGHT, "x"))), Literal(1)))
PREDICATES: dict[str, Expression | None] = {
    "none": None,
    "text": equal("k"),
    "numbers of two types": equal("g"),
    "two keys": both(equal("k"), equal("g")),
    "floats of two widths": equal("y"),
    "band of whole numbers": band("x", -2, 3),
    "band around the other side": band("x", -1, 1, LEFT, strict=True),
    "band of floats": band("y", -0.5, 1, strict=True),
    "band of whole numbers and floats": band("g", -1, 0.5, LEFT),
    "two bands": both(band("x", -2, 2), band("y", -1.0, 1.0, LEFT)),
    "three bands": both(band("x", -3, 3), band("g", -1, 1), band("y", -2.0, 2.0)),
    "key and band": both(equal("k"), band("x", -1, 2)),
    "key and two bands": both(equal("g"), band("x", -2, 2), band("y", -1, 1)),
    "rest": SUM,
    "key and rest": both(equal("k"), SUM),
    "band and rest": both(band("y", -1, 1), SUM),
    "one side alone": Call(">", (column(LEFT, "x"), Literal(0))),
    "times": Call("<=", (column(LEFT, "ts"), column(RIGHT, "ts"))),
}


def time_windows() -> st.SearchStrategy[JoinWindow]:
    lengths = st.integers(-15, 15)
    between = st.tuples(lengths, lengths).map(lambda ends: Between(min(ends), max(ends)))
    return st.one_of(between, between, st.builds(SameWindow, st.integers(1, 20), st.integers(-5, 5)))


def row_windows() -> st.SearchStrategy[JoinWindow]:
    return st.builds(LastRows, st.integers(1, 6), st.integers(1, 6))


@st.composite
def plans(draw: st.DrawFn, windows: st.SearchStrategy[JoinWindow] | None = None) -> Join:
    kind = draw(st.sampled_from(JoinKind))
    window = draw(time_windows() if windows is None else windows)
    on = PREDICATES[draw(st.sampled_from(sorted(PREDICATES)))]
    late = draw(st.sampled_from((Late.DROP, Late.SIDE)))
    times = {
        JoinKind.INNER: tuple(JoinTime),
        JoinKind.LEFT: (JoinTime.LEFT, JoinTime.EARLIER, JoinTime.LATER),
        JoinKind.RIGHT: (JoinTime.RIGHT, JoinTime.EARLIER, JoinTime.LATER),
        JoinKind.FULL: (JoinTime.EARLIER, JoinTime.LATER),
    }.get(kind, (usual_time(kind),))
    time, strategy = draw(st.sampled_from(times)), draw(st.sampled_from((JoinStrategy.AUTO, JoinStrategy.SCAN)))
    return Join(*STREAMS, kind, window, on, NAMES, ("l", "r"), time, late=late, strategy=strategy)


def rows() -> st.SearchStrategy[dict[str, Any]]:
    numbers = st.sampled_from((-2, -1, 0, 1, 2, 3, None))
    floats = st.sampled_from((-1.5, -0.0, 0.0, 0.5, 1.0, 2.0, math.nan, math.inf, None))
    texts, times = st.sampled_from(("a", "b", "", None)), st.one_of(st.integers(0, 9), st.integers(0, 60))
    return st.fixed_dictionaries({"ts": times, "k": texts, "g": numbers, "x": numbers, "y": floats})


@st.composite
def arrivals(draw: st.DrawFn, max_size: int = 40) -> list[Arrival]:
    """Rows in any order and punctuations of both sides, also long after the other side's."""
    base = draw(st.sampled_from(BASES))
    advance = st.one_of(st.just(0), st.integers(0, 9), st.integers(0, 60))
    size = draw(st.sampled_from((0, max_size // 2, max_size)))
    row = rows()
    part = st.tuples(st.sampled_from((LEFT, RIGHT)), st.one_of(row, row, row, row, advance))
    bounds, found = [base, base], list[Arrival]()
    for side, element in draw(st.lists(part, min_size=size // 2, max_size=size)):
        if isinstance(element, int):
            bounds[side] += element
            found.append((side, Punctuation(bounds[side])))
        else:
            found.append((side, {**element, "ts": base + element["ts"]}))
    return _ended(found, draw(st.sampled_from((LEFT, RIGHT))), draw(st.sampled_from((0.3, 0.6, 1.0, 1.0))))


def _ended(arrived: list[Arrival], side: int, share: float) -> list[Arrival]:
    """One side ends after a share of all elements; the other goes on."""
    cut = int(share * len(arrived))
    return [*arrived[:cut], (side, Punctuation(END)), *(other for other in arrived[cut:] if other[0] != side)]


def in_time(arrived: Iterable[Arrival]) -> tuple[list[Arrival], list[Arrival]]:
    """The rows that join, and those below what their own side promised."""
    bounds, good, late = [START, START], list[Arrival](), list[Arrival]()
    for side, element in arrived:
        if isinstance(element, Punctuation):
            bounds[side] = element.value
        else:
            (late if element["ts"] < bounds[side] else good).append((side, element))
    return good, late


def by_definition(plan: Join, arrived: Sequence[Arrival]) -> list[tuple[Any, ...]]:
    """The answer of a join as rows of its output, in any order."""

    def holds(one: dict[str, Any], other: dict[str, Any]) -> Any:
        return True if plan.on is None else evaluate(plan.on, named(one, other))

    if isinstance(plan.window, LastRows):
        kept = [(side, row) for side, row in arrived if isinstance(row, dict)]
        return [output(plan, *pair) for pair in three_step(kept, plan.window, plan.kind, holds)]
    good, _ = in_time(arrived)
    left, right = ([(row["ts"], row) for s, row in good if s == side and isinstance(row, dict)] for side in (0, 1))
    return [output(plan, *pair) for pair in joins.join(left, right, plan.window, plan.kind, holds)]


def named(left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
    sides = (left, right)
    return {c.name: None if (row := sides[c.side]) is None else row[c.source] for c in NAMES}


def output(plan: Join, left: dict[str, Any] | None, right: dict[str, Any] | None) -> tuple[Any, ...]:
    values = [named(left, right)[c.name] for c in plan.columns]
    times = [row["ts"] for row in (left, right) if row is not None]
    if plan.time in (JoinTime.EARLIER, JoinTime.LATER):
        values.append((min if plan.time is JoinTime.EARLIER else max)(times))
    return tuple(map(plain, values))


def plain(value: Any) -> Any:
    """A value that equals itself, whatever its type."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def batch_of(found: Sequence[dict[str, Any]], side: int, masked: Sequence[dict[str, Any]] = ()) -> Batch:
    """Rows as a batch; `masked` are rows among them that a filter took out."""
    data = pa.Table.from_pylist([*masked, *found], schema=SCHEMAS[side]).combine_chunks().to_batches()[0]
    selected = np.array([0] * len(masked) + [1] * len(found), np.uint8) if masked else None
    times = np.array([row["ts"] for row in (*masked, *found)], np.int64)
    return Batch(data, times, selected, ("one", "two")[side])


def operator_of(plan: Join, *, threads: int = 1, keys: frozenset[str] = frozenset()) -> JoinOperator:
    found = build(plan, how=How(threads=threads)).stages[0].operator
    assert isinstance(found, JoinOperator)
    return found


@dataclass
class Driven:
    """An operator and what it gave."""

    plan: Join
    make: Callable[[], Any]
    results: list[tuple[Any, ...]] = field(default_factory=list)
    late: list[dict[str, Any]] = field(default_factory=list)
    promises: list[int] = field(default_factory=list)
    groups: list[GroupPunctuations] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.operator = self.make()

    def take(self, elements: Iterable[Element]) -> None:
        for element in elements:
            if isinstance(element, Batch):
                self._results(element)
            elif isinstance(element, LateRows):
                self.late += element.data.to_pylist()
            elif isinstance(element, Punctuation):
                assert element.value > (self.promises[-1] if self.promises else START)
                self.promises.append(element.value)
            else:
                assert isinstance(element, GroupPunctuations)
                self.groups.append(element)

    def _results(self, batch: Batch) -> None:
        assert batch.data.schema == shape_of(self.plan).schema
        assert len(batch)
        if not isinstance(self.plan.window, LastRows):
            assert batch.times.min() >= (self.promises[-1] if self.promises else START)
        time = shape_of(self.plan).time
        assert time is None or batch.data.column(time).cast(pa.int64()).to_pylist() == batch.times.tolist()
        self.results += [tuple(map(plain, row.values())) for row in batch.data.to_pylist()]

    def again(self) -> None:
        """Save, and go on with another operator that was restored."""
        tables = whole_tables(self.operator.state())
        counters, self.operator = self.operator.counters, self.make()
        self.operator.restore(tables)
        self.operator.counters = counters


def answered(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(found, key=repr)
