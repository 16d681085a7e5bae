"""When and in which order results leave, on every engine: the answers stay the same."""

from __future__ import annotations

import pytest

import windrow as wr
from tests.contract.engines import Engine, check, check_found, same_on_connect
from tests.contract.streams import ALL, BOUNDED, SCHEMA, SIZE, punctuated, punctuated_by_group
from windrow.plan.schema import in_order
from windrow.query import Query

ELEMENTS = punctuated(31, 0, batches=5)
BY_GROUP = punctuated_by_group(32, -40)


def stream(per: str = "") -> Query:
    elements, progress = (BY_GROUP, wr.punctuated(per=per)) if per else (ELEMENTS, wr.punctuated())
    return wr.stream(elements, time="ts", schema=SCHEMA, progress=progress, name="s")


@same_on_connect
@pytest.mark.parametrize("per", ["", "k"])
def test_ordered_output(engine: Engine, per: str) -> None:
    query = stream(per).group_by("k").window(range=60, slide=20).agg(**ALL).ordered_output()
    expected = engine.expected(query.plan, {"s": BY_GROUP if per else ELEMENTS}, SIZE)
    found = engine.run(query, SIZE)
    check_found(query, expected, found)
    assert repr(in_order(found.table, "window_end").to_pylist()) == repr(found.table.to_pylist())  # NaN is not NaN


@same_on_connect
@pytest.mark.parametrize("flush", ["slow", "lazy"])
def test_windows_given_in_slices(engine: Engine, flush: str) -> None:
    query = (
        stream().group_by("k", "g").window(range=60, slide=20).agg(n=wr.count(), total=wr.sum("x"), most=wr.max("x"))
    )
    check(engine, query, {"s": ELEMENTS}, SIZE, flush=flush, flush_rows=2, flush_windows=1, flush_cells=4)


@same_on_connect
@pytest.mark.parametrize("strategy", ["adaptive", "wid", "buffer", "panes"])
def test_every_strategy(engine: Engine, strategy: str) -> None:
    query = stream("k").group_by("k").window(range=60, slide=20).agg(**ALL).late("side").strategy(strategy)
    check(engine, query, {"s": BY_GROUP}, SIZE)


def test_several_queries_in_one_pass(engine: Engine) -> None:
    every = stream()
    some = every.where("x is not null")
    queries = [
        every.group_by("k").window(range=60, slide=20).agg(**BOUNDED),
        every.group_by("k").window(range=30, slide=10).agg(n=wr.count(), total=wr.sum("x")).late("side"),
        some.group_by("k").window(range=40).agg(most=wr.max("x")),
        some.group_by("g").window(range=60, slide=30).agg(middle=wr.median("y")),
        every.group_by("k").window(gap=7).agg(n=wr.count()),
    ]
    expected = [engine.expected(query.plan, {"s": ELEMENTS}, SIZE) for query in queries]
    found = wr.run(queries, **engine.options(SIZE))
    for query, wanted, result in zip(queries, expected, found, strict=True):
        check_found(query, wanted, result)
