"""Which columns may be kept within a bound, and what that makes of the answers above."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.aggregates import UserAggregate
from windrow.errors import QueryError
from windrow.plan.checks.nodes import shape_of

SCHEMA: dict[str, pa.DataType] = {
    "k": pa.string(),
    "x": pa.int64(),
    "y": pa.float64(),
    "b": pa.bool_(),
    "d": pa.decimal128(9, 2),
    "u": pa.timestamp("us"),
    "t": pa.int64(),
}
DATA = pa.Table.from_pylist([{"t": 1}], pa.schema(SCHEMA))


class Widest(UserAggregate):
    """An aggregate of a user, of which nothing is known."""

    name = "widest_of_all"
    result = pa.float64()

    def lift(self, values: Any) -> Any:
        return (values,)

    def combine(self, left: Any, right: Any) -> Any:
        return (np.maximum(left[0], right[0]),)

    def finish(self, state: Any, parameters: Any) -> Any:
        return state[0]


wr.register(Widest())


def asked(within: Any = None, /, **calls: Any) -> wr.Query:
    """A window over the stream, with these bounds."""
    query = wr.stream(DATA, time="t", name="s").group_by("k").window(range=10, slide=5)
    return query.agg(**calls).compress(within={"y": 0.5} if within is None else within)


def lossy(query: wr.Query) -> dict[str, str]:
    return {name: loss.text for name, loss in shape_of(query.plan).lossy.items()}


REFUSED: list[tuple[str, Any]] = [
    (r"must be a positive number, got y within 0\. Hint: say how far", {"y": 0}),
    (r"must be a positive number, got y within -0\.5\.", {"y": -0.5}),
    (r"must be a positive number, got y within nan\.", {"y": float("nan")}),
    (r"must be a positive number, got y within inf\.", {"y": float("inf")}),
    (r"must be a positive number, got y within inf\.", {"y": 10**400}),
    (r"must be columns with a bound each, got 'y'\. Hint: as in within=\{'price': 0\.01\}", "y"),
    (r"must be columns with a bound each, got \[\('y', 0\.1\)\]", [("y", 0.1)]),
    (r"must name columns by text, got 1\.", {1: 0.5}),
    (r"must be a column of the input, got z\. Hint: the columns are k, x", {"z": 1.0}),
    (r"must be of a column of whole numbers or doubles, got b within 1\. Hint: b is boolean; CAST it", {"b": 1.0}),
    (r"must be of a column of whole numbers or doubles, got d within 1\. Hint: d is decimal; CAST it", {"d": 1.0}),
    (r"must be of a column of whole numbers or doubles, got u within 1\. Hint: u is timestamp; CAST it", {"u": 1.0}),
    (r"must not be of a time that windows or progress depend on, got t within 1\.", {"t": 1.0}),
    (r"must not be of a column that is grouped by, got k within 1\. Hint: which group", {"k": 1.0}),
    (r"must be of a column that an aggregate of the query reads, got x within 1\.", {"x": 1.0}),
    (r"must be a number in the unit of its column, got y: True\. Hint: as in", {"y": True}),
    (r"must be a number in the unit of its column, got y: '1 s'\.", {"y": "1 s"}),
]


@pytest.mark.parametrize(("message", "within"), REFUSED)
def test_columns_and_bounds_that_are_refused(message: str, within: Any) -> None:
    calls = {f"a{i}": wr.max(name) for i, name in enumerate("ybdut")}
    with pytest.raises(QueryError, match="^`within` " + message):
        asked(within, **calls)


@pytest.mark.parametrize(
    "call",
    [
        wr.count_distinct("y"),
        wr.approx_distinct("y"),
        wr.mode("y"),
        wr.top_k("y", 3),
        wr.aggregate("heavy_hitters", "y", 0.5),
        wr.aggregate("widest_of_all", "y"),
    ],
)
def test_what_compares_values_is_refused(call: Any) -> None:
    message = r"^`within` does not go with .*\(y.*\), which has no bound: .*, got y within 0\.5\. Hint: leave "
    with pytest.raises(QueryError, match=message):
        asked(a=call)


def test_an_expression_over_the_column_is_refused() -> None:
    message = (
        r"^`within` is for aggregates of the column itself, and sum\(\(y \* 2\)\) computes with it, got y within 0\.5"
    )
    with pytest.raises(QueryError, match=message + r"\. Hint: compute it in a subquery"):
        asked(a=wr.sum("y * 2"), b=wr.sum("y"))


def test_columns_of_the_window_are_refused() -> None:
    rows = wr.stream(DATA, time="t", name="s").window(rows=5, partition="x").agg(a=wr.max("y"))
    with pytest.raises(QueryError, match=r"^`within` must not be of a column that is grouped by, got x within 1\."):
        rows.compress(within={"x": 1.0})


def test_bounds_of_a_join_are_refused() -> None:
    left, right = (wr.stream(DATA, time="t", name=name) for name in "ab")
    joined = left.join(right, on=["k"], range=10)
    message = r"^`within` goes with the aggregates of a window: .*, got a_y within 1\. Hint: leave it out, or put"
    with pytest.raises(QueryError, match=message):
        joined.compress("blocks", within={"a_y": 1.0})


def test_how_near_each_answer_is() -> None:
    names = ("count", "sum", "avg", "min", "max", "first", "last", "median", "collect")
    found = asked(
        **{name: wr.aggregate(name, "y") for name in names}, n=wr.count(), q=wr.quantile("y", 0.9), x=wr.sum("x")
    )
    near = dict.fromkeys(("avg", "min", "max", "first", "last", "median", "q"), "0.5")
    assert {**near, "sum": "0.5 a row", "collect": "0.5 each"} == lossy(found)
    root = "sqrt(n / (n - 1))"
    expected = {
        "stddev": f"0.5 * {root}",
        "stddev_pop": "0.5",
        "variance": f"0.5 * {root} * (2 * stddev + 0.5 * {root})",
        "var_pop": "0.5 * (2 * stddev_pop + 0.5)",
    }
    assert expected == lossy(asked(**{name: wr.aggregate(name, "y") for name in expected}))


@pytest.mark.parametrize(("expected", "bound"), [({}, 0.9), ({"a": "5"}, 5.7)])
def test_whole_numbers_move_by_whole_numbers(expected: dict[str, str], bound: float) -> None:
    assert expected == lossy(asked({"x": bound}, a=wr.avg("x")))


def near() -> wr.Query:
    return asked(m=wr.avg("y"), s=wr.sum("y"), n=wr.count("y"))


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("m", lambda: near().having("n > 5 AND m > 3")),
        ("m", lambda: near().select("window_end", high="m > 3")),
        ("m", lambda: near().select("window_end", v="CASE WHEN n > 1 THEN nullif(m, 1) ELSE 0 END")),
        ("m", lambda: near().select("m", "window_end").distinct()),
        ("m", lambda: near().group_by("m").window(range=10).agg(n=wr.count())),
        ("m", lambda: near().window(range=10).agg(n=wr.count_distinct("m"))),
        ("a_m", lambda: near().join(asked(m=wr.avg("y")), on=["m"], range=5, aliases=("a", "b"))),
    ],
)
def test_comparing_such_answers_is_refused(name: str, step: Any) -> None:
    with pytest.raises(
        QueryError,
        match=rf"^`{name}` must not be .*: COMPRESS \.\.\. WITHIN gives (it|avg\(y\)) near .*, got within 0\.5",
    ):
        step()


def test_exact_answers_beside_them_may_be_compared() -> None:
    assert {"m": "0.5", "s": "0.5 a row"} == lossy(near().having("n > 5 AND k = 'a'"))


def test_steps_above_keep_what_is_known() -> None:
    chosen = near().select("window_end", "n", far="m", half="m / 2")
    assert {"far": "0.5", "half": "a bound that is not known"} == lossy(chosen)
    both = near().select("window_end", "m").union(asked({"y": 2.0}, m=wr.avg("y")).select("window_end", "m"))
    assert {"m": "2"} == lossy(both)
    outer = near().window(range=20).agg(a=wr.max("m"), b=wr.sum("m"), c=wr.max("s"), d=wr.count("m"), e=wr.max("n"))
    assert {"a": "0.5", "b": "0.5 a row", "c": "a bound that is not known"} == lossy(outer)
    assert {"a": "1.5"} == lossy(near().window(range=20).agg(a=wr.max("m")).compress(within={"m": 1.0}))
