"""FROM with several inputs: which join a text asks for, and what is wrong with those that cannot be."""

from __future__ import annotations

import pytest

from tests.language.links import LEFT_FLOW, LINKS, RIGHT_FLOW, complaint, equal, plan, the_join
from tests.language.streams import MINUTE, SECOND
from windrow.plan.checks.nodes import shape_of
from windrow.plan.conditions import conjunction
from windrow.plan.nodes import (
    Distinct,
    Filter,
    Join,
    JoinedColumn,
    JoinStrategy,
    JoinTime,
    Late,
    OrderedOutput,
    Project,
    Strategy,
    Union,
    WindowAggregate,
)
from windrow.semantics.joins import AsOf, Between, JoinKind, LastRows, SameWindow
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import Sliding


@pytest.mark.parametrize(
    "source",
    [
        "M1 [RANGE 3 min WATTR ts] JOIN M2 [RANGE 2 min WATTR ts] ON M1.srcIP = M2.destIP",
        "M1 [RANGE 3 minutes, WA ts], M2 [RANGE 2 minutes, WA ts] WHERE M1.srcIP = M2.destIP",
        "M1 [RANGE 3 min], M2 [RANGE 2 min] WHERE M1.srcIP = M2.destIP",
    ],
)
def test_ranges_in_time(source: str) -> None:
    node = the_join(f"SELECT * FROM {source}")
    assert Between.of_ranges(3 * MINUTE, 2 * MINUTE) == node.window
    assert equal("M1_srcIP", "M2_destIP") == node.on
    assert (JoinKind.INNER, JoinTime.LEFT, ("M1", "M2")) == (node.kind, node.time, node.aliases)


@pytest.mark.parametrize(
    "source",
    [
        "M1, M2 [RANGE TUMBLING 5 minutes, WA ts] WHERE M1.srcIP = M2.destIP",
        "M1 JOIN M2 [RANGE TUMBLING 5 min] ON M1.srcIP = M2.destIP",
        "M1 [RANGE TUMBLING 5 min] JOIN M2 [RANGE TUMBLING 300 s] ON M1.srcIP = M2.destIP",
        "TUMBLE(TABLE M1, DESCRIPTOR(ts), INTERVAL '5' MINUTE) JOIN TUMBLE(TABLE M2, DESCRIPTOR(ts), "
        "INTERVAL '5' MINUTE) ON M1.srcIP = M2.destIP",
    ],
)
def test_the_same_tumbling_window(source: str) -> None:
    node = the_join(f"SELECT * FROM {source}")
    assert SameWindow(5 * MINUTE) == node.window
    assert equal("M1_srcIP", "M2_destIP") == node.on


def test_an_origin_shifts_tumbling_windows() -> None:
    assert SameWindow(10, 3) == the_join("SELECT * FROM l JOIN r [RANGE TUMBLING 10 ORIGIN 3] USING (k)").window


@pytest.mark.parametrize("right", ["r [RANGE 50 ROWS]", "r [ROWS 50]", "r [RANGE 50 WATTR row_num]"])
def test_the_last_rows(right: str) -> None:
    assert LastRows(100, 50) == the_join(f"SELECT * FROM l [RANGE 100 ROWS] JOIN {right} USING (k)").window


@pytest.mark.parametrize(
    "interval",
    [
        "A.ts BETWEEN B.ts - INTERVAL '5' SECOND AND B.ts + INTERVAL '3' SECOND",
        "A.ts >= B.ts - INTERVAL '5' SECOND AND A.ts <= B.ts + INTERVAL '3' SECOND",
        "B.ts <= A.ts + INTERVAL '5' SECOND AND A.ts - INTERVAL '3' SECOND <= B.ts",
        "A.ts - B.ts BETWEEN INTERVAL '-5' SECOND AND INTERVAL '3' SECOND",
        "INTERVAL '3' SECOND >= A.ts - B.ts AND (B.ts - A.ts) <= INTERVAL '5' SECOND",
    ],
)
def test_an_interval_of_times(interval: str) -> None:
    window = Between(-3 * SECOND, 5 * SECOND)
    for text in (f"A JOIN B ON A.srcIP = B.srcIP AND {interval}", f"A, B WHERE {interval} AND A.srcIP = B.srcIP"):
        node = the_join(f"SELECT * FROM {text}")
        assert (window, equal("A_srcIP", "B_srcIP")) == (node.window, node.on)


