"""Panes against the brute force, for any range, slide, slack, stream and back-pressure, in the whole circuit."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.hardware.circuits.comparing import LAYOUT, NOT_SEVEN, PARTS, assert_equal, random_pattern, random_stream
from windrow.hardware.circuits.top import circuit_of
from windrow.hardware.design import AggregateDesign, CircuitAlgorithm, WindowLevel, WindowQuery
from windrow.hardware.simulate.simulation import Simulation

SEEDS = 40
QUERIES = {
    "strict": WindowQuery(20, 1, 4, PARTS, generous=False),
    "generous": WindowQuery(20, 1, 4, PARTS),
    "groups": WindowQuery(20, 1, 4, PARTS[2:4], where=(NOT_SEVEN,), keys=("k",), groups=3),
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
    simulation = Simulation(circuit_of(design), soon=True)
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
