"""The real circuits in all simulators: the same results in the same cycles, and as other tools read their Verilog."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from windrow.hardware.circuits.configuration import write_of, writes_for
from windrow.hardware.circuits.top import circuit_of
from windrow.hardware.design import (
    AggregateDesign,
    BitLayout,
    CircuitAlgorithm,
    CircuitPart,
    Design,
    Field,
    Function,
    JoinDesign,
    WindowQuery,
)
from windrow.hardware.packing import Words, pack
from windrow.hardware.simulate.simulation import Simulation, Simulator
from windrow.hardware.simulate.trace import Ended
from windrow.hardware.simulate.verilog_tools import lint, simulate_verilog
from windrow.semantics.scalars.expressions import Column

ROW = BitLayout((Field("x", 8, signed=False),))
QUERY = WindowQuery(8, 4, 4, (CircuitPart(Function.COUNT, None, 8), CircuitPart(Function.SUM, Column("x"), 16)))
PANES = AggregateDesign(ROW, (QUERY,), time_width=16)
WID = replace(PANES, algorithm=CircuitAlgorithm.WID)
JOIN = JoinDesign(ROW, ROW, None, 4, 4, 2, result_depth=4)


def elements(design: Design, rows: int = 120) -> Words:
    """A stream with disorder, promises and its end; for a join rows of both sides in turns."""
    random = np.random.default_rng(7)
    values = random.integers(0, 200, rows + 1).astype(np.uint64)
    ends = np.arange(rows + 1) == rows
    if isinstance(design, JoinDesign):
        return pack(rows + 1, [(ends, 1), (random.integers(0, 2, rows + 1).astype(bool) & ~ends, 1), (values, 8)])
    promises = np.arange(rows + 1) % 6 == 5
    times = np.arange(rows + 1) - np.where(promises | ends, 3, random.integers(0, 3, rows + 1))
    columns = [(promises | ends, 1), (ends, 1), (np.maximum(times, 0).astype(np.uint64), 16), (values, 8)]
    return pack(rows + 1, columns)


@pytest.mark.parametrize("design", [WID, PANES, JOIN], ids=["wid", "panes", "join"])
def test_both_simulators_agree(design: Design) -> None:
    given = elements(design)
    one, other = (
        Simulation(circuit_of(design), backend=backend, soon=True).run(given, offers=[1, 1, 0], ready=[0, 1, 1, 1])
        for backend in (Simulator.PYTHON, Simulator.CXXRTL)
    )
    assert Ended.DONE is one.ended is other.ended
    assert len(one.results) > 20
    assert one.results.tolist() == other.results.tolist()
    assert one.given.tolist() == other.given.tolist()
    assert one.taken.tolist() == other.taken.tolist()
    assert one.counters == other.counters
    assert 0 == one.counters["lost"]


def test_registers_are_written_before_the_first_element() -> None:
    design = replace(PANES, configurable=True)
    smaller = replace(QUERY, range=4)
    layout = write_of(design)
    widths = layout["address"].width, layout["value"].width
    columns = np.array(writes_for(design, (smaller,)), dtype=np.int64).astype(np.uint64)
    writes = pack(len(columns), [(columns[:, 0], widths[0]), (columns[:, 1], widths[1])])
    given = elements(design)
    plain = Simulation(circuit_of(replace(PANES, queries=(smaller,))), backend=Simulator.PYTHON).run(given)
    for backend in (Simulator.PYTHON, Simulator.CXXRTL):
        trace = Simulation(circuit_of(design), backend=backend, soon=True).run(given, configure=writes)
        assert plain.results[:-1].tolist() == trace.results[:-1].tolist()  # the last one says that it is done


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus (iverilog) is not installed")
@pytest.mark.parametrize("design", [PANES, JOIN], ids=["panes", "join"])
def test_icarus_gets_the_same_results(design: Design) -> None:
    given = elements(design, 40)
    expected = Simulation(circuit_of(design), backend=Simulator.PYTHON).run(given).results
    assert expected.tolist() == simulate_verilog(circuit_of(design), given).tolist()


@pytest.mark.skipif(shutil.which("verilator") is None, reason="Verilator is not installed")
@pytest.mark.parametrize("design", [WID, PANES, JOIN], ids=["wid", "panes", "join"])
def test_verilator_finds_no_fault(design: Design) -> None:
    lint(circuit_of(design))