@pytest.mark.parametrize(
    ("interval", "window"),
    [
        ("abs(l.ts - r.ts) <= 2", Between(-2, 2)),
        ("abs(r.ts - l.ts) < 2", Between(-1, 1)),
        ("l.ts = r.ts", Between(0, 0)),
        ("r.ts > l.ts AND r.ts < l.ts + 10", Between(1, 9)),
        ("r.ts - l.ts > 5 AND r.ts - l.ts <= 9", Between(6, 9)),
    ],
)
def test_intervals_of_integers(interval: str, window: Between) -> None:
    node = the_join(f"SELECT * FROM l JOIN r ON {interval}")
    assert (window, None) == (node.window, node.on)


def test_with_a_window_a_comparison_of_times_is_a_condition_like_others() -> None:
    node = the_join("SELECT * FROM l [RANGE 9] JOIN r [RANGE 9] ON l.ts >= r.ts AND l.ts <= r.ts + 3")
    assert Between(-8, 8) == node.window
    assert "((l_ts >= r_ts) AND (l_ts <= (r_ts + 3)))" == str(node.on)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("JOIN", JoinKind.INNER),
        ("INNER JOIN", JoinKind.INNER),
        ("CROSS JOIN", JoinKind.INNER),
        ("LEFT JOIN", JoinKind.LEFT),
        ("LEFT OUTER JOIN", JoinKind.LEFT),
        ("RIGHT JOIN", JoinKind.RIGHT),
        ("FULL OUTER JOIN", JoinKind.FULL),
        ("SEMI JOIN", JoinKind.SEMI),
        ("LEFT SEMI JOIN", JoinKind.SEMI),
        ("ANTI JOIN", JoinKind.ANTI),
        ("LEFT ANTI JOIN", JoinKind.ANTI),
    ],
)
def test_kinds(words: str, kind: JoinKind) -> None:
    assert kind is the_join(f"SELECT * FROM l {words} r [RANGE TUMBLING 5]").kind


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("l.ts >= r.ts", AsOf()),
        ("r.ts < l.ts", AsOf(strict=True)),
        ("l.ts <= r.ts AND r.ts - l.ts <= 5", AsOf(forward=True, within=5)),
        ("l.ts >= r.ts AND l.ts - r.ts <= 5", AsOf(within=5)),
        ("l.ts >= r.ts AND l.ts <= r.ts + 5", AsOf(within=5)),
        ("l.ts < r.ts AND r.ts <= l.ts + 5", AsOf(forward=True, strict=True, within=5)),
    ],
)
def test_as_of(text: str, window: AsOf) -> None:
    node = the_join(f"SELECT * FROM l ASOF JOIN r ON l.k = r.k AND {text}")
    assert (window, equal("l_k", "r_k"), JoinKind.INNER) == (node.window, node.on, node.kind)
    assert JoinKind.LEFT is the_join(f"SELECT * FROM l ASOF LEFT JOIN r ON {text}").kind


def test_a_window_after_the_right_side_bounds_an_as_of_join() -> None:
    assert AsOf(within=9) == the_join("SELECT * FROM l ASOF JOIN r [RANGE 10] ON l.ts >= r.ts").window
    bounded = "SELECT * FROM l ASOF JOIN r [RANGE 10] ON l.ts >= r.ts AND l.ts <= r.ts + 4"
    assert AsOf(within=4) == the_join(bounded).window


# Names


