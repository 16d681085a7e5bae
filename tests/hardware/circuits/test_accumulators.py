"""The algebra of states: rows in any order and grouping give what the aggregates mean; what does not fit is seen."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.sim import Simulator

from tests.hardware.reference import packed, unpacked
from windrow.hardware.circuits.accumulators import Accumulators
from windrow.hardware.design import BitLayout, CircuitPart, Field, Function, WindowQuery
from windrow.semantics.scalars.expressions import Call, Column

LAYOUT = BitLayout((Field("x", 4), Field("y", 4, signed=False, nullable=True)))
X, Y = Column("x"), Column("y")
PARTS = (
    CircuitPart(Function.COUNT),
    CircuitPart(Function.COUNT, Y),
    CircuitPart(Function.SUM, Y, 36),
    CircuitPart(Function.SUM, Call("*", (X, Y)), 41, signed=True),
    CircuitPart(Function.MIN, X, 4, signed=True),
    CircuitPart(Function.MAX, Y, 4),
    CircuitPart(Function.MIN, Y, 9),
)


class _Bench:
    """Folds rows into a state in either order, and gives the result and whether something did not fit."""

    def __init__(self, parts: tuple[CircuitPart, ...]) -> None:
        self.parts, self.algebra = parts, Accumulators(parts, LAYOUT)

    def fold(self, rows: list[dict[str, Any]], *, left: bool) -> tuple[tuple[Any, ...], bool]:
        algebra, m = self.algebra, Module()
        row, state, missed = Signal(LAYOUT.bits), Signal(algebra.state, init=algebra.neutral), Signal()
        arguments = Signal(algebra.arguments)
        lifted = Signal(algebra.state)
        m.d.comb += [arguments.eq(algebra.evaluate(row)), lifted.eq(algebra.lift(arguments))]
        combined = algebra.combine(state, lifted) if left else algebra.combine(lifted, state)
        m.d.sync += [state.eq(combined.state), missed.eq(missed | combined.overflow | ~algebra.fits(arguments))]
        result = Signal(len(Value.cast(algebra.results(state))))
        m.d.comb += result.eq(algebra.results(state))
        found: list[Any] = []

        async def feed(context: Any) -> None:
            for values in rows:
                context.set(row, packed(LAYOUT, values))
                await context.tick()
            found.extend([context.get(result), bool(context.get(missed)), context.get(state.nonempty)])

        simulator = Simulator(m)
        simulator.add_clock(1e-6)
        simulator.add_testbench(feed)
        simulator.run()
        assert bool(rows) == bool(found[2])
        return unpacked(WindowQuery(1, 1, 0, self.parts).results, found[0]), found[1]


@pytest.mark.parametrize("number", [0, 1, 2, 30])
def test_rows_in_any_order_give_what_the_aggregates_mean(number: int) -> None:
    random, bench = Random(number), _Bench(PARTS)
    rows = [{"x": random.randrange(-8, 8), "y": random.choice([None, *range(16)])} for _ in range(number)]
    known = [row["y"] for row in rows if row["y"] is not None]
    products = [row["x"] * row["y"] for row in rows if row["y"] is not None]
    sums = (sum(known), sum(products)) if known else (None, None)
    least = min((row["x"] for row in rows), default=None)
    truth = (number, len(known), *sums, least, max(known, default=None), min(known, default=None))
    assert (truth, False) == bench.fold(rows, left=True) == bench.fold(rows[::-1], left=False)


def test_a_sum_that_does_not_fit_is_seen() -> None:
    bench = _Bench((CircuitPart(Function.SUM, X, 5, signed=True),))
    assert ((14,), False) == bench.fold([{"x": 7, "y": 0}] * 2, left=True)
    assert ((-11,), True) == bench.fold([{"x": 7, "y": 0}] * 3, left=True)
    assert ((-16,), False) == bench.fold([{"x": -8, "y": 0}] * 2, left=True)
    assert ((8,), True) == bench.fold([{"x": -8, "y": 0}] * 3, left=True)


def test_a_value_that_does_not_fit_is_seen() -> None:
    bench = _Bench((CircuitPart(Function.MAX, X, 3, signed=True),))
    assert ((3,), False) == bench.fold([{"x": 3, "y": 0}], left=True)
    assert bench.fold([{"x": 4, "y": 0}], left=True)[1]
    assert _Bench((CircuitPart(Function.MAX, X, 4),)).fold([{"x": -1, "y": 0}], left=True)[1]


def test_only_sums_that_are_too_narrow_for_all_rows_of_a_window_can_overflow() -> None:
    algebra = Accumulators(PARTS, LAYOUT)
    assert [False] * len(PARTS) == [algebra.can_overflow(part) for part in PARTS]
    narrow = (
        CircuitPart(Function.COUNT, width=31),
        CircuitPart(Function.SUM, Y, 35),
        CircuitPart(Function.SUM, Call("*", (X, Y)), 39, True),
    )
    assert [True] * 3 == [algebra.can_overflow(part) for part in narrow]
