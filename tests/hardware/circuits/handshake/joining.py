"""Streams of two sides for an array, what it gave, and what it should have given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.semantics.join_definitions import three_step
from windrow.hardware.circuits.handshake.array import HandshakeArray
from windrow.hardware.design import BitLayout, Field, JoinDesign
from windrow.hardware.packing import Words
from windrow.hardware.simulate.interpreted import from_integers, to_integers
from windrow.hardware.simulate.simulation import Simulation, Simulator
from windrow.hardware.simulate.trace import Trace
from windrow.semantics.joins import LEFT, RIGHT, JoinKind, LastRows
from windrow.semantics.scalars.evaluate import evaluate
from windrow.semantics.scalars.expressions import Call, Column, Literal

Row = dict[str, Any]
Arrived = Sequence[tuple[int, Row]]
"""Sides and rows, in order of arrival."""
Pairs = Counter[tuple[Any, ...]]

LEFTS = BitLayout((Field("a", 5), Field("n", 8, signed=False)))
RIGHTS = BitLayout((Field("b", 4, nullable=True), Field("k", 9, signed=False)))
EQUAL = Call("=", (Column("a"), Column("b")))
BAND = Call("<=", (Call("-", (Column("a"), Column("b"))), Literal(1)))
PREDICATES = {
    "equal": EQUAL,
    "band": BAND,
    "always": None,
    "never": Call("<", (Column("n"), Literal(0))),
    "of one side": Call("is_null", (Column("b"),)),
    "mixed": Call("or", (BAND, Call("<", (Call("*", (Column("a"), Column("b"))), Column("n"))))),
}


def joined(design: JoinDesign, arrived: Arrived) -> Pairs:
    """By definition: the three steps for each row."""

    def holds(left: Row, right: Row) -> bool | None:
        return True if design.predicate is None else evaluate(design.predicate, {**left, **right})

    pairs = three_step(arrived, LastRows(design.left_rows, design.right_rows), JoinKind.INNER, holds)
    return Counter((*(left or {}).values(), *(right or {}).values()) for left, right in pairs)


def simulated(design: JoinDesign, backend: Simulator = Simulator.PYTHON) -> Simulation:
    return Simulation(HandshakeArray(design), backend=backend, soon=True)


def fed(simulation: Simulation, design: JoinDesign, arrived: Arrived, **patterns: Any) -> tuple[Trace, Pairs]:
    """All rows and the end through the array; pairs by what they hold, and how often."""
    trace = simulation.run(words(design, arrived), **patterns)
    results = to_integers(trace.results)
    assert not any(result & 1 for result in results[:-1]), "done is the last result"
    left, right = max(design.left.bits, 1), max(design.right.bits, 1)
    halves = [(result >> 1 & (1 << left) - 1, result >> 1 + left & (1 << right) - 1) for result in results[:-1]]
    return trace, Counter((*_values(design.left, one), *_values(design.right, other)) for one, other in halves)


def words(design: JoinDesign, arrived: Arrived) -> Words:
    """The stream as the input of the circuit has it, with its end."""
    layouts = {LEFT: design.left, RIGHT: design.right}
    numbers = [(side << 1) | (_packed(layouts[side], row) << 2) for side, row in arrived]
    return from_integers([*numbers, 1], 2 + max(1, design.left.bits, design.right.bits))


def random_rows(random: Random, rows: int, *, right: float = 0.5, run: float = 1) -> Arrived:
    """Rows with numbers of their own, so that no two pairs are alike; sides come in runs of about so many rows."""
    arrived: list[tuple[int, Row]] = []
    side = RIGHT
    for number in range(rows):
        if random.random() < 1 / run:
            side = RIGHT if random.random() < right else LEFT
        if side == LEFT:
            arrived.append((LEFT, {"a": random.randint(-8, 7), "n": number % 256}))
        else:
            value = None if random.random() < 0.1 else random.randint(-8, 7)
            arrived.append((RIGHT, {"b": value, "k": number % 512}))
    return arrived


def random_pattern(random: Random, share: float) -> list[int]:
    """Cycles in which something is offered or read."""
    return [1, *(int(random.random() < share) for _ in range(random.randint(20, 90)))]


def _packed(layout: BitLayout, row: Row) -> int:
    number = 0
    for one in layout.fields:
        value = row[one.name]
        bits = (1 << one.width) if value is None else value & (1 << one.width) - 1
        number |= bits << layout.offsets[one.name]
    return number


def _values(layout: BitLayout, number: int) -> list[int | None]:
    found: list[int | None] = []
    for one in layout.fields:
        bits = number >> layout.offsets[one.name]
        value = bits & (1 << one.width) - 1
        is_negative = one.signed and value >> one.width - 1
        is_null = one.nullable and bits >> one.width & 1
        found.append(None if is_null else value - (1 << one.width) if is_negative else value)
    return found
