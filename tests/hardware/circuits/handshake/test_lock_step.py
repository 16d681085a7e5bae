"""The paper's array: right while rows keep coming and windows fill the chain, and wrong where that ends."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.hardware.circuits.handshake.joining import EQUAL, LEFTS, RIGHTS, Arrived, fed, joined, random_rows, simulated
from windrow.hardware.design import JoinDesign, Variant
from windrow.hardware.simulate.trace import Ended
from windrow.semantics.joins import LEFT, RIGHT

DESIGN = JoinDesign(LEFTS, RIGHTS, EQUAL, 6, 6, 3, variant=Variant.LITERAL)


def push(arrived: Arrived, rows: int) -> Arrived:
    """So many rows of the left side after the others, whose field `n` is 255 in none of them."""
    return [*arrived, *((LEFT, {"a": -16, "n": 255}) for _ in range(rows))]


def test_right_while_rows_keep_coming() -> None:
    for seed in range(4):
        arrived = random_rows(Random(seed), 90, run=1 + 5 * (seed % 2))
        design = replace(DESIGN, right_rows=(6, 9)[seed % 2])
        trace, pairs = fed(simulated(design), design, push(arrived, 6))
        assert Ended.DONE is trace.ended
        assert joined(design, arrived) == pairs


def test_pairs_that_nothing_pushes_together_never_meet() -> None:
    """A left row is in the first core and a right row in the last one when the stream ends."""
    arrived: Arrived = [(LEFT, {"a": 1, "n": 1}), (RIGHT, {"b": 1, "k": 1})]
    assert joined(DESIGN, arrived).total() == 1
    assert fed(simulated(DESIGN), DESIGN, arrived)[1].total() == 0
    repaired = replace(DESIGN, variant=Variant.REPAIRED)
    assert fed(simulated(repaired), repaired, arrived)[1].total() == 1


def test_a_pair_waits_for_rows_that_have_nothing_to_do_with_it() -> None:
    """The pair is given one or more rows later, by chance of what else comes."""
    arrived: Arrived = [(LEFT, {"a": 1, "n": 1}), (RIGHT, {"b": 1, "k": 1})]
    met = [fed(simulated(DESIGN), DESIGN, push(arrived, rows))[1].total() for rows in range(6)]
    assert met == [0, 0, 0, 0, 1, 1]


def test_windows_are_as_long_as_the_chain() -> None:
    """The last 4 rows on 3 cores are 6 places: a row meets what has left its window."""
    design = replace(DESIGN, left_rows=4, right_rows=4, predicate=None)
    arrived = [*((RIGHT, {"b": 1, "k": k}) for k in range(6)), (LEFT, {"a": 1, "n": 0})]
    assert joined(design, arrived).total() == 4
    assert fed(simulated(design), design, push(arrived, 6))[1][1, 0, 1, 0] == 1
    repaired = replace(design, variant=Variant.REPAIRED)
    assert fed(simulated(repaired), repaired, arrived)[1] == joined(design, arrived)


def test_a_full_queue_loses_pairs() -> None:
    design = replace(DESIGN, predicate=None, result_depth=8)
    arrived = random_rows(Random(1), 90)
    trace, pairs = fed(simulated(design), design, push(arrived, 6), ready=[1, 0, 0, 0, 0, 0])
    truth = joined(design, push(arrived, 6))
    assert 0 < trace.counters["lost"]
    assert pairs.total() < truth.total()
    assert not pairs - truth


def test_a_row_takes_as_many_cycles_as_a_core_has_places() -> None:
    """As table 1 has it: windows of 100 on 1, 2, 5, 10 cores take 100, 50, 20, 10 cycles a row."""
    for cores in (1, 2, 6):
        trace, _ = fed(
            simulated(replace(DESIGN, cores=cores)), replace(DESIGN, cores=cores), random_rows(Random(2), 40)
        )
        assert 6 // cores * 40 == int(trace.taken[-1] - trace.taken[0])
