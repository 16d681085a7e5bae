"""The pane paper's pipeline: right in its regime, and each of the places where it loses or corrupts results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.hardware.circuits.panes.stepping import X, run
from windrow.hardware.circuits.panes.literal import LiteralPanes
from windrow.hardware.design import (
    AggregateDesign,
    BitLayout,
    CircuitPart,
    Field,
    Function,
    Merge,
    Variant,
    WindowQuery,
)

LAYOUT = BitLayout((Field("x", 8),))
PARTS = (CircuitPart(Function.COUNT, None, 16), CircuitPart(Function.MAX, X, 8, signed=True))


@dataclass(frozen=True)
class Given:
    """A result and the cycle in which it came."""

    cycle: int
    end: int
    count: int
    greatest: int


Events = list[tuple[str, int]]
"""Cycle by cycle: a row at a time, a punctuation, both, or nothing."""


def given(query: WindowQuery, events: Events, *, after: int = 60) -> list[Given]:
    """What the circuit gives; the value of a row is its time, as far as it has room."""
    design = AggregateDesign(LAYOUT, (query,), time_width=16, variant=Variant.LITERAL, merge=Merge.ENCODER)
    circuit, found = LiteralPanes(design, query), []

    async def bench(ctx: Any) -> None:
        for cycle, (kind, time) in enumerate([*events, *[("nothing", 0)] * after]):
            ctx.set(circuit.row, kind in ("row", "both"))
            ctx.set(circuit.punctuation, kind in ("punctuation", "both"))
            ctx.set(circuit.time, time)
            ctx.set(circuit.arguments, {"known1": 1, "value1": time % 100})
            await ctx.tick()
            if ctx.get(circuit.result):
                parts = ctx.get(circuit.parts)
                greatest = parts >> 16 & 0xFF
                found.append(Given(cycle + 1, ctx.get(circuit.end), parts & 0xFFFF, greatest - (greatest >> 7 << 8)))

    run(circuit, bench)
    return found


def events_of(query: WindowQuery, rows: list[int], *, every: int = 1, pause: int = 0) -> Events:
    """Rows in order of time; a punctuation for `every` so many panes before the first row that may not be before it.

    After a punctuation nothing comes for `pause` cycles.
    """
    events, step = Events(), query.pane * every
    promised = step
    for time in rows:
        while time >= promised + query.slack:
            events += [("punctuation", promised), *[("nothing", 0)] * pause]
            promised += step
        events.append(("row", time))
    return events


def counts(query: WindowQuery, rows: list[int], ends: list[int]) -> list[tuple[int, int]]:
    return [(end, sum(end - query.range <= time < end for time in rows)) for end in ends]


def pairs(results: list[Given]) -> list[tuple[int, int]]:
    return [(one.end, one.count) for one in results]


def query_of(length: int, slide: int, slack: int = 0) -> WindowQuery:
    return WindowQuery(length, slide, slack, PARTS)


def closed(query: WindowQuery, events: Events) -> list[int]:
    """Ends of whole windows up to the last punctuation."""
    last = max((time for kind, time in events if kind == "punctuation"), default=0)
    return list(range(query.range, last + 1, query.slide))


@pytest.mark.parametrize("panes", [3, 4, 8])
def test_in_its_regime_it_is_right_after_seven_cycles(panes: int) -> None:
    query, rows = query_of(10 * panes, 10, 10), list(range(200))
    events = events_of(query, rows)
    results = given(query, events)
    assert counts(query, rows, closed(query, events)) == pairs(results)
    due = {time: cycle for cycle, (kind, time) in enumerate(events) if kind == "punctuation"}
    assert {7} == {one.cycle - due[one.end] for one in results}
    assert [(one.end - 1) % 100 for one in results if one.end % 100 > 10 * panes] == [
        one.greatest for one in results if one.end % 100 > 10 * panes
    ]


def test_of_several_panes_on_one_punctuation_one_is_left_and_windows_over_the_others_are_wrong() -> None:
    query, rows = query_of(30, 10, 20), [*range(100), *range(130, 300)]
    events = events_of(query, rows)
    merged = [one for one in events if one[0] == "row" or one[1] not in (90, 100)]
    right, results = counts(query, rows, closed(query, events)), pairs(given(query, merged))
    assert right == pairs(given(query, events))
    assert len(right) - 2 == len(results)
    assert set(results) - set(right), "wrong ones, and nothing that says so"


def test_a_punctuation_far_ahead_leaves_modules_behind_that_reject_rows() -> None:
    query, rows = query_of(30, 10, 10), [*range(50), *range(200, 300)]
    events = [*(("row", time) for time in rows[:50]), ("punctuation", 190), *(("row", time) for time in rows[50:])]
    results = given(query, [*events, ("punctuation", 290)], after=100)
    assert 30 not in [one.count for one in results if one.end > 200]


def test_windows_of_two_panes_lack_the_one_they_share() -> None:
    query, rows = query_of(20, 10), list(range(100))
    events = events_of(query, rows)
    assert [(20, 20), *((end, 10) for end in closed(query, events)[1:])] == pairs(given(query, events))


def test_windows_of_one_pane_run_free() -> None:
    query, rows = query_of(10, 10), list(range(100))
    events = events_of(query, rows)
    assert len(closed(query, events)) == 9
    assert len(given(query, events)) > 90


def test_a_slide_of_two_panes_gives_a_window_for_each_pane() -> None:
    query, rows = query_of(60, 40), list(range(340))
    events = events_of(query, rows)
    results = given(query, events)
    assert len(closed(query, events)) == 7
    assert len(results) > 12


@pytest.mark.parametrize(("apart", "right"), [(8, True), (7, False), (3, False)])
def test_panes_must_close_as_many_cycles_apart_as_a_window_has_panes(apart: int, right: bool) -> None:
    query = query_of(80, 10)
    rows = list(range(0, 1000, 10))
    events = events_of(query, rows, pause=apart - 2)
    results = pairs(given(query, events, after=200))
    assert right == (counts(query, rows, closed(query, events)) == results)


def test_a_burst_of_panes_laps_the_reader() -> None:
    """The memory has 16 words, and that the writer is one round ahead looks as if it were not."""
    query, rows = query_of(80, 10), list(range(0, 600, 10))
    events = events_of(query, rows)
    results = pairs(given(query, events, after=800))
    assert len(results) < len(closed(query, events))


def test_a_window_without_rows_looks_like_one_of_least_values() -> None:
    query = query_of(30, 10)
    events = [("row", 5), *(("punctuation", end) for end in (10, 20, 30)), *[("nothing", 0)] * 4]
    events += [step for end in (40, 50, 60) for step in (("punctuation", end), *[("nothing", 0)] * 4)]
    assert [(30, 1, 5), (40, 0, -128), (50, 0, -128), (60, 0, -128)] == [
        (one.end, one.count, one.greatest) for one in given(query, events)
    ]


def test_late_and_early_rows_vanish_and_so_does_one_beside_a_punctuation() -> None:
    query = query_of(30, 10, 10)
    ends = [("punctuation", 20), *[("nothing", 0)] * 4, ("punctuation", 30)]
    base = [("row", 1), ("punctuation", 10), *[("nothing", 0)] * 4]
    assert [(30, 1)] == pairs(given(query, [*base, ("row", 2), *ends]))
    assert [(30, 1)] == pairs(given(query, [*base, ("row", 35), *ends]))
    assert [(30, 2)] == pairs(given(query, [*base, ("row", 12), *ends]))
    assert [(30, 1)] == pairs(given(query, [("row", 1), ("both", 10), *[("nothing", 0)] * 4, *ends]))
