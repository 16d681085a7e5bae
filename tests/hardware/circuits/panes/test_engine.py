"""Panes against the brute force, for any range, slide, slack, stream and back-pressure, in the whole circuit."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.hardware.circuits.comparing import assert_equal, random_pattern, random_stream
from windrow.hardware.circuits.top import circuit_of
from windrow.hardware.design import (
    AggregateDesign,
    BitLayout,
    CircuitAlgorithm,
    CircuitPart,
    Field,
    Function,
    WindowLevel,
    WindowQuery,
)
from windrow.hardware.simulate.simulation import Simulation
from windrow.semantics.scalars.expressions import Call, Column, Literal

X, Y = Column("x"), Column("y")
LAYOUT = BitLayout(
    (Field("x", 9), Field("y", 6, signed=False, nullable=True), Field("k", 2, signed=False, nullable=True))
)
ALL = (
    CircuitPart(Function.COUNT),
    CircuitPart(Function.COUNT, Y),
    CircuitPart(Function.SUM, Call("*", (X, Y)), 50, signed=True),
    CircuitPart(Function.MIN, Y, 6),
    CircuitPart(Function.MAX, Call("-", (X, Y)), 12, signed=True),
)
SEEDS = 40
WHERE = (Call("<>", (Y, Literal(7))),)
QUERIES = {
    "strict": WindowQuery(20, 1, 4, ALL, generous=False),
    "generous": WindowQuery(20, 1, 4, ALL),
    "groups": WindowQuery(20, 1, 4, ALL[2:4], where=WHERE, keys=("k",), groups=3),
}
LEVELS = [("strict", WindowLevel.SCAN), ("generous", WindowLevel.INCREMENTAL), ("groups", WindowLevel.INCREMENTAL)]
"""Each is a circuit to compile."""


def design_of(query: WindowQuery, level: WindowLevel, **more: Any) -> AggregateDesign:
    return AggregateDesign(
        LAYOUT, (query,), time_width=14, algorithm=CircuitAlgorithm.PANES, window_level=level, **more
    )


@pytest.mark.parametrize(("name", "level"), LEVELS)
def test_every_configuration_equals_the_brute_force(name: str, level: WindowLevel) -> None:
    """Windows of up to 49 panes: shorter and longer than stacks can hold."""
    largest = QUERIES[name]
    design = design_of(largest, level, configurable=True)
    simulation = Simulation(circuit_of(design))
    for seed in range(SEEDS):
        random = Random(f"{name} {seed}")
        query = random_query(random, largest)
        stream = random_stream(random, design, query, rows=120)
        patterns = {"offers": random_pattern(random), "ready": random_pattern(random)}
        assert_equal(simulation, design, stream, (query,), **patterns)


def random_query(random: Random, largest: WindowQuery) -> WindowQuery:
    """Another range, slide and slack that there is room for."""
    while True:
        unit, most = random.choice([1, 2, 5]), random.choice([3, 14, 40])
        length, slide = random.randint(1, most) * unit, random.randint(1, most) * unit
        slack = random.choice([0, random.randint(0, 2 * slide)])
        query = replace(largest, range=length, slide=slide, slack=slack)
        if query.window_modules <= largest.window_modules and query.open_slides <= largest.open_slides:
            return query
