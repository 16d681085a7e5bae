"""What is proved of the circuits, each for small parameters and a stated number of elements and cycles.

A claim takes the circuits themselves, so that a test can hand in one that is broken.
"""

from __future__ import annotations

from amaranth.lib import wiring

from windrow.hardware.design import AggregateDesign, JoinDesign
from windrow.hardware.formal.bounded import Proof, prove
from windrow.hardware.formal.meetings import Meetings
from windrow.hardware.formal.race import Race, Racer, promised_order
from windrow.hardware.tools import Progress

MINUTES = 60.0


def same_results(
    first: wiring.Component,
    second: wiring.Component,
    design: AggregateDesign,
    *,
    elements: int,
    cycles: int,
    behind: int | None = None,
    timeout: float = 30 * MINUTES,
    progress: Progress | None = None,
) -> Proof:
    """For every stream of so many elements, the last of which ends it, both circuits give the same results in time.

    In time: both are done before `cycles` are over. Rows lie up to the slack after the last promise, and up to `behind`
    before it (a quarter of all times where nothing is said).
    """
    query = design.queries[0]
    quarter = 1 << design.time_width - 2
    rule = promised_order(ahead=query.slack + 1, behind=quarter if behind is None else behind)
    race = Race(
        Racer(first), Racer(second), elements=elements, results=_room(design, elements), last=cycles - 1, rule=rule
    )
    claim = f"the same results for every stream of {elements} elements"
    return prove(race, claim, cycles=cycles, timeout=timeout, progress=progress)


def nothing_lost(
    patient: wiring.Component,
    pressed: wiring.Component,
    design: AggregateDesign,
    *,
    elements: int,
    cycles: int,
    behind: int | None = None,
    timeout: float = 30 * MINUTES,
    progress: Progress | None = None,
) -> Proof:
    """Whatever the gaps in the input and whenever its reader is ready, `pressed` gives what `patient` gives without."""
    query = design.queries[0]
    quarter = 1 << design.time_width - 2
    rule = promised_order(ahead=query.slack + 1, behind=quarter if behind is None else behind)
    runners = Racer(patient), Racer(pressed, waits=True)
    race = Race(*runners, elements=elements, results=_room(design, elements), last=cycles - 1, rule=rule)
    claim = f"no result lost or changed by gaps and back-pressure, for every stream of {elements} elements"
    return prove(race, claim, cycles=cycles, timeout=timeout, progress=progress)


def meets_once(
    array: wiring.Component,
    design: JoinDesign,
    *,
    rows: int,
    cycles: int,
    waits: bool = False,
    timeout: float = 30 * MINUTES,
    progress: Progress | None = None,
) -> Proof:
    """For every order of `rows` rows of both sides, each pair of rows that are in both windows at once meets once.

    The design has no predicate and room for the number of a row in its layouts.
    """
    meetings = Meetings(
        array, rows=rows, left_rows=design.left_rows, right_rows=design.right_rows, last=cycles - 1, waits=waits
    )
    claim = f"each pair meets exactly once, for every order of {rows} rows"
    return prove(meetings, claim, cycles=cycles, timeout=timeout, progress=progress)


def _room(design: AggregateDesign, elements: int) -> int:
    """Results that so many elements can have: each row is in some windows; one more says that it is done."""
    query = design.queries[0]
    return (elements - 1) * -(-query.range // query.slide) + 2
