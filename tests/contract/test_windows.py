"""Every kind of window, with emit modes, late policies, keys and progress, on every engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

import windrow as wr
from tests.contract.engines import Engine, check_each, hardware, named, same_on_connect
from tests.contract.streams import ALL, BOUNDED, SCHEMA, SIZE, TIMED, punctuated, punctuated_by_group, rows, timed
from windrow.errors import UnsupportedError
from windrow.functions import AggregateSpec
from windrow.plan.nodes import Stream
from windrow.query import Query
from windrow.semantics.progress.policies import Policy

PER_K = wr.punctuated(per="k")
HUGE, NEGATIVE = 1 << 50, -(1 << 50) - 7


DATA: Mapping[str, list[Any]] = {
    "punctuated": punctuated(1, 0),
    "huge": punctuated(2, HUGE),
    "negative": punctuated(3, NEGATIVE),
    "by_group": punctuated_by_group(10, 0),
    "huge_by_group": punctuated_by_group(11, HUGE),
    "rows": rows(4, NEGATIVE),
    "huge_rows": rows(5, HUGE),
    "moments": timed(rows(8, -60)),
}


def opened(name: str) -> Query:
    kind = SCHEMA if isinstance(DATA[name][0]["ts"], int) else TIMED
    return wr.stream(DATA[name], time="ts", schema=kind, progress=wr.punctuated(), name=name)


STREAMS = {name: opened(name) for name in DATA}
"""Opened once, so that queries which run together read them together."""


@dataclass(frozen=True)
class Case:
    """A query in one line; `has_late` says whether rows are late, on every engine."""

    window: Mapping[str, Any]
    keys: tuple[str, ...] = ("k",)
    aggregates: Mapping[str, AggregateSpec] = field(default_factory=lambda: ALL)
    emit: str = "nonempty"
    late: tuple[str, Any] = ("drop", None)
    lateness: str = "generous"
    progress: Policy = field(default_factory=wr.punctuated)
    data: str = "punctuated"
    has_late: bool = True

    def query(self) -> Query:
        stream = STREAMS[self.data]
        assert isinstance(stream.plan, Stream)
        query = Query(replace(stream.plan, policy=self.progress), stream.sources)
        policy, within = self.late
        windows = query.group_by(*self.keys).window(**self.window)
        return windows.emit(self.emit).late(policy, within=within).lateness(self.lateness).agg(**self.aggregates)


CASES = {
    "tumbling over all": Case({"range": 15}, (), BOUNDED),
    "sliding, side": Case({"range": 30, "slide": 10}, late=("side", None), data="huge"),
    "uneven, consistent": Case(
        {"range": 25, "slide": 10, "origin": 3, "align": "start"},
        ("k", "g"),
        BOUNDED,
        lateness="consistent",
        data="negative",
    ),
    "holes, empty windows, float keys": Case(
        {"range": 7, "slide": 11}, ("y",), emit="empty", late=("side", None), lateness="consistent"
    ),
    "landmark, slack": Case({"range": "unbounded", "slide": 20}, ("g",), BOUNDED, progress=wr.slack(10), data="rows"),
    "session, side, slack": Case({"gap": 6}, late=("side", None), progress=wr.slack(20), data="huge_rows"),
    "revised": Case({"range": 20, "slide": 10}, late=("revise", 30)),
    "revised, consistent, int keys": Case(
        {"range": 20, "slide": 10}, ("g",), BOUNDED, late=("revise", None), lateness="consistent"
    ),
    "complete, slack in rows": Case(
        {"range": 30, "slide": 15}, ("k",), BOUNDED, emit="complete", progress=wr.slack("9 rows"), data="rows"
    ),
    "moments, ordered": Case(
        {"range": "20 s", "slide": "5 s"}, ("at", "k"), BOUNDED, progress=wr.ordered(), data="moments"
    ),
    "promises for groups": Case({"range": 30, "slide": 10}, late=("side", None), progress=PER_K, data="by_group"),
    "promises for groups, partials": Case(
        {"range": 20, "slide": 10}, ("k",), BOUNDED, progress=PER_K, data="huge_by_group"
    ),
    "partitions, side": Case(
        {"range": 30, "slide": 10}, late=("side", None), progress=wr.slack(2, per="g"), data="rows"
    ),
    "partitions of which something is said": Case(
        {"range": 20, "slide": 10}, ("g",), BOUNDED, progress=wr.ordered(per="k"), data="by_group"
    ),
    "promises for groups, landmark": Case(
        {"range": "unbounded", "slide": 20}, ("k",), BOUNDED, progress=PER_K, data="by_group"
    ),
    "promises for groups, sessions revised": Case(
        {"gap": 7}, ("k",), BOUNDED, late=("revise", 12), progress=PER_K, data="by_group"
    ),
    "promises for groups, revised": Case(
        {"range": 20, "slide": 10}, ("k",), late=("revise", 30), progress=PER_K, data="by_group"
    ),
    "rows of a key in order of time": Case(
        {"rows": 5, "slide": "2 rows", "partition": "k", "order_by": "ts"}, ("k", "g"), late=("side", None)
    ),
    "rows by arrival": Case({"rows": 9, "slide": "4 rows"}, ("k",), BOUNDED, data="rows", has_late=False),
    "every row closes a window of its key": Case(
        {"range": 25, "slide": "1 row", "partition": "k"}, ("k",), late=("side", None), data="huge"
    ),
    "every third row by rank": Case(
        {"range": 25, "slide": "3 rows", "by": "rank"}, ("g",), BOUNDED, lateness="consistent"
    ),
    "at end": Case({"range": 30, "slide": 7}, progress=wr.at_end(), data="huge_rows", has_late=False),
}


WHOLE: Mapping[str, AggregateSpec] = {"n": wr.count(), "sx": wr.sum("x"), "ax": wr.avg("x"), "hi": wr.max("x * 2 + 1")}
FEW: Mapping[str, AggregateSpec] = {"nx": wr.count("x"), "lo": wr.min("x")}
ON_CIRCUITS = {
    "sliding over all": Case({"range": 30, "slide": 10}, (), WHOLE),
    "tumbling by a string": Case({"range": 15}, ("k",), FEW, data="huge"),
    "uneven, consistent, strategy wid": Case(
        {"range": 25, "slide": 10, "origin": 3, "align": "start"}, (), WHOLE, lateness="consistent", data="negative"
    ),
    "holes, slack": Case({"range": 7, "slide": 11}, ("g",), FEW, progress=wr.slack(20), data="rows"),
    "slack in rows": Case({"range": 20, "slide": 10}, (), FEW, progress=wr.slack("9 rows"), data="huge_rows"),
    "moments, ordered": Case({"range": "20 s", "slide": "5 s"}, (), FEW, progress=wr.ordered(), data="moments"),
}
"""What circuits do, and all engines alike."""
CONNECTED = ("sliding, side", "promises for groups, partials")
"""Cases for every engine: rows through the shuffle, and partials."""


def test_windows(engine: Engine) -> None:
    expected = check_each(engine, {name: case.query() for name, case in CASES.items()}, DATA, SIZE, CONNECTED)
    for name, found in expected.items():
        with named(name):
            assert CASES[name].has_late == (found.rows_late > 0)


def on_circuits(name: str) -> Query:
    query = ON_CIRCUITS[name].query()
    return query.strategy("wid") if name.endswith("strategy wid") else query


@same_on_connect
def test_windows_that_circuits_do(any_engine: Engine) -> None:
    expected = check_each(any_engine, {name: on_circuits(name) for name in ON_CIRCUITS}, DATA, SIZE)
    assert [] == [name for name, found in expected.items() if not found.rows_late]


NEVER = {
    **dict.fromkeys(CASES, r"`y` is a double column, and hardware computes with whole numbers only\."),
    "holes, empty windows, float keys": r"EMIT EMPTY is not available in hardware: ",
    "landmark, slack": r"landmark windows are not available in hardware: ",
    "session, side, slack": r"session windows are not available in hardware: ",
    "promises for groups, sessions revised": r"session windows are not available in hardware: ",
    "sliding, side": r"LATE SIDE is not available in hardware: ",
    "promises for groups": r"LATE SIDE is not available in hardware: ",
    "revised": r"LATE REVISE is not available in hardware: ",
    "revised, consistent, int keys": r"LATE REVISE is not available in hardware: ",
    "promises for groups, revised": r"LATE REVISE is not available in hardware: ",
    "complete, slack in rows": r"EMIT COMPLETE is not available in hardware: ",
    "promises for groups, partials": r"punctuations for single groups are not available in hardware: ",
    "partitions, side": r"LATE SIDE is not available in hardware: ",
    "partitions of which something is said": r"progress by partition is not available in hardware: ",
    "promises for groups, landmark": r"landmark windows are not available in hardware: ",
    "rows of a key in order of time": r"windows of rows are not available in hardware: ",
    "rows by arrival": r"windows of rows are not available in hardware: ",
    "every row closes a window of its key": r"slide-by-tuple windows are not available in hardware: ",
    "every third row by rank": r"slide-by-tuple windows are not available in hardware: ",
    "at end": r"`progress` must say how windows close in hardware: ",
}


@same_on_connect
@pytest.mark.parametrize("name", CASES)
def test_never_on_circuits(name: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"\A{NEVER[name]}"):
        hardware().run(CASES[name].query(), SIZE)