def test_columns_are_named_after_their_side_where_both_have_them() -> None:
    node = the_join("SELECT * FROM l AS a JOIN users u [RANGE TUMBLING 5] ON a.k = u.id")
    assert ["k", "x", "ts", "id", "name", "seen"] == [column.name for column in node.names]
    node = the_join("SELECT * FROM l AS a JOIN r b [RANGE TUMBLING 5] ON a.k = b.k")
    assert ["a_k", "a_x", "a_ts", "b_k", "b_x", "b_ts"] == [column.name for column in node.names]


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ("a.x, b.ts", {"x": "a_x", "ts": "b_ts"}),
        ("a.x, b.x, b.ts", {"a_x": "a_x", "b_x": "b_x", "ts": "b_ts"}),
        ("a.x AS x, b.x AS y", {"x": "a_x", "y": "b_x"}),
        ("a.*", {"k": "a_k", "x": "a_x", "ts": "a_ts"}),
        ("a.*, b.x", {"k": "a_k", "a_x": "a_x", "ts": "a_ts", "b_x": "b_x"}),
        ("b.ts, a.*", {"b_ts": "b_ts", "k": "a_k", "x": "a_x", "a_ts": "a_ts"}),
        ("a.k, b.*", {"a_k": "a_k", "b_k": "b_k", "x": "b_x", "ts": "b_ts"}),
        ("a_x, B_TS", {"a_x": "a_x", "B_TS": "b_ts"}),
        ("l.x, r.x", {"a_x": "a_x", "b_x": "b_x"}),
    ],
)
def test_select_lists(select: str, columns: dict[str, str]) -> None:
    node = plan(f"SELECT {select} FROM l AS a JOIN r AS b [RANGE TUMBLING 5] ON a.k = b.k")
    assert isinstance(node, Project)
    assert tuple((name, Column(source)) for name, source in columns.items()) == node.columns


def test_all_columns_of_both_sides() -> None:
    names = [f"{side}_{name}" for side in ("a", "b") for name in ("k", "x", "ts")]
    for star in ("*", "*, 1 AS one", "a.*, b.*"):
        node = plan(f"SELECT {star} FROM l AS a JOIN r AS b [RANGE TUMBLING 5] USING (k)")
        assert names == shape_of(node).schema.names[:6]


def test_using_gives_one_name_to_equal_columns() -> None:
    for words, column in (("JOIN", "l_k"), ("LEFT JOIN", "l_k"), ("RIGHT JOIN", "r_k")):
        node = plan(f"SELECT k FROM l {words} r [RANGE TUMBLING 5] USING (k)")
        assert isinstance(node, Project)
        assert (("k", Column(column)),) == node.columns


def test_using_goes_on_with_the_side_whose_rows_all_come_out() -> None:
    node = plan("SELECT k FROM l RIGHT JOIN r [RANGE TUMBLING 5] USING (k) JOIN l AS m [RANGE TUMBLING 5] USING (k)")
    assert isinstance(node, Project)
    assert str(node.columns[0][1]).endswith("r_k")


def test_half_joins_keep_the_names_of_the_left_side() -> None:
    node = plan("SELECT * FROM l SEMI JOIN r [RANGE TUMBLING 5] ON l.k = r.k AND l.x > r.x")
    assert isinstance(node, Join)
    assert ["k", "x", "ts"] == shape_of(node).schema.names
    assert "((k = r_k) AND (x > r_x))" == str(node.on)


def test_a_self_join_reads_one_stream_twice() -> None:
    node = the_join("SELECT * FROM l AS a JOIN l AS b [RANGE TUMBLING 5] ON a.k = b.k")
    assert (LEFT_FLOW, LEFT_FLOW) == (node.left, node.right)
    assert JoinedColumn("b_k", 1, "k") in node.names


# WHERE


def test_conditions_of_where_become_those_of_inner_joins() -> None:
    node = plan("SELECT * FROM l, r [RANGE TUMBLING 5] WHERE l.k = r.k AND l.x > 1 AND (r.x < 2 AND l.x < r.x)")
    assert isinstance(node, Join)
    assert Filter(LEFT_FLOW, Call(">", (Column("x"), Literal(1)))) == node.left
    assert Filter(RIGHT_FLOW, Call("<", (Column("x"), Literal(2)))) == node.right
    assert "((l_k = r_k) AND (l_x < r_x))" == str(node.on)


def test_constants_stay_above() -> None:
    node = plan("SELECT * FROM l, r [RANGE TUMBLING 5] WHERE l.k = r.k AND 1 = 2")
    assert isinstance(node, Filter)
    assert "(1 = 2)" == str(node.predicate)


