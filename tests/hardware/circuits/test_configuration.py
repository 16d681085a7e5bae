"""Registers as data, and what cannot be set."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.hardware.circuits.comparing import assert_equal, configured
from tests.hardware.reference import Promise, Row, Stream, results, words
from windrow.errors import ConfigurationError
from windrow.hardware.circuits.configuration import registers_of, writes_for
from windrow.hardware.circuits.top import circuit_of
from windrow.hardware.design import (
    AggregateDesign,
    BitLayout,
    CircuitAlgorithm,
    CircuitPart,
    Field,
    Function,
    WindowQuery,
)
from windrow.hardware.simulate.simulation import Simulation, Simulator
from windrow.semantics.scalars.expressions import Call, Column, Literal

X = Column("x")
LAYOUT = BitLayout((Field("x", 5),))


def _above(bound: int) -> Call:
    return Call(">", (X, Literal(bound)))


QUERY = WindowQuery(8, 2, 2, (CircuitPart(Function.COUNT),), where=(_above(3),))
DESIGN = AggregateDesign(LAYOUT, (QUERY,), time_width=10, algorithm=CircuitAlgorithm.WID, configurable=True)
STREAM: Stream = [*(Row(time, {"x": time % 7}) for time in range(30)), Promise(last=True)]


def test_the_map_names_what_can_be_set() -> None:
    found = [(one.address, one.name, one.width, one.signed, one.value) for one in registers_of(DESIGN)]
    names = [(1, "range", 10, False, 8), (2, "slide", 10, False, 2), (3, "limit", 10, True, 2)]
    assert [*names, (4, "slides", 10, False, 4), (5, "rest", 10, False, 0), (6, "constant0", 6, True, 3)] == found


def test_without_writes_a_circuit_is_that_of_its_design() -> None:
    stream: Stream = [*(Row(time // 2, {"x": time % 7}) for time in range(7)), Promise(last=True)]
    assert_equal(Simulation(circuit_of(DESIGN), backend=Simulator.PYTHON), DESIGN, stream)


@pytest.mark.parametrize("algorithm", CircuitAlgorithm)
def test_range_slide_and_constants_are_set(algorithm: CircuitAlgorithm) -> None:
    design = replace(DESIGN, algorithm=algorithm)
    simulation = Simulation(circuit_of(design), backend=Simulator.PYTHON)
    stream = [one for row in STREAM[:-1] for one in (Promise(row.time), row)]
    for query in (replace(QUERY, range=6, slide=3, where=(_above(-2),)), replace(QUERY, range=5, slide=5, slack=0)):
        assert_equal(simulation, design, [*stream, Promise(last=True)], (query,))


def test_what_takes_more_modules_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"^`range` must not need more modules than the circuit has \(5\), got "
    ):
        writes_for(DESIGN, (replace(QUERY, range=12),))


def test_what_does_not_fit_its_register_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"^`constant0` must fit into the 6 bits of its register, got 99\. Hint"
    ):
        writes_for(DESIGN, (replace(QUERY, where=(_above(99),)),))


def test_a_circuit_can_be_set_again_after_its_end() -> None:
    """A start puts everything back, counters too: the second stream is answered as if it were the first."""
    simulation = Simulation(circuit_of(DESIGN), backend=Simulator.PYTHON)
    other = replace(QUERY, range=4, slide=4)
    stream: Stream = [Row(1, {"x": 5}), Promise(last=True)]
    once = simulation.run(words(DESIGN, stream), configure=configured(DESIGN, (other,)))
    assert [[(4, (), (1,))]] == results(DESIGN, once.results)
