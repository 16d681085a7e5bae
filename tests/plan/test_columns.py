from __future__ import annotations

import pyarrow as pa
import pytest

from tests.plan.streams import MINUTE, call, columns, counters, trades, windowed
from windrow.plan.checks.nodes import shape_of
from windrow.plan.columns import columns_read, prune_together
from windrow.plan.nodes import AggregateCall, Distinct, Filter, Late, Node, Project, Stream, Union, walk
from windrow.semantics.progress.policies import External, Ordered
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import RowsWindow, Sliding

EVERYTHING = ["symbol", "price", "tags", "time", "promise"]
TOTAL = AggregateCall("total", "sum", call("+", Column("price"), 1))
DEAR = call(">", Column("price"), 10)


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        pytest.param(trades(), EVERYTHING, id="the rows are the answer"),
        pytest.param(Filter(trades(), DEAR), EVERYTHING, id="a filter keeps whole rows"),
        pytest.param(Distinct(trades()), EVERYTHING, id="rows are compared whole"),
        pytest.param(windowed(trades()), ["time"], id="count(*)"),
        pytest.param(windowed(trades(), keys=("symbol",)), ["symbol", "time"], id="keys"),
        pytest.param(windowed(trades(), aggregates=(TOTAL,)), ["price", "time"], id="arguments"),
        pytest.param(windowed(Filter(trades(), DEAR)), ["price", "time"], id="filters"),
        pytest.param(
            windowed(trades(), RowsWindow(3, 1, ("symbol",)), ("symbol",)), ["symbol", "time"], id="partitions"
        ),
        pytest.param(windowed(trades(), late=Late.SIDE), EVERYTHING, id="late rows are whole"),
        pytest.param(windowed(trades(), late=Late.REVISE), EVERYTHING, id="rows too late to correct are whole"),
        pytest.param(windowed(Distinct(trades())), EVERYTHING, id="compared before they are counted"),
        pytest.param(windowed(trades(policy=External("promise"))), ["time", "promise"], id="punctuations"),
        pytest.param(windowed(trades(policy=Ordered(per=("symbol",)))), ["symbol", "time"], id="partitions"),
        pytest.param(
            Project(trades(), (("at", Column("time")), ("twice", call("*", Column("price"), 2)))),
            ["price", "time"],
            id="projections",
        ),
        pytest.param(
            windowed(Project(trades(), (("time", Column("time")), ("symbol", Column("symbol")))), late=Late.SIDE),
            ["symbol", "time"],
            id="late rows as projected",
        ),
        pytest.param(
            windowed(windowed(trades(), keys=("symbol",)), Sliding("window_end", MINUTE, MINUTE)),
            ["symbol", "time"],
            id="windows over windows",
        ),
    ],
)
def test_columns_read_of_one_stream(plan: Node, expected: list[str]) -> None:
    assert {"trades": expected} == columns_read(plan)


def test_both_sides_of_a_union_keep_the_same_columns() -> None:
    plan = windowed(Union((trades("a"), Filter(trades("b", policy=External("promise")), DEAR))))
    assert {"a": ["price", "time", "promise"], "b": ["price", "time", "promise"]} == columns_read(plan)


def test_a_stream_read_twice_has_the_columns_of_both_places() -> None:
    narrow, wide = windowed(Union((trades("a"), trades("b")))), windowed(trades("a"), keys=("symbol",))
    both = Union((_ends(narrow), _ends(wide)))
    assert {"a": ["symbol", "time"], "b": ["symbol", "time"]} == columns_read(both)


def test_a_projection_beside_a_stream_decides_what_the_stream_keeps() -> None:
    same = tuple((name, Column(name)) for name in ("key", "seq", "x"))
    plan = windowed(Union((Project(counters(name="a"), same), counters(name="b"))), Sliding("seq", 2, 1))
    assert {"a": ["key", "seq", "x"], "b": ["key", "seq", "x"]} == columns_read(plan)


def _ends(node: Node) -> Node:
    return Project(node, (("window_end", Column("window_end")),))


def test_prune_narrows_the_streams_and_nothing_else() -> None:
    narrow = Stream("counters", columns(key=pa.string(), seq=pa.int32()), "seq")
    window = Sliding("seq", 2, 1)
    assert windowed(narrow, window, keys=("key",)) == prune_together([windowed(counters(), window, keys=("key",))])[0]


@pytest.mark.parametrize(
    "plan",
    [
        windowed(Filter(trades(), DEAR), keys=("symbol",), aggregates=(TOTAL,)),
        windowed(Union((trades("a"), Distinct(trades("b"))))),
        windowed(Union((trades("a"), Filter(trades("b", policy=External("promise")), DEAR)))),
        Distinct(Union((trades("a"), Union((trades("b"), trades("a")))))),
    ],
)
def test_a_pruned_plan_gives_the_same_columns(plan: Node) -> None:
    assert shape_of(plan) == shape_of(prune_together([plan])[0])


def test_plans_that_run_together_keep_what_one_of_them_reads() -> None:
    window = Sliding("seq", 10, 10)
    plans = [windowed(counters(), window, keys=("key",)), windowed(counters(), window, keys=("x",))]
    assert {"counters": ["key", "seq", "x"]} == columns_read(*plans)
    one, other = prune_together(plans)
    assert shape_of(next(part for part in walk(one) if isinstance(part, Stream))) == shape_of(
        next(part for part in walk(other) if isinstance(part, Stream))
    )