def test_the_last_rows_are_not_filtered_before_they_join() -> None:
    node = plan("SELECT * FROM l [RANGE 9 ROWS], r [RANGE 9 ROWS] WHERE l.k = r.k AND l.x > 1")
    assert isinstance(node, Filter)
    assert "(l_x > 1)" == str(node.predicate)
    assert equal("l_k", "r_k") == the_join("SELECT * FROM l [ROWS 9], r [ROWS 9] WHERE l.k = r.k AND l.x > 1").on


@pytest.mark.parametrize("words", ["LEFT JOIN", "FULL JOIN", "RIGHT JOIN"])
def test_where_stays_above_outer_joins(words: str) -> None:
    node = plan(f"SELECT * FROM l {words} r [RANGE TUMBLING 5] ON l.k = r.k AND l.x > 0 WHERE r.x IS NULL AND l.x > 1")
    assert isinstance(node, Filter)
    assert "(is_null(r_x) AND (l_x > 1))" == str(node.predicate)
    assert isinstance(node.input, Join)
    assert "((l_k = r_k) AND (l_x > 0))" == str(node.input.on)


def test_where_stays_above_as_of_joins() -> None:
    node = plan("SELECT * FROM l ASOF JOIN r ON l.ts >= r.ts WHERE r.x > 1")
    assert isinstance(node, Filter)
    assert isinstance(node.input, Join)
    assert RIGHT_FLOW == node.input.right


# Inputs


def test_unions_join_unions() -> None:
    text = (
        "SELECT * FROM A UNION B AS M1, C UNION D AS M2 [RANGE TUMBLING 10 seconds, WA ts] WHERE M1.srcIP = M2.destIP"
    )
    node = the_join(text)
    assert Union((LINKS["A"], LINKS["B"])) == node.left
    assert Union((LINKS["C"], LINKS["D"])) == node.right
    assert (("M1", "M2"), SameWindow(10 * SECOND)) == (node.aliases, node.window)
    again = text.replace("A UNION B AS M1, C UNION D AS M2", "(A UNION B) AS M1 JOIN (C UNION D) AS M2")
    assert node == the_join(again)


def test_subqueries_join() -> None:
    node = the_join(
        "SELECT * FROM (SELECT k, count(*) AS n FROM l [RANGE 10] GROUP BY k) AS q [RANGE 10] "
        "JOIN (SELECT * FROM r WHERE x > 1) AS p [RANGE 10 WATTR ts] ON q.k = p.k"
    )
    assert isinstance(node.left, WindowAggregate)
    assert isinstance(node.right, Filter)
    assert "window_end" == shape_of(node).time


def test_a_named_query_joins() -> None:
    node = the_join("WITH big AS (SELECT * FROM r WHERE x > 1) SELECT * FROM l JOIN big [RANGE TUMBLING 5] USING (k)")
    assert isinstance(node.right, Filter)


def test_joins_go_from_left_to_right() -> None:
    node = the_join(
        "SELECT * FROM l [RANGE 10] JOIN r [RANGE 20] ON l.k = r.k JOIN users [RANGE 30] ON users.id = r.k "
        "WHERE users.id > l.x AND l.x < r.x AND name = 'x'"
    )
    inner = node.left
    assert isinstance(inner, Join)
    assert (Between.of_ranges(10, 20), ("l", "r")) == (inner.window, inner.aliases)
    assert conjunction([equal("l_k", "r_k"), Call("<", (Column("l_x"), Column("r_x")))]) == inner.on
    assert (Between.of_ranges(10, 30), ("l_r", "users")) == (node.window, node.aliases)
    assert "((id = r_k) AND (id > l_x))" == str(node.on)
    assert isinstance(node.right, Filter)


def test_one_tumbling_window_is_for_all_joins() -> None:
    node = the_join("SELECT * FROM l, r, users [RANGE TUMBLING 7] WHERE l.k = r.k AND r.k = users.id")
    assert isinstance(node.left, Join)
    assert SameWindow(7) == node.window == node.left.window


def test_a_name_that_clashes_later_is_told_apart_again() -> None:
    node = plan(
        "SELECT l.k, u.id, c.k FROM l JOIN users AS u ON l.k = u.id AND l.ts = u.seen "
        "JOIN r AS c ON c.k = u.id AND c.ts BETWEEN u.seen - 5 AND u.seen"
    )
    assert isinstance(node, Project)
    assert (("l_k", Column("l_u_k")), ("id", Column("id")), ("c_k", Column("c_k"))) == node.columns


