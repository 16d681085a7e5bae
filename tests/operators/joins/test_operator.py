"""OA-Join equals the definition: kinds, windows, predicates, disorder, late rows, batch cuts, restores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.joins.cases import (
    NAMES,
    STREAMS,
    Arrival,
    Driven,
    answered,
    arrivals,
    batch_of,
    by_definition,
    in_time,
    operator_of,
    plans,
    row_windows,
)
from windrow.plan.nodes import Join, JoinTime, Late
from windrow.semantics.joins import LEFT, RIGHT, Between, JoinKind, LastRows
from windrow.semantics.progress.policies import END, START, Punctuation


def pieces(arrived: list[Arrival], cuts: list[bool]) -> Iterator[tuple[int, Any]]:
    """Rows of one side that come one after the other, together unless there is a cut between them."""
    waiting: list[dict[str, Any]] = []
    side = LEFT
    for place, (one, element) in enumerate(arrived):
        if waiting and (one != side or isinstance(element, Punctuation) or cuts[place % len(cuts)]):
            yield side, waiting
            waiting = []
        side = one
        if isinstance(element, Punctuation):
            yield side, element
        else:
            waiting.append(element)
    if waiting:
        yield side, waiting


def driven(plan: Join, arrived: list[Arrival], cuts: list[bool], saves: list[bool], masks: list[bool]) -> Driven:
    return driven_by(Driven(plan, lambda: operator_of(plan)), arrived, cuts, saves, masks)


def driven_by(run: Driven, arrived: list[Arrival], cuts: list[bool], saves: list[bool], masks: list[bool]) -> Driven:
    ends: list[Arrival] = [(LEFT, Punctuation(END)), (RIGHT, Punctuation(END))]
    junk = {"ts": 3, "k": "a", "g": 1, "x": 1, "y": 1.0}
    for place, (side, piece) in enumerate(pieces([*arrived, *ends], cuts)):
        if isinstance(piece, Punctuation):
            run.take(run.operator.punctuate(piece, side))
        else:
            run.take(run.operator.process(batch_of(piece, side, [junk] * masks[place % len(masks)]), side))
        if saves[place % len(saves)]:
            run.again()
    return run


FLAGS = st.lists(st.booleans(), min_size=1, max_size=7)


@given(plans(), arrivals(), FLAGS, FLAGS, FLAGS)
def test_time_windows_join_what_they_mean(
    plan: Join, arrived: list[Arrival], cuts: list[bool], saves: list[bool], masks: list[bool]
) -> None:
    run = driven(plan, arrived, cuts, saves, masks)
    assert answered(run.results) == answered(by_definition(plan, arrived))
    assert run.operator.counters.results == len(run.results)
    _, late = in_time(arrived)
    assert run.operator.counters.late == len(late) == sum(run.operator.late)
    assert run.operator.counters.rows_in == sum(isinstance(row, dict) for _, row in arrived)
    assert len(run.late) == (len(late) if plan.late is Late.SIDE else 0)
    assert run.operator.stored_rows == 0
    assert run.promises[-1] == END


@given(plans(row_windows()), arrivals(), FLAGS, FLAGS, FLAGS)
def test_windows_of_rows_join_by_arrival(
    plan: Join, arrived: list[Arrival], cuts: list[bool], saves: list[bool], masks: list[bool]
) -> None:
    run = driven(plan, arrived, cuts, saves, masks)
    assert answered(run.results) == answered(by_definition(plan, arrived))
    assert run.operator.counters.late == 0
    assert run.promises[-1] == END


def promised(plan: Join, bounds: tuple[int, int]) -> int:
    """What can be promised, by the formulas."""
    assert not isinstance(plan.window, LastRows)
    left = min(bounds[0], START if bounds[1] == START else plan.window.left_of(bounds[1])[0])
    right = min(bounds[1], START if bounds[0] == START else plan.window.right_of(bounds[0])[0])
    if plan.time is JoinTime.LEFT:
        return left
    if plan.time is JoinTime.RIGHT:
        return right
    if plan.time is JoinTime.EARLIER:
        return min(left, right)
    pairs = max(min(bounds), left, right)
    limits = {JoinKind.LEFT: (left,), JoinKind.RIGHT: (right,), JoinKind.FULL: (left, right)}.get(plan.kind, ())
    return min(pairs, *limits) if limits else pairs


@given(plans(), st.lists(st.tuples(st.sampled_from((LEFT, RIGHT)), st.integers(0, 30)), max_size=12))
def test_promises_are_as_high_as_they_can_be(plan: Join, advances: list[tuple[int, int]]) -> None:
    run, bounds = Driven(plan, lambda: operator_of(plan)), [START, START]
    for side, advance in advances:
        bounds[side] = max(bounds[side], 0) + advance
        run.take(run.operator.punctuate(Punctuation(bounds[side]), side))
        assert max(run.promises, default=START) == promised(plan, (bounds[0], bounds[1]))


@pytest.mark.parametrize("side", [LEFT, RIGHT])
def test_a_late_row_says_how_late_it_was_and_from_where(side: int) -> None:
    plan = Join(*STREAMS, JoinKind.INNER, Between(-1, 1), None, NAMES, ("l", "r"), late=Late.SIDE)
    run = Driven(plan, lambda: operator_of(plan))
    run.take(run.operator.punctuate(Punctuation(10), side))
    run.take(run.operator.process(batch_of([{"ts": 7, "k": "a", "g": 1, "x": 2, "y": None}], side), side))
    (row,) = run.late
    own, other = "lr"[side], "rl"[side]
    assert (row[f"{own}_ts"], row[f"{own}_k"], row[f"{other}_ts"], row[f"{other}_k"]) == (7, "a", None, None)
    assert (row["late_by"], row["late_windows"], row["late_source"]) == (3, None, ("one", "two")[side])


def test_by_arrival_nothing_is_promised_that_a_row_behind_its_side_would_break() -> None:
    plan = Join(*STREAMS, JoinKind.INNER, LastRows(1, 1), None, NAMES, ("l", "r"), JoinTime.LEFT)
    run = Driven(plan, lambda: operator_of(plan))
    row = {"k": "a", "g": 1, "x": 1, "y": 1.0}
    for side in (LEFT, RIGHT):
        run.take(run.operator.process(batch_of([{**row, "ts": 100}], side, []), side))
        run.take(run.operator.punctuate(Punctuation(100), side))
    assert run.promises == []
    run.take(run.operator.process(batch_of([{**row, "ts": 50}], LEFT, []), LEFT))
    assert len(run.results) == 2
