"""When and in which order results leave, on every engine: the answers stay the same."""

from __future__ import annotations

import pytest

import windrow as wr
from tests.contract.engines import Engine, check, check_each, check_found, same_on_connect
from tests.contract.streams import ALL, BOUNDED, SCHEMA, SIZE, punctuated, punctuated_by_group
from windrow.plan.types.kinds import in_order
from windrow.query import Query

ELEMENTS = punctuated(31, 0, batches=5)
BY_GROUP = punctuated_by_group(32, -40)


DATA = {"s": ELEMENTS, "by_group": BY_GROUP}


def opened(name: str, per: tuple[str, ...] = ()) -> Query:
    return wr.stream(DATA[name], time="ts", schema=SCHEMA, progress=wr.punctuated(per=per), name=name)


EVERY, PER_K = opened("s"), opened("by_group", ("k",))
"""Opened once, so that queries which run together read them together."""


@same_on_connect
def test_ordered_output(engine: Engine) -> None:
    queries = [one.group_by("k").window(range=60, slide=20).agg(**ALL).ordered_output() for one in (EVERY, PER_K)]
    for query, found in zip(queries, engine.run_each(queries, SIZE), strict=True):
        check_found(query, engine.expected(query.plan, DATA, SIZE), found)
        assert repr(in_order(found.table, "window_end").to_pylist()) == repr(found.table.to_pylist())  # NaN is not NaN


@same_on_connect
@pytest.mark.parametrize("flush", ["slow", "lazy"])
def test_windows_given_in_slices(engine: Engine, flush: str) -> None:
    query = EVERY.group_by("k", "g").window(range=60, slide=20).agg(n=wr.count(), total=wr.sum("x"), most=wr.max("x"))
    check(engine, query, DATA, SIZE, flush=flush, flush_rows=2, flush_windows=1, flush_cells=4)


@same_on_connect
def test_every_strategy(engine: Engine) -> None:
    query = PER_K.group_by("k").window(range=60, slide=20).agg(**ALL).late("side")
    check_each(engine, {name: query.strategy(name) for name in ("adaptive", "wid", "buffer", "panes")}, DATA, SIZE)


def test_several_queries_in_one_pass(engine: Engine) -> None:
    some = EVERY.where("x is not null")
    queries = [
        EVERY.group_by("k").window(range=60, slide=20).agg(**BOUNDED),
        EVERY.group_by("k").window(range=30, slide=10).agg(n=wr.count(), total=wr.sum("x")).late("side"),
        some.group_by("k").window(range=40).agg(most=wr.max("x")),
        some.group_by("g").window(range=60, slide=30).agg(middle=wr.median("y")),
        EVERY.group_by("k").window(gap=7).agg(n=wr.count()),
    ]
    expected = [engine.expected(query.plan, DATA, SIZE) for query in queries]
    found = wr.run(queries, **engine.options(SIZE))
    for query, wanted, result in zip(queries, expected, found, strict=True):
        check_found(query, wanted, result)