def test_an_interval_chooses_the_time_of_the_join_on_its_left() -> None:
    node = the_join(
        "SELECT * FROM l JOIN r ON l.ts BETWEEN r.ts - 5 AND r.ts + 5 JOIN users u ON u.seen BETWEEN r.ts AND r.ts + 3"
    )
    assert isinstance(node.left, Join)
    assert (JoinTime.RIGHT, Between(0, 3), None) == (node.left.time, node.window, node.on)


# What follows


def test_settings_of_a_join() -> None:
    node = the_join("SELECT * FROM l JOIN r [RANGE TUMBLING 5] USING (k) STRATEGY scan LATE SIDE")
    assert (JoinStrategy.SCAN, Late.SIDE) == (node.strategy, node.late)
    for strategy in JoinStrategy:
        text = f"SELECT * FROM l JOIN r [RANGE TUMBLING 5] USING (k) STRATEGY {strategy.value.upper()}"
        assert strategy is the_join(text).strategy


def test_settings_of_a_window_above_a_join() -> None:
    text = "SELECT count(*) [RANGE 10] FROM l JOIN r [RANGE TUMBLING 5] USING (k) EMIT EMPTY LATE SIDE STRATEGY"
    for word in ("wid", "index"):
        aggregate = plan(f"{text} {word}")
        assert isinstance(aggregate, WindowAggregate)
        assert isinstance(aggregate.input, Join)
        assert (Late.DROP, Late.SIDE) == (aggregate.late, aggregate.input.late)
        assert word == (aggregate.strategy if word == "wid" else aggregate.input.strategy).value


def test_results_in_order_and_each_once() -> None:
    join = "SELECT * FROM l JOIN r [RANGE TUMBLING 5] USING (k)"
    assert isinstance(plan(f"{join} ORDERED OUTPUT"), OrderedOutput)
    assert Distinct(the_join(join)) == plan(join.replace("*", "DISTINCT *", 1))


def test_a_window_on_a_join() -> None:
    node = plan(
        "SELECT l.k, count(*) [RANGE 60, SLIDE 60, WA l.ts], max(r.x) FROM l [RANGE 5], r [RANGE 5] "
        "WHERE l.k = r.k GROUP BY l.k"
    )
    assert isinstance(node, WindowAggregate)
    assert Sliding("l_ts", 60, 60) == node.window
    assert (("k", Column("l_k")),) == node.keys
    assert {"count": "count(*)", "max_r_x": "max(r_x)"} == {call.name: str(call) for call in node.aggregates}


