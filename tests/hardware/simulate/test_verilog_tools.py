"""Other tools read our Verilog and get the same results from it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.hardware.simulate.test_simulation import words
from tests.hardware.small_circuits import Running
from windrow.errors import ConfigurationError
from windrow.hardware.simulate.simulation import Simulation, Simulator
from windrow.hardware.simulate.verilog_tools import lint, simulate_verilog

needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus (iverilog) is not installed")
needs_verilator = pytest.mark.skipif(shutil.which("verilator") is None, reason="Verilator is not installed")


@needs_icarus
@pytest.mark.parametrize("last", [True, False])
def test_icarus_gets_the_same_results(last: bool) -> None:
    given = words([5, 1 << 69, 3], last=last)
    expected = Simulation(Running(), backend=Simulator.PYTHON).run(given, patience=10).results
    assert expected.tolist() == simulate_verilog(Running(), given, patience=10).tolist()


@needs_verilator
def test_verilator_finds_no_fault() -> None:
    lint(Running())


def test_a_tool_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    circuit = Running()
    Simulation(circuit, backend=Simulator.PYTHON).run(words([1]))
    with pytest.raises(ConfigurationError, match=r"^`iverilog` is not installed\. Hint: install it, or simulate with"):
        simulate_verilog(circuit, words([1]))
    with pytest.raises(ConfigurationError, match=r"^`verilator` is not installed\."):
        lint(circuit)
