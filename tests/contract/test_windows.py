"""Every kind of window, with emit modes, late policies, keys and progress, on every engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

import windrow as wr
from tests.contract.engines import Engine, check, same_on_connect
from tests.contract.streams import ALL, BOUNDED, SCHEMA, SIZE, TIMED, punctuated, punctuated_by_group, rows, timed
from windrow.functions import AggregateSpec
from windrow.semantics.progress import Policy

PER_K = wr.punctuated(per="k")
HUGE, NEGATIVE = 1 << 50, -(1 << 50) - 7


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
    elements: list[Any] = field(default_factory=lambda: punctuated(1, 0))
    has_late: bool = True

    def query(self) -> wr.Query:
        schema = SCHEMA if isinstance(self.elements[0]["ts"], int) else TIMED
        stream = wr.stream(self.elements, time="ts", schema=schema, progress=self.progress, name="s")
        policy, within = self.late
        windows = stream.group_by(*self.keys).window(**self.window)
        return windows.emit(self.emit).late(policy, within=within).lateness(self.lateness).agg(**self.aggregates)


CASES = {
    "tumbling over all": Case({"range": 15}, (), BOUNDED),
    "sliding, side": Case({"range": 30, "slide": 10}, late=("side", None), elements=punctuated(2, HUGE)),
    "uneven, consistent": Case(
        {"range": 25, "slide": 10, "origin": 3},
        ("k", "g"),
        BOUNDED,
        lateness="consistent",
        elements=punctuated(3, NEGATIVE),
    ),
    "holes, empty windows, float keys": Case(
        {"range": 7, "slide": 11}, ("y",), emit="empty", late=("side", None), lateness="consistent"
    ),
    "landmark, slack": Case(
        {"range": "unbounded", "slide": 20}, ("g",), BOUNDED, progress=wr.slack(10), elements=rows(4, NEGATIVE)
    ),
    "session, side, slack": Case({"gap": 6}, late=("side", None), progress=wr.slack(20), elements=rows(5, HUGE)),
    "revised": Case({"range": 20, "slide": 10}, late=("revise", 30), elements=punctuated(6, 0)),
    "revised, consistent, int keys": Case(
        {"range": 20, "slide": 10}, ("g",), BOUNDED, late=("revise", None), lateness="consistent"
    ),
    "complete, slack in rows": Case(
        {"range": 30, "slide": 15}, ("k",), BOUNDED, emit="complete", progress=wr.slack("9 rows"), elements=rows(7, -50)
    ),
    "moments, ordered": Case(
        {"range": "20 s", "slide": "5 s"}, ("at", "k"), BOUNDED, progress=wr.ordered(), elements=timed(rows(8, -60))
    ),
    "promises for groups": Case(
        {"range": 30, "slide": 10}, late=("side", None), progress=PER_K, elements=punctuated_by_group(10, 0)
    ),
    "promises for groups, partials": Case(
        {"range": 20, "slide": 10}, ("k",), BOUNDED, progress=PER_K, elements=punctuated_by_group(11, HUGE)
    ),
    "promises for groups, landmark": Case(
        {"range": "unbounded", "slide": 20}, ("k",), BOUNDED, progress=PER_K, elements=punctuated_by_group(12, -70)
    ),
    "promises for groups, sessions revised": Case(
        {"gap": 7}, ("k",), BOUNDED, late=("revise", 12), progress=PER_K, elements=punctuated_by_group(15, 0)
    ),
    "promises for groups, revised": Case(
        {"range": 20, "slide": 10}, ("k",), late=("revise", 30), progress=PER_K, elements=punctuated_by_group(16, 0)
    ),
    "rows of a key in order of time": Case(
        {"rows": 5, "slide": "2 rows", "partition": "k", "order_by": "ts"}, ("k", "g"), late=("side", None)
    ),
    "rows by arrival": Case({"rows": 9, "slide": "4 rows"}, ("k",), BOUNDED, elements=rows(13, 0), has_late=False),
    "every row closes a window of its key": Case(
        {"range": 25, "slide": "1 row", "partition": "k"}, ("k",), late=("side", None), elements=punctuated(14, HUGE)
    ),
    "every third row by rank": Case(
        {"range": 25, "slide": "3 rows", "by": "rank"}, ("g",), BOUNDED, lateness="consistent"
    ),
    "at end": Case({"range": 30, "slide": 7}, progress=wr.at_end(), elements=rows(9, 0), has_late=False),
}


CONNECTED = ("sliding, side", "promises for groups, partials")
"""Cases for every engine: rows through the shuffle, and partials."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in CONNECTED else same_on_connect) for name in CASES]
)
def test_windows(engine: Engine, name: str) -> None:
    case = CASES[name]
    expected = check(engine, case.query(), {"s": case.elements}, SIZE)
    assert case.has_late == (expected.rows_late > 0)
