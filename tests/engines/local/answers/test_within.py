"""Aggregates within a bound: those of the rounded values, in every strategy, and never further from the exact ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

import windrow as wr
from tests import strategies as streams
from tests.contract.reference import kept
from tests.engines.local.answers.test_oracle import EMITS, SCHEMA, STREAM, Split, answer, approximately, strategies_for
from windrow.errors import SumOverflowError
from windrow.plan.checks.compression import answer_within
from windrow.plan.compression import Compression, CompressionMode
from windrow.plan.nodes import AggregateCall, Lateness, Strategy, WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.oracle.reference import REFERENCE
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.scalars.grid import rounded
from windrow.semantics.windows.kinds import Sliding

FUNCTIONS = (
    *("count", "sum", "avg", "min", "max", "first", "last", "median", "quantile"),
    *("collect", "variance", "var_pop", "stddev", "stddev_pop"),
)
BOUNDS = st.sampled_from((0.01, 0.3, 1.0, 2.0, 7.5, 1e6, 5e-324))


@settings(max_examples=80)
@given(data=st.data())
def test_every_strategy_gives_the_aggregates_of_rounded_values(data: st.DataObject) -> None:
    window = data.draw(streams.windows())
    elements = data.draw(streams.elements(late=True))
    asked = [one for one in data.draw(streams.aggregate_lists(FUNCTIONS)) if one[2] != "k"]
    calls = [AggregateCall(c.name, c.function, c.argument, c.parameters) for c in streams.calls(asked)]
    read = sorted({column for _, _, column, _ in asked if column is not None})
    assume(read)
    within = tuple((name, data.draw(BOUNDS)) for name in data.draw(st.lists(st.sampled_from(read), unique=True)))
    keys = tuple((name, Column(name)) for name in data.draw(st.sampled_from(((), ("k",), ("g",)))))
    held = Compression(data.draw(st.sampled_from(CompressionMode)), within)
    emit, lateness = data.draw(EMITS), data.draw(st.sampled_from(Lateness))
    node = WindowAggregate(STREAM, window, keys, tuple(calls), emit=emit, lateness=lateness, compression=held)
    settled: dict[str, Any] = {"keys": keys, "emit": emit, "lateness": lateness.value}
    try:
        expected = oracle.answer(elements, window, aggregates=kept(node), **settled)
    except SumOverflowError:
        with pytest.raises(SumOverflowError):
            answer(node, Split(elements, ()))
        return
    cuts = data.draw(st.sets(st.integers(0, 40)))
    for strategy in strategies_for(window):
        note(strategy.value)
        results, _, _ = answer(replace(node, strategy=strategy), Split(elements, cuts))
        assert streams.comparable(approximately(expected.results, calls)) == streams.comparable(
            approximately(results, calls)
        )


def _allowed(function: str, bound: float, count: int, near: Any) -> float:
    """The bound of an answer as the docs have it, from the number of values and the answer that was computed."""
    sample = math.sqrt(count / (count - 1)) if count > 1 else 0.0
    by_function: dict[str, Callable[[], float]] = {
        "count": lambda: 0.0,
        "sum": lambda: count * bound,
        "stddev": lambda: bound * sample,
        "var_pop": lambda: bound * (2 * math.sqrt(near) + bound),
        "variance": lambda: bound * sample * (2 * math.sqrt(near) + bound * sample),
    }
    return by_function.get(function, lambda: bound)()


HOSTILE = st.sampled_from((math.nan, math.inf, -math.inf, 1e300, -1e300, 1.7e308, 5e-324, -2.5e-310, -0.0))
DOUBLES = st.one_of(st.floats(-100, 100), st.integers(-300, 300).map(lambda n: n / 100), HOSTILE, st.floats())


@pytest.mark.parametrize("function", FUNCTIONS)
@settings(max_examples=60)
@given(
    values=st.lists(st.one_of(DOUBLES, st.none()), max_size=12),
    bound=st.one_of(BOUNDS, st.floats(5e-324, 1e6)),
    times=st.lists(st.integers(0, 3), min_size=12, max_size=12),
    q=st.floats(0, 1),
)
def test_no_answer_is_further_away_than_its_bound(
    function: str, values: list[float | None], bound: float, times: list[int], q: float
) -> None:
    parameters = (q,) if function == "quantile" else ()
    exact = REFERENCE[function](list(zip(times, values, strict=False)), parameters)
    moved = [None if value is None else rounded(value, bound) for value in values]
    near = REFERENCE[function](list(zip(times, moved, strict=False)), parameters)
    allowed = math.inf
    if near is not None and (not isinstance(near, float) or math.isfinite(near)):
        count = len([value for value in values if value is not None])
        allowed = _allowed(function, bound, count, near)
    pairs = zip(exact, near, strict=True) if function == "collect" else [(exact, near)]
    for one, other in pairs:
        if one is None or not math.isfinite(one):
            assert other == one or (math.isnan(one) and math.isnan(other))
        else:  # and one rounding of each of the two
            assert abs(other - one) <= allowed + 4e-16 * (abs(one) + abs(other) + allowed)


def test_every_function_that_is_allowed_is_tried() -> None:
    allowed = {name for name in REFERENCE if name == "count" or _is_bounded(name)}
    assert set(FUNCTIONS) == allowed


def _is_bounded(name: str) -> bool:
    return answer_within(name, "e") is not None


ROWS = pa.table({"t": list(range(40)), "k": ["a", "b"] * 20, "y": [i * 0.137 for i in range(40)], "x": list(range(40))})


def query(within: dict[str, float] | None = None, **calls: Any) -> wr.Query:
    named = calls or {"m": wr.median("y"), "s": wr.sum("y"), "v": wr.sum("x")}
    found = wr.stream(ROWS, time="t", name="s").group_by("k").window(range=10, slide=5).agg(**named)
    return found.compress(within=within) if within else found


def test_the_answer_says_how_near_it_is() -> None:
    schema = query({"y": 0.25, "x": 3}).collect().schema
    said = {field.name: field.metadata for field in schema if field.metadata}
    assert {
        name: {b"windrow.within": text} for name, text in (("m", b"0.25"), ("s", b"0.25 a row"), ("v", b"3 a row"))
    } == said
    assert all(field.metadata is None for field in query().collect().schema)
    assert query({"y": 0.25}).schema.field("m").metadata == {b"windrow.within": b"0.25"}


def test_files_of_an_answer_say_so_too(tmp_path: Path) -> None:
    query({"y": 0.25}).write(tmp_path / "answer.parquet")
    written = parquet.read_schema(tmp_path / "answer.parquet")
    assert {b"windrow.within": b"0.25 a row"}.items() <= (written.field("s").metadata or {}).items()


WINDOWS: list[dict[str, Any]] = [
    {"range": 10, "slide": 3},
    {"range": "unbounded", "slide": 10},
    {"gap": 3},
    {"rows": 7},
    {"rows": 7, "partition": "k"},
    {"range": "6 rows", "slide": "2 rows", "partition": "k", "order_by": "t"},
    {"range": 8, "slide": "1 row"},
    {"range": 8, "slide": "3 rows", "partition": "k", "by": "rank"},
]


CORRECTED = [window for window in WINDOWS if window in ({"range": 10, "slide": 3}, {"gap": 3})]


@pytest.mark.parametrize(
    ("window", "late"), [*((one, "drop") for one in WINDOWS), *((one, "revise") for one in CORRECTED)], ids=str
)
def test_every_kind_of_window_is_that_of_rounded_columns(window: dict[str, Any], late: str) -> None:
    calls = {"m": wr.median("y"), "s": wr.sum("y"), "v": wr.avg("x"), "f": wr.last("x")}
    rows = [{**row, "y": rounded(row["y"], 0.3), "x": rounded(row["x"], 2)} for row in ROWS.to_pylist()]
    exact = pa.Table.from_pylist(rows, ROWS.schema)
    order = [i ^ 5 for i in range(40)]

    def asked(table: pa.Table, progress: Any) -> wr.Query:
        stream = wr.stream(table.take(order), time="t", name="s", progress=progress)
        return stream.group_by("k").window(**window).agg(**calls).late(late)

    for progress in (wr.slack(2), wr.slack(9)):
        found = asked(ROWS, progress).compress("blocks", within={"y": 0.3, "x": 2}).collect(batch_rows=7)
        assert found.num_rows > 0
        assert asked(exact, progress).collect(batch_rows=7).equals(found)


def test_modes_change_no_answer() -> None:
    expected = query().collect()
    for mode in CompressionMode:
        assert expected.equals(query().compress(mode).collect())


def test_queries_that_run_together_keep_their_own_bounds() -> None:
    asked = [query(), query({"y": 0.25}), query({"y": 4.0, "x": 7.0}), query({"y": 0.25}, s=wr.sum("y"), n=wr.count())]
    alone = [one.collect() for one in asked]
    together = wr.run(asked)
    assert all(one.equals(other.table) for one, other in zip(alone, together, strict=True))
    assert not alone[0].equals(alone[1])
    assert alone[1]["s"] == alone[3]["s"]


def test_narrow_types_are_rounded_in_themselves() -> None:
    narrow = ROWS.set_column(2, "y", ROWS["y"].cast(pa.float32())).set_column(3, "x", ROWS["x"].cast(pa.int8()))
    asked = wr.stream(narrow, time="t", name="s").window(range=40).agg(y=wr.max("y"), x=wr.max("x"))
    found = asked.compress(within={"y": 0.05, "x": 5}).collect()
    assert (pa.float32(), pa.int8()) == (found.schema.field("y").type, found.schema.field("x").type)
    assert ([5.3], [44]) == ([round(found["y"][0].as_py(), 5)], found["x"].to_pylist())


def test_expected_answers() -> None:
    node = WindowAggregate(
        STREAM,
        Sliding("ts", 10, 10),
        (),
        (AggregateCall("s", "sum", Column("y")), AggregateCall("n", "sum", Column("x"))),
        strategy=Strategy.PANES,
        compression=Compression(within=(("y", 0.5), ("x", 1.0))),
    )
    rows = [{"ts": i, "k": None, "g": None, "x": i, "y": i + 0.4} for i in range(4)]
    assert SCHEMA.names == list(rows[0])
    results, _, _ = answer(node, Split(rows, ()))
    # y: 0.4, 1.4, 2.4, 3.4 go to 0, 1, 2, 3; x: 0, 1 to 0 and 2, 3 to 3
    assert [(6.0, 6)] == [(row["s"], row["n"]) for row in results]
