"""Joins in Python: the same plans as in SQL, bound to the data of both sides, and the answers of the definition."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from tests.strategies import comparable
from windrow.errors import QueryError, WindrowError
from windrow.plan.compression import Compression, CompressionMode
from windrow.plan.nodes import Join, JoinStrategy, JoinTime, Late, WindowAggregate
from windrow.semantics.joins import AsOf, Between, JoinKind, JoinWindow, SameWindow, join
from windrow.semantics.scalars.expressions import Call, Column
from windrow.semantics.windows.kinds import Sliding

FLOW = {"k": pa.int64(), "x": pa.int64(), "ts": pa.int64()}


def flow(rows: list[tuple[int | None, int, int]]) -> pa.Table:
    """A table of (k, x, ts)."""
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.table(dict(zip(FLOW, columns, strict=True)), pa.schema(list(FLOW.items())))


ROWS = flow([(1, 1, 1), (2, 2, 4), (1, 3, 6)])
OTHERS = flow([(1, 10, 2), (2, 20, 3), (2, 30, 8)])
L = wr.stream(ROWS, time="ts", name="l")
R = wr.stream(OTHERS, time="ts", name="r")
MOMENTS = wr.stream(pa.table({"k": [1], "ts": pa.array([1], pa.timestamp("us"))}), time="ts", name="m")
LATER = wr.stream(pa.table({"k": [1], "ts": pa.array([1], pa.timestamp("us"))}), time="ts", name="n")

PLANS = [
    (L.join(R, "l.k = r.k", range=(3, 2)), "SELECT * FROM l [RANGE 3] JOIN r [RANGE 2] ON l.k = r.k"),
    (L.join(R, ["k"], range=3), "SELECT * FROM l [RANGE 3] JOIN r [RANGE 3] USING (k)"),
    (L.join(R, "k", tumbling=5, origin=2), "SELECT * FROM l JOIN r [RANGE TUMBLING 5 ORIGIN 2] USING (k)"),
    (L.join(R, ("k", "x"), rows=9), "SELECT * FROM l [ROWS 9] JOIN r [ROWS 9] USING (k, x)"),
    (L.join(R, rows=(9, 8)), "SELECT * FROM l [ROWS 9] JOIN r [ROWS 8]"),
    (
        L.join(R, "l.x < r.x", how="left", between=(-5, 3)),
        "SELECT * FROM l LEFT JOIN r ON l.x < r.x AND r.ts BETWEEN l.ts - 5 AND l.ts + 3",
    ),
    (
        L.join(R, "l.k = r.k AND r.ts BETWEEN l.ts - 5 AND l.ts + 3"),
        "SELECT * FROM l JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - 5 AND l.ts + 3",
    ),
    (
        L.join(R, "a.k = b.k", tumbling=5, aliases=("a", "b"), how="semi"),
        "SELECT * FROM l AS a SEMI JOIN r AS b [RANGE TUMBLING 5] ON a.k = b.k",
    ),
    (
        L.join(L, "a.k = b.k", tumbling=5, aliases=("a", "b")),
        "SELECT * FROM l AS a JOIN l AS b [RANGE TUMBLING 5] ON a.k = b.k",
    ),
    (
        L.join(R, "k", tumbling=5, time="right", late="side", strategy="scan"),
        "SELECT * FROM l JOIN r [RANGE TUMBLING 5] USING (k) TIMED BY r.ts LATE SIDE STRATEGY scan",
    ),
    (L.asof_join(R, "k"), "SELECT * FROM l ASOF JOIN r ON l.k = r.k AND l.ts >= r.ts"),
    (
        L.asof_join(R, "k", how="left", strict=True, forward=True, within=5),
        "SELECT * FROM l ASOF LEFT JOIN r ON l.k = r.k AND l.ts < r.ts AND r.ts <= l.ts + 5",
    ),
    (
        MOMENTS.join(LATER, "k", range=("3 min", timedelta(minutes=2))),
        "SELECT * FROM m [RANGE 3 MINUTES] JOIN n [RANGE 2 MINUTES] USING (k)",
    ),
    (
        MOMENTS.join(LATER, between=("-5 s", "3 s")),
        "SELECT * FROM m JOIN n ON n.ts - m.ts BETWEEN INTERVAL '-5' SECOND AND INTERVAL '3' SECOND",
    ),
    (
        L.join(R, "k", tumbling=5).join(L, "l.x = c.x AND r.x > c.x", tumbling=5, aliases=("l_r", "c")),
        "SELECT * FROM l JOIN r ON l.k = r.k JOIN l AS c [RANGE TUMBLING 5] ON l.x = c.x AND r.x > c.x",
    ),
    (
        L.join(R, "k", range=9).where("l.x > r.x").window(range=10, on="r_ts").agg(n=wr.count()),
        "SELECT count(*) AS n FROM (SELECT * FROM (SELECT * FROM l [RANGE 9] JOIN r [RANGE 9] USING (k)) "
        "WHERE l_x > r_x) [RANGE 10 WATTR r_ts]",
    ),
    (
        L.join(R, "k", range=9).group_by(key="l.k").window(range=10, on="later").agg(n=wr.sum("r.x")),
        "SELECT l.k AS key, sum(r.x) AS n FROM l [RANGE 9] JOIN r [RANGE 9] USING (k) GROUP BY l.k TIMED BY later",
    ),
]
DATA = {"l": L, "r": R, "m": MOMENTS, "n": LATER}


@pytest.mark.parametrize(("query", "text"), PLANS[:-1], ids=[text for _, text in PLANS[:-1]])
def test_python_and_sql_give_one_plan(query: wr.Query, text: str) -> None:
    streams = {name: DATA[name] for name in query.sources}
    assert wr.sql(text, **streams).plan == query.plan


@pytest.mark.parametrize("query", [query for query, _ in PLANS], ids=[text for _, text in PLANS])
def test_every_join_is_told_as_sql_and_in_words(query: wr.Query) -> None:
    assert query.plan == wr.sql(query.sql().split(";\n")[-1], **{name: DATA[name] for name in query.sources}).plan
    assert "Join" in query.explain("local")


def test_the_window_above_chooses_the_time() -> None:
    query, _ = PLANS[-1]
    assert isinstance(query.plan, WindowAggregate)
    assert isinstance(query.plan.input, Join)
    assert (Sliding("later", 10, 10), JoinTime.LATER) == (query.plan.window, query.plan.input.time)
    assert (("key", Column("l_k")),) == query.plan.keys


def test_data_of_one_name_is_kept_apart() -> None:
    one, other = (wr.stream(table, time="ts") for table in (ROWS, OTHERS))
    query = one.join(other, "stream.k = stream_2.k", tumbling=5)
    assert [one.sources["stream"], other.sources["stream"]] == [query.sources[n] for n in ("stream", "stream_2")]
    assert isinstance(query.plan, Join)
    assert ("stream", "stream_2") == query.plan.aliases


def test_a_self_join_reads_one_source() -> None:
    query = L.join(L, "a.k = b.k", tumbling=5, aliases=("a", "b"))
    assert {"l": L.sources["l"]} == query.sources
    assert [(1, 1), (2, 4), (1, 6)] == [(row["a_k"], row["b_ts"]) for row in answer(query)]


def test_an_expression_as_condition() -> None:
    on = Call("=", (Column("l_k"), Column("r_k")))
    assert L.join(R, "k", tumbling=5).plan == L.join(R, on, tumbling=5).plan


def test_settings_after_a_join() -> None:
    query = L.join(R, "k", tumbling=5)
    changed = query.late("side").strategy("scan").where("l.x > 0").plan.input  # type: ignore[union-attr]
    assert isinstance(changed, Join)
    assert (Late.SIDE, JoinStrategy.SCAN) == (changed.late, changed.strategy)
    assert JoinStrategy.AUTO is query.strategy("scan").strategy("auto").plan.strategy  # type: ignore[union-attr]
    kept = query.compress("blocks").plan.compression  # type: ignore[union-attr]
    assert Compression(CompressionMode.BLOCKS) == kept


def test_settings_of_a_window_above_a_join() -> None:
    plan = L.join(R, "k", tumbling=5).window(range=10).agg(n=wr.count()).late("side").strategy("index").plan
    assert isinstance(plan, WindowAggregate)
    assert isinstance(plan.input, Join)
    assert (Late.DROP, Late.SIDE, JoinStrategy.INDEX) == (plan.late, plan.input.late, plan.input.strategy)


ERRORS: list[tuple[Any, str]] = [
    (
        lambda: L.join(R, "k"),
        r"\A`join` must be bounded in time, or every row would be kept for ever\. Hint: say range='3 min', "
        r"tumbling='5 min', rows=100 or between=\('-5 s', '3 s'\), or compare the times in on\.\Z",
    ),
    (
        lambda: L.join(L, "k", tumbling=5),
        r"\A`aliases` must be two different names, got l, l\. "
        r"Hint: say aliases=\('a', 'b'\), then on='a\.key = b\.key'\.\Z",
    ),
    (lambda: L.join(R, "k", tumbling=5, range=3), r"\A`range` does not go with tumbling\. Hint: say one of them\.\Z"),
    (lambda: L.join(R, "k", range=5, origin=3), r"\A`origin` goes with tumbling, got 3\. Hint: leave it out\.\Z"),
    (
        lambda: L.join(R, "k", range=0),
        r"\A`range` must be positive, got 0\. Hint: a window holds something, as in .*\Z",
    ),
    (
        lambda: L.join(R, ["k", "y"], range=3),
        r"\A`y` is not a column of the input\. Hint: .*the columns are k, x, ts\.\Z",
    ),
    (
        lambda: L.join(R, "k = 1", range=3),
        r"\A`k` is ambiguous: several inputs of the join have it, got l\.k, r\.k\. Hint: write l\.k or r\.k\.\n",
    ),
    (
        lambda: L.join(R, "k", range=3, how="outer"),
        r"\A`how` must be a known word \(one of inner, left, right, full, semi, anti\), got outer\.\Z",
    ),
    (
        lambda: L.join(R, "k", range=3, how="left", time="right"),
        r"\A`time` must be a time that every result of a left join has \(one of left, .*\), got right\. .*\Z",
    ),
    (
        lambda: L.asof_join(R, "k", how="full"),
        r"\A`kind` must be inner or left for an as-of join: each left row meets one right row, got full\. .*\Z",
    ),
    (lambda: L.asof_join(R, "k", within=-1), r"\A`within` must not be negative, got -1\. Hint: as in '5 min'\.\Z"),
    (
        lambda: L.join(R, "k", between=(3, 1)),
        r"\A`window` must hold for some pair of times, got r from 3 after to 1 after l\. "
        r"Hint: the lower bound of the interval must not be above the upper one\.\Z",
    ),
    (
        lambda: MOMENTS.join(L, "k", range="3 s"),
        r"\A`join` needs times of one kind on both sides, got ts, a timestamp and ts, a bigint\. Hint: declare .*\Z",
    ),
    (
        lambda: L.join(R, "k", range=3).emit("empty"),
        r"\A`emit` belongs to a window, and this is a join, got empty\. "
        r"Hint: a join has compress, late \(drop, side\), strategy \(auto, index, scan, handshake, opib\)\.\Z",
    ),
    (
        lambda: L.join(R, "k", range=3).strategy("wid"),
        r"\A`strategy` belongs to a window, and this is a join, got wid\. Hint: a join has compress, late .*\Z",
    ),
    (
        lambda: L.join(R, "k", range=3).late("revise"),
        r"\A`late` cannot be revise for a join: a result that has left is not taken back .*, got revise\.\Z",
    ),
]


@pytest.mark.parametrize(("ask", "message"), ERRORS)
def test_errors(ask: Any, message: str) -> None:
    with pytest.raises(WindrowError, match=message):
        ask()


def test_a_strategy_that_nobody_knows() -> None:
    with pytest.raises(QueryError, match=r"\A`strategy` must be a known word \(one of auto, .*\), got fast\.\Z"):
        L.join(R, "k", range=3).strategy("fast")


# Answers

KEYS = st.none() | st.integers(0, 2)
STREAMS = st.lists(st.tuples(KEYS, st.integers(0, 3), st.integers(-20, 20)), max_size=12)
WINDOWS: list[tuple[str, dict[str, Any], JoinWindow]] = [
    ("l [RANGE 5] {} r [RANGE 3] ON l.k = r.k AND l.x <= r.x", {"range": (5, 3)}, Between.of_ranges(5, 3)),
    ("l {} r [RANGE TUMBLING 7] ON l.k = r.k AND l.x <= r.x", {"tumbling": 7}, SameWindow(7)),
    (
        "l {} r ON l.k = r.k AND l.x <= r.x AND r.ts - l.ts BETWEEN 1 AND 6",
        {"between": (1, 6)},
        Between(1, 6),
    ),
]


def expected(left: Any, right: Any, window: Any, kind: JoinKind, *, by_size: bool = True) -> list[dict[str, Any]]:
    """The rows that the definition gives, under the names of the join."""
    timed = [[(ts, {"k": k, "x": x, "ts": ts}) for k, x, ts in rows] for rows in (left, right)]

    def holds(one: Any, other: Any) -> bool:
        return one["k"] is not None and one["k"] == other["k"] and (not by_size or one["x"] <= other["x"])

    given = []
    for one, other in join(timed[0], timed[1], window, kind, holds):
        rows = [{f"{name}_{c}": row and row[c] for c in FLOW} for name, row in (("l", one), ("r", other))]
        given.append(dict(one or {}) if kind.is_half else {**rows[0], **rows[1]})
    return given


def answer(query: wr.Query) -> list[dict[str, Any]]:
    rows = query.collect(engine="local", batch_rows=3).to_pylist()
    return [{name: value for name, value in row.items() if name != "earlier"} for row in rows]


@given(STREAMS, STREAMS, st.sampled_from(list(JoinKind)), st.sampled_from(WINDOWS))
def test_answers_are_those_of_the_definition(left: Any, right: Any, kind: JoinKind, said: Any) -> None:
    source, words, window = said
    one = wr.stream(flow(left), time="ts", name="l", progress=wr.at_end())
    other = wr.stream(flow(right), time="ts", name="r", progress=wr.at_end())
    wanted = comparable(expected(left, right, window, kind))
    query = wr.sql(f"SELECT * FROM {source.format(kind.value + ' JOIN')}", l=one, r=other)
    assert wanted == comparable(answer(query))
    assert wanted == comparable(answer(one.join(other, "l.k = r.k AND l.x <= r.x", how=kind, **words)))


@given(STREAMS, STREAMS, st.booleans(), st.booleans(), st.sampled_from([JoinKind.INNER, JoinKind.LEFT]))
def test_as_of_answers_are_those_of_the_definition(
    left: Any, right: Any, forward: bool, strict: bool, kind: JoinKind
) -> None:
    one, other = (wr.stream(flow(rows), time="ts", name=name) for rows, name in ((left, "l"), (right, "r")))
    query = one.asof_join(other, "k", how=kind, forward=forward, strict=strict, within=9)
    wanted = expected(left, right, AsOf(forward, strict, 9), kind, by_size=False)
    assert comparable(wanted) == comparable(answer(query))


@given(STREAMS, STREAMS, st.integers(0, 30))
def test_counts_by_both_times_are_those_of_the_pairs(left: Any, right: Any, slack: int) -> None:
    """In whatever order rows come: the slack is wide enough for all, so that none is late."""
    one, other = (
        wr.stream(flow(rows), time="ts", name=name, progress=wr.slack(40 + slack))
        for rows, name in ((left, "l"), (right, "r"))
    )
    source = "FROM l [RANGE 5], r [RANGE 3] WHERE l.k = r.k AND l.x <= r.x"
    text = f"SELECT l.ts, r.ts, count(*) AS n {source} GROUP BY l.ts, r.ts"
    pairs = expected(left, right, Between.of_ranges(5, 3), JoinKind.INNER)
    wanted = Counter((row["l_ts"], row["r_ts"]) for row in pairs)
    rows = answer(wr.sql(text, l=one, r=other))
    assert dict(wanted) == {(row["l_ts"], row["r_ts"]): row["n"] for row in rows}
    assert len(wanted) == len(rows)


@given(STREAMS, STREAMS, STREAMS)
def test_three_streams_in_one_window(first: Any, second: Any, third: Any) -> None:
    streams = {
        name: wr.stream(flow(rows), time="ts", name=name) for name, rows in (("l", first), ("r", second), ("s", third))
    }
    text = "SELECT l.x, r.x, s.x FROM l, r, s [RANGE TUMBLING 7] WHERE l.k = r.k AND r.k = s.k AND l.x <= s.x"
    wanted = [
        {"l_x": a[1], "r_x": b[1], "s_x": c[1]}
        for a in first
        for b in second
        for c in third
        if a[0] is not None and a[0] == b[0] == c[0] and a[1] <= c[1] and a[2] // 7 == b[2] // 7 == c[2] // 7
    ]
    assert comparable(wanted) == comparable(answer(wr.sql(text, **streams)))


ANY: Any = L


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ANY.join(R, "k", range=("5",)), r"^`range` must be one for both sides, or a pair"),
        (lambda: ANY.join(R, "k", rows=(1, 2, 3)), r"^`rows` must be one for both sides, or a pair"),
        (lambda: ANY.join(R, "k", between=(5,)), r"^`between` must be a pair"),
        (lambda: ANY.join(R, "k", range=5, aliases=("a",)), r"^`aliases` must be a pair of names"),
        (lambda: ANY.join("r", "k", range=5), r"^`other` must be a query, got r"),
        (lambda: ANY.join(R, ["k", 3], range=5), r"^`on` must be text, or a list of columns"),
        (lambda: ANY.join(R, 5, range=5), r"^`on` must be text, or a list of columns, got 5"),
        (
            lambda: L.select("k").join(R, "k", range=5),
            r"^`join` needs a progressing attribute on both sides, but l",
        ),
        (lambda: L.join(R, "k", range=5).join(R, "l.k = r.k", range=5), r"^`aliases` must be two different names"),
    ],
)
def test_words_that_say_nothing(make: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        make()
