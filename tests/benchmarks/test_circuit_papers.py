"""The experiments on circuits: their streams are in order enough, wrong answers end them, changes are counted right."""

from __future__ import annotations

import doctest
import importlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "papers"))

import fpga_throughput  # noqa: E402
import handshake_array  # noqa: E402
from _circuits import SLIDE, Line, Size, aggregate, join  # noqa: E402
from fpga_throughput import Arrivals, Case, bits_a_row, check  # noqa: E402

from windrow.hardware.circuits.top import circuit_of  # noqa: E402
from windrow.hardware.design import CircuitAlgorithm, Variant  # noqa: E402
from windrow.hardware.simulate.simulation import Simulation, Simulator  # noqa: E402

CASES = [
    Case("literal", aggregate(CircuitAlgorithm.WID, 2, Variant.LITERAL), 157.0),
    Case("repaired", aggregate(CircuitAlgorithm.PANES, 3), 200.0),
]


@pytest.fixture
def arrivals(monkeypatch: pytest.MonkeyPatch) -> Arrivals:
    monkeypatch.setattr(fpga_throughput, "ROWS_A_SLIDE", 12)
    return Arrivals.of(8)


def test_no_row_is_late_and_promises_come_before_the_row_that_implies_them(arrivals: Arrivals) -> None:
    assert (arrivals.times >= arrivals.promises).all()
    assert (arrivals.times < arrivals.promises + 2 * SLIDE).all()
    elements = arrivals.elements()
    assert arrivals.times.tolist() == elements.time[~elements.punctuation].tolist()
    assert [*range(SLIDE, 7 * SLIDE, SLIDE), 6 * SLIDE] == elements.time[elements.punctuation].tolist()
    assert [len(elements) - 1] == np.flatnonzero(elements.last).tolist()


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.name))
def test_right_answers_are_counted_and_wrong_ones_end_it(case: Case, arrivals: Arrivals) -> None:
    simulation = Simulation(circuit_of(case.design), backend=Simulator.PYTHON)
    trace = simulation.run(arrivals.elements().words(case.design), patience=100)
    assert {"literal": 5, "repaired": 10}[case.name] == check(case, arrivals, trace)
    with pytest.raises(SystemExit, match=rf"^{case.name}: \d+ windows, and not the \d+ that there are$"):
        check(case, arrivals, replace(trace, results=trace.results[1:]))


def test_a_row_takes_its_record_and_its_share_of_all_around_it(arrivals: Arrivals) -> None:
    elements = arrivals.elements()
    around = (8 + 20 + 14 + 4 + 8 + 12) + 20
    frames = 2
    assert 8 * (17 * len(elements) + frames * around) / 96 == bits_a_row(CASES[0].design, elements)


def test_a_row_of_the_array_takes_as_many_cycles_as_a_core_has_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake_array, "WINDOW", 12)
    for variant in Variant:
        found = handshake_array.activity(join(3, 12, variant))
        assert 4.0 == found.cycles
        assert 2.0 == found.clock
        assert found.changes > 64  # a row comes in and goes through registers


def test_sizes_of_a_full_run_are_the_usual_ones_and_more() -> None:
    assert [(1,), (2, 3), (2, 3, 4)] == [size.of((1,), (2, 3), (4,)) for size in Size]


def test_a_line_goes_through_the_points() -> None:
    assert pytest.approx(41.0) == Line.through([(1.0, 3.0), (2.0, 5.0), (3.0, 7.0)]).at(20)


@pytest.mark.parametrize("name", ["_circuits", "_switching", "fpga_throughput"])
def test_examples_print_what_they_say(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert 0 == failed
    assert tried


def test_every_experiment_of_the_papers_is_listed() -> None:
    listed = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    for path in sorted((ROOT / "benchmarks" / "papers").glob("[!_]*.py")):
        assert f"`papers/{path.name}`" in listed
