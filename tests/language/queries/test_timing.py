"""Which time of a join a query goes by."""

from __future__ import annotations

import pytest

from tests.language.links import complaint, plan, the_join
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Join, JoinTime, Project, WindowAggregate
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import RowsWindow, Sliding

JOIN = "FROM l JOIN r [RANGE TUMBLING 5] ON l.k = r.k"
WATTR = [
    ("l.ts", JoinTime.LEFT, "l_ts"),
    ("r.ts", JoinTime.RIGHT, "r_ts"),
    ("r_ts", JoinTime.RIGHT, "r_ts"),
    ("least(l.ts, r.ts)", JoinTime.EARLIER, "earlier"),
    ("LEAST(r.ts, l.ts)", JoinTime.EARLIER, "earlier"),
    ("greatest(l.ts, r.ts)", JoinTime.LATER, "later"),
    ("earlier", JoinTime.EARLIER, "earlier"),
    ("later", JoinTime.LATER, "later"),
]


@pytest.mark.parametrize(("attribute", "time", "name"), WATTR)
def test_the_window_above_chooses(attribute: str, time: JoinTime, name: str) -> None:
    text = f"SELECT count(*) [RANGE 10 WATTR {attribute}] {JOIN}"
    node = plan(text)
    assert isinstance(node, WindowAggregate)
    assert Sliding(name, 10, 10) == node.window
    assert time is the_join(text).time


@pytest.mark.parametrize(("attribute", "time", "name"), WATTR)
def test_what_is_timed_by(attribute: str, time: JoinTime, name: str) -> None:
    text = f"SELECT * {JOIN} TIMED BY {attribute}"
    assert time is the_join(text).time
    assert name == shape_of(plan(text)).time


@pytest.mark.parametrize("name", ["r_ts", "later"])
def test_a_window_on_a_subquery_chooses(name: str) -> None:
    node = plan(f"SELECT count(*) FROM (SELECT * {JOIN} WHERE l.x > 1) [RANGE 10 WATTR {name}]")
    assert isinstance(node, WindowAggregate)
    assert Sliding(name, 10, 10) == node.window


def test_a_window_on_a_renamed_time_chooses() -> None:
    text = f"SELECT count(*) FROM (SELECT l.ts AS one, r.ts AS other {JOIN}) [RANGE 10 WATTR other]"
    assert JoinTime.RIGHT is the_join(text).time


def test_rows_in_order_of_a_time_choose() -> None:
    text = f"SELECT count(*) [RANGE 10 ROWS ORDER BY r.ts] {JOIN}"
    node = plan(text)
    assert isinstance(node, WindowAggregate)
    assert RowsWindow(10, 10, (), "r_ts") == node.window
    assert JoinTime.RIGHT is the_join(text).time


def test_over_chooses() -> None:
    frame = "OVER (PARTITION BY l.k ORDER BY r.ts RANGE BETWEEN 5 PRECEDING AND CURRENT ROW)"
    assert JoinTime.RIGHT is the_join(f"SELECT count(*) {frame} {JOIN}").time


@pytest.mark.parametrize(
    ("groups", "time", "own", "key"),
    [
        ("l.ts, r.ts", JoinTime.LEFT, "l_ts", "r_ts"),
        ("r.ts, l.ts", JoinTime.RIGHT, "r_ts", "l_ts"),
        ("1, 2", JoinTime.LEFT, "l_ts", "r_ts"),
    ],
)
def test_groups_by_both_times_close_each_pair_of_values(groups: str, time: JoinTime, own: str, key: str) -> None:
    node = plan(f"SELECT l.ts, r.ts, count(*) {JOIN} GROUP BY {groups}")
    assert isinstance(node, Project)
    aggregate = node.input
    assert isinstance(aggregate, WindowAggregate)
    assert Sliding(own, 1, 1) == aggregate.window
    assert ((key, Column(key)),) == aggregate.keys
    assert isinstance(aggregate.input, Join)
    assert time is aggregate.input.time
    assert {"l_ts", "r_ts", "count"} <= set(dict(node.columns))
    assert dict(node.columns)[own] == Column("window_start")


def test_groups_by_an_alias_of_a_time() -> None:
    assert JoinTime.RIGHT is the_join(f"SELECT r.ts AS t, count(*) {JOIN} GROUP BY t").time


@pytest.mark.parametrize(
    ("select", "time", "name"),
    [
        ("l.k, l.ts, r.ts", JoinTime.LEFT, "l_ts"),
        ("r.ts", JoinTime.RIGHT, "ts"),
        ("r.x, least(l.ts, r.ts)", JoinTime.EARLIER, "earlier"),
        ("greatest(l.ts, r.ts) AS t", JoinTime.LATER, "t"),
        ("l.x", JoinTime.LEFT, None),
    ],
)
def test_the_select_list_keeps_a_time(select: str, time: JoinTime, name: str | None) -> None:
    text = f"SELECT {select} {JOIN}"
    assert time is the_join(text).time
    assert name == shape_of(plan(text)).time


def test_a_time_that_some_results_do_not_have_is_only_a_column() -> None:
    text = "SELECT r.ts FROM l LEFT JOIN r [RANGE TUMBLING 5] ON l.k = r.k"
    assert JoinTime.LEFT is the_join(text).time
    assert shape_of(plan(text)).time is None


ERRORS = [
    (
        "SELECT count(*) [RANGE 1 WATTR r.ts] FROM l LEFT JOIN r [RANGE TUMBLING 5] USING (k)",
        "`time` must be a time that every result of a left join has (one of left, earlier, later), got right. "
        "Hint: rows without a partner have no time of the other side, and an as-of join goes by the left one.",
        "r.ts",
    ),
    (
        "SELECT * FROM l RIGHT JOIN r [RANGE TUMBLING 5] USING (k) TIMED BY l.ts",
        "`time` must be a time that every result of a right join has (one of right, earlier, later), got left. "
        "Hint: rows without a partner have no time of the other side, and an as-of join goes by the left one.",
        "l.ts",
    ),
    (
        f"SELECT count(*) [RANGE 1 WATTR l.x] {JOIN}",
        "`wattr` must be the progressing attribute, which is l_ts, got x. Hint: write WATTR l_ts.",
        "l.x",
    ),
    (
        f"SELECT count(*) [RANGE 1 WATTR ts] {JOIN}",
        "`ts` is ambiguous: several inputs of the join have it, got l.ts, r.ts. Hint: write l.ts or r.ts.",
        "ts",
    ),
    (
        f"SELECT count(*) [RANGE 1 WATTR q.ts] {JOIN}",
        "`q` is not a stream of this query. Hint: FROM names l, r.",
        "q.ts",
    ),
    (
        f"SELECT count(*) [RANGE 1 WATTR least(l.ts, r.x)] {JOIN}",
        "`least` must be of the two times of a join. Hint: write least(l.ts, r.ts).",
        "least(l.ts, r.x)",
    ),
    (
        f"SELECT * {JOIN} TIMED BY l.x",
        "`timed by` must be a time of the join, got x. "
        "Hint: write TIMED BY a.ts, b.ts, least(a.ts, b.ts) or greatest(a.ts, b.ts).",
        "l.x",
    ),
]


@pytest.mark.parametrize(("text", "message", "pointed"), ERRORS)
def test_errors(text: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(text)
