"""Which changes of a query can go on from its saved state, and how the others are refused."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.acceptance.streams import KINDS, rows
from tests.engines.spark.test_two_levels import Cluster
from tests.strategies import comparable
from windrow.errors import ConfigurationError
from windrow.plan.checks.joins import joined_names
from windrow.plan.nodes import Join, Late
from windrow.semantics.joins import Between, JoinKind
from windrow.semantics.scalars.expressions import Call, Column
from windrow.sharded import chunks
from windrow.sharded.chunks import VERSION
from windrow.sharded.signature import check_facts

SHARDS = 3
FIRST = sorted(rows(1, 200), key=lambda row: row["ts"])
CUT = FIRST[-1]["ts"] + 1
SECOND = [{**row, "ts": row["ts"] - FIRST[0]["ts"] + CUT} for row in FIRST]
TABLE = pa.Table.from_pylist(FIRST + SECOND, pa.schema(KINDS))


def query(
    *,
    progress: Any = None,
    idle: Any = None,
    name: str = "s",
    where: str | None = "x > -9",
    keys: dict[str, str] | None = None,
    window: dict[str, Any] | None = None,
    agg: dict[str, Any] | None = None,
    having: str | None = None,
    select: dict[str, str] | None = None,
    unique: bool = False,
    **settings: dict[str, Any],
) -> wr.Query:
    """The query, but for what is given here."""
    found = wr.stream(TABLE, time="ts", progress=progress or wr.slack(12), idle=idle, name=name)
    found = found if where is None else found.where(where)
    spec = agg or {"n": wr.count(), "total": wr.sum("x")}
    found = found.group_by(**(keys or {"k": "k"})).window(**(window or {"range": 30, "slide": 10})).agg(**spec)
    for setting, value in settings.items():
        found = getattr(found, setting)(**value)
    found = found if having is None else found.having(having)
    found = found if select is None else found.select("window_start", "window_end", **select)
    return found.distinct() if unique else found


RESTORED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "another WHERE": {"where": "x < 5"},
    "no WHERE": {"where": None},
    "a HAVING": {"having": "n > 1"},
    "other expressions in SELECT": {"select": {"key": "upper(k)", "twice": "2 * n"}},
    "other names of the answer's columns": {
        "keys": {"symbol": "k"},
        "agg": {"number": wr.count(), "volume": wr.sum("x")},
    },
    "another slack": {"progress": wr.slack(40)},
    "slack in rows instead of time": {"progress": wr.slack("20 rows")},
    "an idle timeout": {"idle": 50},
    "LATE SIDE instead of LATE DROP": {"late": {"policy": "side"}},
}
SLIDING = "RANGE 30 SLIDE 10 on ts, each row in up to 3 windows"
SESSION = "GAP 10 on ts, a window ends when no row comes for that long"
AFTER = "by (k string) of count(*), sum(x) on (int64) emit nonempty generous strategy panes"
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another RANGE": (
        {"window": {"range": 60, "slide": 10}},
        f"{SLIDING.replace('30', '60').replace('3', '6')} {AFTER}",
    ),
    "another SLIDE": (
        {"window": {"range": 30, "slide": 15}},
        f"{SLIDING.replace('10', '15').replace('to 3', 'to 2')} {AFTER}",
    ),
    "another ORIGIN": (
        {"window": {"range": 30, "slide": 10, "origin": 5}},
        f"{SLIDING.replace('on ts', 'on ts from 5')} {AFTER}",
    ),
    "uneven windows": (
        {"window": {"range": 25, "slide": 10, "align": "start"}},
        f"RANGE 25 SLIDE 10 on ts, each row in up to 3 windows, counted from 5 {AFTER}",
    ),
    "another kind of window": (
        {"window": {"gap": 10}},
        f"{SESSION} {AFTER.replace('panes', 'auto')}",
    ),
    "other keys": ({"keys": {"k": "upper(k)"}}, f"{SLIDING} {AFTER.replace('(k ', '(upper(k) ')}"),
    "a key more": ({"keys": {"k": "k", "x": "x"}}, f"{SLIDING} {AFTER.replace('k string', 'k string, x int64')}"),
    "another aggregate": (
        {"agg": {"n": wr.count(), "total": wr.max("x")}},
        f"{SLIDING} {AFTER.replace('sum', 'max')}",
    ),
    "an aggregate more": (
        {"agg": {"n": wr.count(), "total": wr.sum("x"), "most": wr.max("x")}},
        f"{SLIDING} {AFTER.replace('sum(x) on (', 'sum(x), max(x) on (int64, ')}",
    ),
    "aggregates in another order": (
        {"agg": {"total": wr.sum("x"), "n": wr.count()}},
        f"{SLIDING} {AFTER.replace('count(*), sum(x)', 'sum(x), count(*)')}",
    ),
    "LATE REVISE instead of LATE DROP": (
        {"late": {"policy": "revise", "within": 20}},
        f"{SLIDING} {AFTER.replace('generous', 'generous late revise within 20')}",
    ),
    "another lateness": ({"lateness": {"mode": "consistent"}}, f"{SLIDING} {AFTER.replace('generous', 'consistent')}"),
    "another EMIT": ({"emit": {"which": "empty"}}, f"{SLIDING} {AFTER.replace('nonempty', 'empty')}"),
    "another strategy": ({"strategy": {"strategy": "wid"}}, f"{SLIDING} {AFTER.replace('panes', 'wid')}"),
    "another COMPRESS": ({"compress": {"mode": "off"}}, f"{SLIDING} {AFTER} compress off"),
    "a bound": (
        {"compress": {"within": {"x": 2}}},
        f"{SLIDING} {AFTER.replace('sum(x)', 'sum(within(x, 2.0))')}",
    ),
    "another name of a stream": ({"name": "t"}, "stream t"),
    "a DISTINCT": ({"unique": True}, "distinct k string, window_start int64, window_end int64, n int64, total int64"),
}


def begun(given: wr.Query) -> Cluster:
    """The query after the first half of its rows, with its state saved."""
    cluster = Cluster(given.plan, shards=SHARDS)
    for start in range(0, len(FIRST), 50):
        cluster.micro_batch([FIRST[start : start + 50]] * len(cluster.readings), tasks=2)
    cluster.save()
    return cluster


def gone_on(before: Cluster, given: wr.Query) -> Cluster:
    """Another query from the state of the first, with the second half of the rows."""
    cluster = Cluster(given.plan, shards=SHARDS)
    for key, shard in cluster.shards.items():
        facts = json.loads(json.dumps(before.shards[key].facts()))
        check_facts(facts, shard.facts())
        tables, cluster.known[key] = chunks.load(iter(before.stores[key].chunks.items()))
        shard.restore(facts, tables)
    for start in range(0, len(SECOND), 50):
        last = start + 50 >= len(SECOND)
        cluster.micro_batch([SECOND[start : start + 50]] * len(cluster.readings), tasks=2, ends=last)
    return cluster


def values(results: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return comparable([{str(i): value for i, value in enumerate(row.values())} for row in results])


@pytest.mark.parametrize("change", RESTORED)
def test_a_changed_query_goes_on_where_its_state_stays_the_same(change: str) -> None:
    """Windows of the second half alone are those of the changed query; all are, where the change alters no value."""
    base, changed = query(), query(**RESTORED[change])
    before = begun(base)
    after = gone_on(before, changed)
    expected, unchanged = (given.collect().to_pylist() for given in (changed, base))
    assert comparable(row for row in expected if row["window_start"] >= CUT) == comparable(
        row for row in after.results if row["window_start"] >= CUT
    )
    if values(expected) == values(unchanged):
        assert values(expected) == values(before.results + after.results)


QUERIES: dict[str, dict[str, Any]] = {
    "values kept": {"agg": {"n": wr.median("x"), "total": wr.collect("x")}},
    "buffer": {"strategy": {"strategy": "buffer"}},
    "wid": {"strategy": {"strategy": "wid"}},
    "session": {"window": {"gap": 6}},
    "landmark": {"window": {"range": "unbounded", "slide": 50}},
    "revise": {"late": {"policy": "revise", "within": 20}},
    "complete": {"emit": {"which": "complete"}},
    "empty": {"emit": {"which": "empty"}},
    "distinct": {"unique": True},
    "within a bound": {"compress": {"within": {"x": 2}}},
}


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_goes_on_with_another_slack_and_a_having(name: str) -> None:
    """Neither alters a value of these, so the answer is that of the query that never stopped."""
    before = begun(query(**QUERIES[name]))
    after = gone_on(before, query(**QUERIES[name], progress=wr.slack(40), having="n IS NULL OR n >= -9"))
    expected = query(**QUERIES[name]).collect().to_pylist()
    assert len(after.results) > 0
    assert comparable(expected) == comparable(before.results + after.results)


def test_a_union_goes_on_with_an_idle_timeout() -> None:
    def both(**settings: Any) -> wr.Query:
        left, right = (
            wr.stream(TABLE, time="ts", progress=wr.slack(12), name=name, **settings) for name in ("left", "right")
        )
        return left.union(right).group_by("k").window(range=30, slide=10).agg(n=wr.count(), total=wr.sum("x"))

    before = begun(both())
    after = gone_on(before, both(idle=500))
    assert comparable(both().collect().to_pylist()) == comparable(before.results + after.results)


def pairs(
    kind: JoinKind = JoinKind.LEFT,
    high: int = 9,
    by: str = "k",
    below: str = "x > -9",
    more: tuple[str, ...] = ("b_x",),
    **others: Any,
) -> wr.Query:
    left, right = (wr.stream(TABLE, time="ts", progress=wr.slack(12), name=name).where(below) for name in "ab")
    names = joined_names([left.schema, right.schema], ("a", "b"))
    on = Call("=", (Column(f"a_{by}"), Column(f"b_{by}")))
    plan = Join(left.plan, right.plan, kind, Between(-5, high), on, names, ("a", "b"), **others)
    return wr.Query(plan, {**left.sources, **right.sources}).select("a_ts", "a_k", "a_x", *more)


def test_a_join_goes_on_with_another_filter_and_late_rows_shown() -> None:
    before = begun(pairs())
    after = gone_on(before, pairs(below="x > -9 and ts is not null", late=Late.SIDE).where("a_x is not null"))
    assert len(before.results) > 0
    assert comparable(pairs().collect().to_pylist()) == comparable(before.results + after.results)


KEPT = "giving (a_ts int64, a_k string, a_x int64, b_x int64) time left"
BY_K = "on (a_k = b_k) of (a_k string, b_k string)"
JOINED = f"left join, right 5 before left to 9 after left, {BY_K} {KEPT}"


@pytest.mark.parametrize(
    ("ours", "changed"),
    [
        (JOINED.replace("left join", "inner join"), pairs(JoinKind.INNER)),
        (JOINED.replace("9 after", "8 after"), pairs(high=8)),
        (JOINED.replace(BY_K, BY_K.replace("_k", "_x").replace("string", "int64")), pairs(by="x")),
        (JOINED.replace(", b_x int64", ""), pairs(more=())),
    ],
)
def test_another_join_is_refused(ours: str, changed: wr.Query) -> None:
    message = (
        f"`checkpoint` must be of a query that keeps the same state; this one has {ours}, got {JOINED}. "
        "Hint: begin with an empty checkpoint folder; what may change is listed in docs/spark.md."
    )
    saved, mine = (
        {"shards": SHARDS, "query": Cluster(q.plan, shards=SHARDS).bundle.signature} for q in (pairs(), changed)
    )
    with pytest.raises(ConfigurationError, match=f"^{re.escape(message)}$"):
        check_facts(saved, mine)


@pytest.mark.parametrize("change", REFUSED)
def test_a_query_with_other_state_is_refused(change: str) -> None:
    """The message has the first thing that differs."""
    settings, ours = REFUSED[change]
    theirs = "stream s" if ours.startswith("stream") else f"{SLIDING} {AFTER}"
    message = (
        f"`checkpoint` must be of a query that keeps the same state; this one has {ours}, got {theirs}. "
        "Hint: begin with an empty checkpoint folder; what may change is listed in docs/spark.md."
    )
    saved, mine = (
        {"shards": SHARDS, "query": Cluster(q.plan, shards=SHARDS).bundle.signature}
        for q in (query(), query(**settings))
    )
    with pytest.raises(ConfigurationError, match=f"^{re.escape(message)}$"):
        check_facts(saved, mine)


def test_sessions_go_on_with_late_rows_shown() -> None:
    silent, showing = query(window={"gap": 10}), query(window={"gap": 10}, late={"policy": "side"})
    before = begun(silent)
    after = gone_on(before, showing)
    assert comparable(silent.collect().to_pylist()) == comparable(before.results + after.results)


def test_slide_by_tuple_windows_that_show_late_rows_keep_more_than_those_that_drop_them() -> None:
    window = {"range": 10, "slide": "1 row"}
    silent, showing = query(window=window), query(window=window, late={"policy": "side"})
    line = f"RANGE 10 on ts SLIDE 1 rows, counted by row_num {AFTER.replace('panes', 'auto')}"
    message = (
        "`checkpoint` must be of a query that keeps the same state; this one has "
        f"{line.replace('generous', 'generous late side')}, got {line}. "
        "Hint: begin with an empty checkpoint folder; what may change is listed in docs/spark.md."
    )
    with pytest.raises(ConfigurationError, match=f"^{re.escape(message)}$"):
        gone_on(begun(silent), showing)


def test_a_query_that_ends_earlier_is_refused() -> None:
    message = (
        "`checkpoint` must be of a query that keeps the same state; this one has nothing more, got stream t. "
        "Hint: begin with an empty checkpoint folder; what may change is listed in docs/spark.md."
    )
    with pytest.raises(ConfigurationError, match=f"^{re.escape(message)}$"):
        check_facts({"shards": 1, "query": ["stream s", "stream t"]}, {"shards": 1, "query": ["stream s"]})


def test_another_number_of_shards_is_refused() -> None:
    message = (
        "`checkpoint` must have as many shards as this run (3), got 8 shards. "
        "Hint: set spark.sql.shuffle.partitions to 8, or begin with an empty checkpoint folder."
    )
    with pytest.raises(ConfigurationError, match=f"^{re.escape(message)}$"):
        check_facts({"version": VERSION, "shards": 8}, {"version": VERSION, "shards": 3})


def test_another_format_of_the_state_is_refused_before_anything_else_is_looked_at() -> None:
    message = (
        f"`checkpoint` must be of state format {VERSION}, got format 0. "
        "Hint: begin with an empty checkpoint folder, or go on with the Windrow that wrote it."
    )
    with pytest.raises(ConfigurationError, match=f"^{re.escape(message)}$"):
        check_facts({"version": 0}, {"version": VERSION, "shards": 3})