ERRORS = [
    (
        "SELECT * FROM A JOIN B USING (srcIP)",
        "`join` must be bounded in time, or every row would be kept for ever. Hint: write A [RANGE 3 MINUTES] and "
        "B [RANGE 3 MINUTES]; or B [RANGE TUMBLING 3 MINUTES] for both; or AND B.ts BETWEEN A.ts - INTERVAL '5' SECOND "
        "AND A.ts + INTERVAL '5' SECOND.",
        "B",
    ),
    (
        "SELECT * FROM l, r WHERE l.k = r.k AND l.ts <= r.ts",
        "`join` must be bounded in time, or every row would be kept for ever. Hint: write l [RANGE 3] and r [RANGE 3]; "
        "or r [RANGE TUMBLING 3] for both; or AND r.ts BETWEEN l.ts - 5 AND l.ts + 5.",
        "r",
    ),
    (
        "SELECT x FROM l JOIN r [RANGE TUMBLING 5] USING (k)",
        "`x` is ambiguous: several inputs of the join have it, got l.x, r.x. Hint: write l.x or r.x.",
        "x",
    ),
    (
        "SELECT * FROM l JOIN r [RANGE TUMBLING 5] ON k = r.k",
        "`k` is ambiguous: several inputs of the join have it, got l.k, r.k. Hint: write l.k or r.k.",
        "k",
    ),
    (
        "SELECT * FROM l SEMI JOIN r [RANGE TUMBLING 5] ON k = r.k",
        "`k` is ambiguous: several inputs of the join have it, got l.k, r.k. Hint: write l.k or r.k.",
        "k",
    ),
    (
        "SELECT l.k FROM l AS a JOIN l AS b [RANGE TUMBLING 5] ON a.k = b.k",
        "`k` is ambiguous: several inputs of the join have it, got a.k, b.k. Hint: write a.k or b.k.",
        "l.k",
    ),
    (
        "SELECT k FROM l FULL JOIN r [RANGE TUMBLING 5] USING (k)",
        "`k` is ambiguous: several inputs of the join have it, got l.k, r.k. Hint: write l.k or r.k.",
        "k",
    ),
    (
        "SELECT l.name FROM l JOIN users [RANGE TUMBLING 5] ON l.k = users.id",
        "`name` is not a column of the input. Hint: the columns are k, x, ts.",
        "l.name",
    ),
    (
        "SELECT * FROM l JOIN users [RANGE TUMBLING 5] ON l.k = users.name",
        "`=` compares values of one kind, got bigint and string in (k = name). "
        "Hint: quote the constant to compare text, or CAST the column.",
        "l.k = users.name",
    ),
    (
        "SELECT * FROM l JOIN r [RANGE TUMBLING 5] ON l.k = users.id",
        "`users` is not a stream of this query. Hint: FROM names l, r.",
        "users",
    ),
    (
        "SELECT * FROM l JOIN l [RANGE TUMBLING 5] ON l.k = l.k",
        "`l` names two sides of the join. Hint: give each a name of its own: FROM ... AS a JOIN ... AS b.",
        "l",
    ),
    (
        "SELECT * FROM l JOIN (SELECT * FROM r) [RANGE TUMBLING 5] ON k = 1",
        "`subquery` must have a name in a join. Hint: write (SELECT ...) AS q.",
        "* FROM r",
    ),
    (
        "SELECT * FROM l JOIN users [RANGE TUMBLING 5] USING (k)",
        "`using` must be a column of both sides, got k, which users does not have. Hint: write ON a.key = b.other.",
        "k",
    ),
    (
        "SELECT * FROM A JOIN l [RANGE TUMBLING 5] ON A.srcPort = l.k",
        "`join` needs times of one kind on both sides, got ts, a timestamp and ts, a bigint. "
        "Hint: declare one of the columns as the type of the other.",
        "l",
    ),
    (
        "SELECT * FROM (SELECT k, x FROM l) AS q JOIN r [RANGE TUMBLING 5] USING (k)",
        "`join` needs a progressing attribute on both sides, but q does not keep it, got columns k, x. "
        "Hint: keep the time column (or window_start or window_end) in the inner SELECT, unchanged.",
        "r",
    ),
    (
        "SELECT * FROM l ASOF JOIN r ON l.k = r.k",
        "`asof` needs one comparison of the two times, to say which row is the nearest. "
        "Hint: add l.ts >= r.ts for the last row before, or <= for the first after.",
        "l.k = r.k",
    ),
    (
        "SELECT * FROM l ASOF JOIN r ON l.ts >= r.ts + 3",
        "`asof` needs one comparison of the two times, to say which row is the nearest. "
        "Hint: add l.ts >= r.ts for the last row before, or <= for the first after.",
        "l.ts >= r.ts + 3",
    ),
    (
        "SELECT * FROM l ASOF JOIN r ON l.ts <= r.ts",
        "`within` must be given where rows wait for the next one of the other side: it may never come. "
        "Hint: bound the distance, as in a.ts >= b.ts - INTERVAL '1' MINUTE.",
        "r",
    ),
    (
        "SELECT * FROM l [RANGE 5] ASOF JOIN r ON l.ts >= r.ts",
        "`window` goes after the right side of an as-of join, where it says how far apart two rows may be. "
        "Hint: write r [RANGE 5 MINUTES], or leave it out.",
        "[RANGE 5]",
    ),
    (
        "SELECT * FROM l JOIN r [RANGE TUMBLING 5] USING (k) LATE REVISE",
        "`late` cannot be revise for a join: a result that has left is not taken back (one of drop, side), got revise.",
        "r",
    ),
    (
        "SELECT * FROM l JOIN r [RANGE TUMBLING 5] ON l.k < r.k STRATEGY index",
        "`strategy` needs an equality or a band between the sides, got index. Hint: leave the strategy out.",
        "STRATEGY index",
    ),
    (
        "SELECT * FROM l ASOF JOIN r ON l.x < r.x AND l.ts >= r.ts",
        "`on` must be equalities besides the comparison of times in an as-of join, got (l_x < r_x). "
        "Hint: filter the sides first, in subqueries, or use a window join.",
        "l.x < r.x AND l.ts >= r.ts",
    ),
    (
        "SELECT * FROM l JOIN r [RANGE TUMBLING 5] USING (k) STRATEGY panes",
        "`strategy` must be one of joins (one of auto, index, scan, handshake, opib), got panes.",
        "STRATEGY panes",
    ),
    (
        "SELECT * FROM l JOIN r [RANGE TUMBLING 5] USING (k) EMIT EMPTY",
        "`emit` belongs to a window, and this query has none. Hint: leave it out, or put a window after the stream.",
        "EMIT EMPTY",
    ),
    (
        "SELECT * FROM l JOIN r [RANGE TUMBLING 5] USING (k) STRATEGY fastest",
        f"`strategy` must be a known word (one of {', '.join(strategy.value for strategy in Strategy)}, "
        "index, scan, handshake, opib), got fastest.",
        "fastest",
    ),
    (
        "SELECT count(*) [RANGE 5 WATTR r.ts] FROM l SEMI JOIN r [RANGE TUMBLING 5] USING (k)",
        "`r` gives no columns: only left rows come out of a SEMI or ANTI join. "
        "Hint: name the columns of l, or use another kind of join.",
        "r.ts",
    ),
    (
        "SELECT r.k FROM l ANTI JOIN r [RANGE TUMBLING 5] USING (k)",
        "`r` gives no columns: only left rows come out of a SEMI or ANTI join. "
        "Hint: name the columns of l, or use another kind of join.",
        "r",
    ),
    (
        "SELECT l.k FROM l SEMI JOIN r [RANGE TUMBLING 5] USING (k) TIMED BY r.ts",
        "`r` gives no columns: only left rows come out of a SEMI or ANTI join. "
        "Hint: name the columns of l, or use another kind of join.",
        "r.ts",
    ),
    (
        "SELECT l.k FROM l JOIN r [RANGE TUMBLING 5] USING (k) TIMED BY least(l.ts, l.k)",
        "`least` must be of the two times of a join. Hint: write least(l.ts, r.ts).",
        "least(l.ts, l.k)",
    ),
    (
        "SELECT count(*) FROM l [RANGE 5] STRATEGY scan",
        "`strategy` is for joins, and this query has none, got scan. Hint: leave it out.",
        "STRATEGY scan",
    ),
    (
        "SELECT count(*) FROM l JOIN r [RANGE TUMBLING 5] USING (k)",
        "`window` must be given: without one, state would be unbounded and no result would ever be final. Hint: write "
        "it after the aggregate: count(*) [RANGE 1 MINUTE WATTR l_ts]; those in FROM are of the join.",
        "count(*",
    ),
]


@pytest.mark.parametrize(("text", "message", "pointed"), ERRORS)
def test_errors(text: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(text)


@pytest.mark.parametrize(
    ("then", "window"),
    [
        ("JOIN l AS c ON c.ts BETWEEN a.ts - 2 AND a.ts + 3", Between(-2, 3)),
        ("JOIN l AS c ON c.ts BETWEEN b.ts - 2 AND b.ts + 3", Between(-2, 3)),
        ("ASOF JOIN l AS c ON a.k = c.k AND a.ts >= c.ts", AsOf(forward=False)),
        ("JOIN l AS c [RANGE 2] ON a.k = c.k", Between.of_ranges(5, 2)),
    ],
)
def test_what_may_follow_a_window_join(then: str, window: object) -> None:
    node = the_join(f"SELECT a.k, a.ts FROM l AS a [RANGE 5] JOIN r AS b [RANGE 4] ON a.k = b.k {then}")
    assert node.window == window
    assert isinstance(node.left, Join)
    assert Between.of_ranges(5, 4) == node.left.window
