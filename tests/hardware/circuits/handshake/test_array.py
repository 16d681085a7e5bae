"""The array gives the pairs of the three steps, each once, whatever the windows, the cores and the pace."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, cast

import pytest
from amaranth.hdl import Fragment

from tests.hardware.circuits.handshake.joining import (
    EQUAL,
    LEFTS,
    PREDICATES,
    RIGHTS,
    fed,
    joined,
    random_pattern,
    random_rows,
    simulated,
)
from windrow.errors import ConfigurationError
from windrow.hardware.circuits.handshake import core
from windrow.hardware.circuits.handshake.array import HandshakeArray
from windrow.hardware.design import BitLayout, JoinDesign
from windrow.hardware.simulate.simulation import Simulator
from windrow.hardware.simulate.trace import Ended
from windrow.hardware.tools import cxx_compiler
from windrow.semantics.joins import LEFT, RIGHT

DESIGN = JoinDesign(LEFTS, RIGHTS, EQUAL, 6, 6, 3, result_depth=8)


@pytest.mark.parametrize("seed", range(18))
def test_any_windows_cores_predicate_and_pace(seed: int) -> None:
    random = Random(seed)
    predicate = list(PREDICATES.values())[seed % len(PREDICATES)]
    design = JoinDesign(
        LEFTS,
        RIGHTS,
        predicate,
        random.randint(1, 13),
        random.randint(1, 13),
        random.randint(1, 8),
        result_depth=random.choice([1, 8, 16]),
    )
    arrived = random_rows(random, 60, right=random.choice([0.1, 0.5, 0.8]), run=random.choice([1, 1, 12]))
    offers, ready = (random_pattern(random, random.choice([0.2, 0.7, 1])) for _ in range(2))
    trace, pairs = fed(simulated(design), design, arrived, offers=offers, ready=ready)
    assert Ended.DONE is trace.ended
    assert joined(design, arrived) == pairs
    assert trace.counters["lost"] == 0


@pytest.mark.parametrize("cores", [1, 2, 3, 5, 8])
def test_windows_larger_than_what_has_come(cores: int) -> None:
    design = replace(DESIGN, predicate=None, left_rows=50, right_rows=40, cores=cores)
    arrived = random_rows(Random(cores), 20)
    lefts = sum(side == LEFT for side, _ in arrived)
    _, pairs = fed(simulated(design), design, arrived)
    assert lefts * (20 - lefts) == pairs.total()
    assert joined(design, arrived) == pairs


def test_rows_of_one_side_only_meet_nobody() -> None:
    arrived = random_rows(Random(3), 30, right=0)
    trace, pairs = fed(simulated(DESIGN), DESIGN, arrived)
    assert (Ended.DONE, 0) == (trace.ended, pairs.total())


def test_an_end_without_rows() -> None:
    trace, pairs = fed(simulated(DESIGN), DESIGN, [])
    assert (Ended.DONE, 0) == (trace.ended, pairs.total())


def test_nothing_is_taken_or_given_after_the_end() -> None:
    simulation, design = simulated(replace(DESIGN, predicate=None)), replace(DESIGN, predicate=None)
    trace, pairs = fed(simulation, design, random_rows(Random(4), 30))
    later, same = fed(simulation, design, random_rows(Random(4), 30), patience=50)
    assert (trace.cycles, pairs) == (later.cycles, same)


def test_a_reader_that_comes_late_gets_everything() -> None:
    """Results wait in all queues, rows wait before the array, nothing is lost."""
    design = replace(DESIGN, predicate=None, cores=4)
    arrived = random_rows(Random(5), 60)
    ready = [0] * 800 + [1] * 4000
    trace, pairs = fed(simulated(design), design, arrived, ready=ready)
    assert trace.stalled > 400
    assert joined(design, arrived) == pairs


def test_rows_without_fields() -> None:
    nothing = BitLayout(())
    design = JoinDesign(nothing, nothing, None, 2, 2, 2)
    _, pairs = fed(simulated(design), design, [(LEFT, {}), (RIGHT, {}), (RIGHT, {}), (LEFT, {})])
    assert pairs.total() == 1 + 1 + 2


@pytest.mark.parametrize(("cores", "cycles"), [(1, 12), (2, 6), (4, 3), (6, 2), (12, 2)])
def test_a_row_takes_as_many_cycles_as_a_share_has_rows(cores: int, cycles: int) -> None:
    """The paper's: so many tuples a second are the clock by the tuples in a core, 100 at 50 MHz or 10 at 5 MHz."""
    design = replace(DESIGN, left_rows=12, right_rows=12, cores=cores, predicate=PREDICATES["never"])
    trace, _ = fed(simulated(design), design, random_rows(Random(6), 80))
    steady = trace.taken[50:]
    assert cycles * (len(steady) - 1) == int(steady[-1] - steady[0])


@pytest.mark.parametrize("cores", [1, 3, 8])
def test_the_last_pair_comes_after_a_walk_along_the_chain(cores: int) -> None:
    design = replace(DESIGN, left_rows=2 * cores, right_rows=2 * cores, cores=cores, predicate=None)
    trace, _ = fed(simulated(design), design, [(LEFT, {"a": 1, "n": 1}), (RIGHT, {"b": 1, "k": 1})])
    assert int(trace.given[-1] - trace.taken[-1]) <= 4 * cores + 8


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_shares_in_block_ram(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer shares are read one cycle later."""
    monkeypatch.setattr(core, "DISTRIBUTED_ROWS", 3)
    design = replace(DESIGN, left_rows=11, right_rows=9, cores=2)
    random = Random(7)
    for predicate in (None, EQUAL):
        design, arrived = replace(design, predicate=predicate), random_rows(random, 60)
        trace, pairs = fed(simulated(design), design, arrived, ready=random_pattern(random, share))
        assert Ended.DONE is trace.ended
        assert joined(design, arrived) == pairs


@pytest.mark.skipif(cxx_compiler() is None, reason="needs a C++ compiler")
def test_shares_of_one_row_as_machine_code() -> None:
    design = replace(DESIGN, left_rows=3, right_rows=2, cores=2)
    arrived = random_rows(Random(3), 60)
    trace, pairs = fed(simulated(design, Simulator.CXXRTL), design, arrived)
    assert Ended.DONE is trace.ended
    assert joined(design, arrived) == pairs


@pytest.mark.parametrize("name", ["left_rows", "right_rows", "cores", "result_depth"])
def test_sizes_are_positive(name: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^`{name}` must be positive, got 0\.$"):
        Fragment.get(HandshakeArray(replace(DESIGN, **cast("dict[str, Any]", {name: 0}))), None)


@pytest.mark.soak
@pytest.mark.skipif(cxx_compiler() is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("seed", range(60))
def test_many_streams_through_larger_arrays(seed: int) -> None:
    random = Random(seed)
    design = JoinDesign(
        LEFTS,
        RIGHTS,
        random.choice(list(PREDICATES.values())),
        random.randint(1, 150),
        random.randint(1, 150),
        random.randint(1, 32),
        result_depth=random.choice([8, 16, 64]),
    )
    simulation = simulated(design, Simulator.CXXRTL)
    for _ in range(20):
        arrived = random_rows(random, 400, right=random.random(), run=random.choice([1, 30]))
        offers, ready = (random_pattern(random, random.choice([0.2, 0.7, 1])) for _ in range(2))
        trace, pairs = fed(simulation, design, arrived, offers=offers, ready=ready)
        assert Ended.DONE is trace.ended
        assert joined(design, arrived) == pairs
