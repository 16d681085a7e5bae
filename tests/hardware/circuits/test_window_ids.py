"""Window-ID against the brute force, for any range, slide, slack, stream and back-pressure."""

from __future__ import annotations

from random import Random

import pytest

from tests.hardware.circuits.comparing import (
    LAYOUT,
    NOT_SEVEN,
    PARTS,
    X,
    Y,
    assert_equal,
    random_pattern,
    random_query,
    random_stream,
)
from windrow.hardware.circuits.top import circuit_of
from windrow.hardware.design import AggregateDesign, CircuitAlgorithm, Merge, WindowQuery
from windrow.hardware.simulate.simulation import Simulation
from windrow.semantics.scalars.expressions import Call, Literal

WHERE = (Call("or", (Call(">", (X, Literal(-50))), Call("is_null", (Y,)))), NOT_SEVEN)
DESIGNS = {
    "counts": WindowQuery(14, 1, 2, PARTS[:1]),
    "all parts, strict": WindowQuery(2, 1, 2, PARTS, generous=False),
    "filters": WindowQuery(3, 1, 1, PARTS[2:4], where=WHERE),
    "groups": WindowQuery(2, 1, 1, PARTS[1:3], where=WHERE[1:], keys=("k",), groups=4),
}
"""Compiling takes longer for many windows, parts and groups, so no design has many of all; each is set to many ranges
and slides."""


def _compare(name: str, seeds: range) -> None:
    merge = {"groups": Merge.TREE, "filters": Merge.ENCODER}.get(name, Merge.ONE_HOT)
    design = AggregateDesign(
        LAYOUT, (DESIGNS[name],), time_width=14, algorithm=CircuitAlgorithm.WID, merge=merge, configurable=True
    )
    simulation = Simulation(circuit_of(design), soon=True)
    for seed in seeds:
        random = Random(f"{name} {seed}")
        query = random_query(random, DESIGNS[name], 14)
        stream = random_stream(random, design, query)
        patterns = {"offers": random_pattern(random), "ready": random_pattern(random)}
        assert_equal(simulation, design, stream, (query,), **patterns)


@pytest.mark.parametrize("name", DESIGNS)
def test_every_configuration_equals_the_brute_force(name: str) -> None:
    _compare(name, range(45))


@pytest.mark.soak
@pytest.mark.parametrize("name", DESIGNS)
def test_very_many_configurations_equal_the_brute_force(name: str) -> None:
    _compare(name, range(75, 2575))
