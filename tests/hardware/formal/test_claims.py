"""Proofs about the circuits, and mutations of them that are caught. The deeper ones run in `make soak`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring

from windrow.hardware.circuits.top import circuit_of
from windrow.hardware.design import (
    AggregateDesign,
    BitLayout,
    CircuitAlgorithm,
    CircuitPart,
    Field,
    Function,
    JoinDesign,
    Variant,
    WindowQuery,
)
from windrow.hardware.formal.claims import meets_once, nothing_lost, same_results
from windrow.semantics.scalars.expressions import Column

DATA = BitLayout((Field("x", 1, signed=False),))
COUNT = WindowQuery(4, 2, 0, (CircuitPart(Function.COUNT, None, 3),), generous=False)
PANES = AggregateDesign(DATA, (COUNT,), time_width=5, algorithm=CircuitAlgorithm.PANES)
WID = replace(PANES, algorithm=CircuitAlgorithm.WID)
NUMBER = Field("n", 2, signed=False)
JOIN = JoinDesign(BitLayout((NUMBER,)), BitLayout((NUMBER,)), None, 2, 2, 2, result_depth=4)


def with_query(design: AggregateDesign, **changes: Any) -> AggregateDesign:
    return replace(design, queries=(replace(design.queries[0], **changes),))


class NeverWaits(wiring.Component):
    """A mutation: the circuit believes that its reader is always ready."""

    def __init__(self, component: wiring.Component) -> None:
        self.component = component
        super().__init__(component.signature)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.circuit = circuit = self.component
        wiring.connect(m, wiring.flipped(self.input), circuit.input)
        m.d.comb += [
            self.output.valid.eq(circuit.output.valid),
            self.output.payload.eq(circuit.output.payload),
            circuit.output.ready.eq(1),
        ]
        return m


def test_panes_equal_window_ids() -> None:
    proof = same_results(circuit_of(WID), circuit_of(PANES), WID, elements=3, cycles=30, behind=3)
    assert proof.holds, str(proof)
    assert "the same results for every stream of 3 elements: proved for 30 cycles" == str(proof)


def test_a_window_that_is_too_short_is_caught() -> None:
    other = with_query(PANES, range=2)
    proof = same_results(circuit_of(WID), circuit_of(other), WID, elements=3, cycles=30, behind=3)
    assert proof.counterexample is not None
    table = proof.counterexample.table()
    assert table.splitlines()[0].split() == ["cycle", "place", *RACE_COLUMNS, "bad"]
    assert "punctuation=1 last=1" in table
    assert "nonempty=1" in table


RACE_COLUMNS = [f"{side}_{name}" for side in "ab" for name in ("takes", "element", "gives", "result")]


def test_no_result_is_lost_under_back_pressure() -> None:
    proof = nothing_lost(circuit_of(WID), circuit_of(WID), WID, elements=3, cycles=24, behind=3)
    assert proof.holds, str(proof)


def test_a_circuit_that_does_not_wait_for_its_reader_is_caught() -> None:
    proof = nothing_lost(circuit_of(WID), NeverWaits(circuit_of(WID)), WID, elements=3, cycles=24, behind=3)
    assert proof.counterexample is not None
    assert "b_ready" in proof.counterexample.table()


def test_each_pair_meets_once() -> None:
    proof = meets_once(circuit_of(JOIN), JOIN, rows=4, cycles=40)
    assert proof.holds, str(proof)


def test_an_array_whose_window_is_too_short_is_caught() -> None:
    proof = meets_once(circuit_of(JOIN), replace(JOIN, left_rows=3), rows=4, cycles=40)
    assert proof.counterexample is not None
    assert "right=1" in proof.counterexample.table(["takes", "row", "gives", "pair", "bad"])


def test_the_papers_array_leaves_out_the_last_pairs() -> None:
    literal = replace(JOIN, variant=Variant.LITERAL)
    assert not meets_once(circuit_of(literal), literal, rows=3, cycles=40).holds


@pytest.mark.soak
@pytest.mark.parametrize("function", [Function.COUNT, Function.SUM, Function.MAX])
@pytest.mark.parametrize(("range", "slide"), [(4, 2), (2, 2), (2, 4), (3, 2)])
@pytest.mark.parametrize("generous", [True, False])
def test_panes_equal_window_ids_for_more(function: Function, range: int, slide: int, generous: bool) -> None:
    argument = None if function is Function.COUNT else Column("x")
    part = CircuitPart(function, argument, 3)
    changes = {"range": range, "slide": slide, "slack": 1, "generous": generous, "parts": (part,)}
    wid, panes = with_query(WID, **changes), with_query(PANES, **changes)
    proof = same_results(circuit_of(wid), circuit_of(panes), wid, elements=4, cycles=64, behind=5)
    assert proof.holds, str(proof)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("design", "cycles"), [(WID, 24), (PANES, 28), (with_query(PANES, generous=True), 28)], ids=["wid", "panes", "late"]
)
def test_no_result_is_lost_for_longer(design: AggregateDesign, cycles: int) -> None:
    """Every cycle takes about twice as long to prove as the one before."""
    proof = nothing_lost(circuit_of(design), circuit_of(design), design, elements=4, cycles=cycles, behind=3)
    assert proof.holds, str(proof)
    mutated = nothing_lost(circuit_of(design), NeverWaits(circuit_of(design)), design, elements=4, cycles=cycles)
    assert not mutated.holds


def array_of(cores: int, left: int, right: int) -> JoinDesign:
    layout = BitLayout((Field("n", 3, signed=False),))
    return JoinDesign(layout, layout, None, left, right, cores, result_depth=4)


ARRAYS = [array_of(1, 2, 2), array_of(2, 2, 4), array_of(3, 3, 3)]


@pytest.mark.soak
@pytest.mark.parametrize("design", ARRAYS, ids=["one core", "two cores", "three cores"])
def test_each_pair_meets_once_in_more_arrays(design: JoinDesign) -> None:
    proof = meets_once(circuit_of(design), design, rows=6, cycles=90)
    assert proof.holds, str(proof)


@pytest.mark.soak
@pytest.mark.parametrize("design", ARRAYS, ids=["one core", "two cores", "three cores"])
def test_each_pair_meets_once_whenever_the_reader_is_ready(design: JoinDesign) -> None:
    proof = meets_once(circuit_of(design), design, rows=4, cycles=28, waits=True)
    assert proof.holds, str(proof)
    assert not meets_once(NeverWaits(circuit_of(design)), design, rows=4, cycles=28, waits=True).holds
