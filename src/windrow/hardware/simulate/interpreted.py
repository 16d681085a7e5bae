"""Amaranth's simulator: thousands of cycles a second, no compiler, waveforms."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from amaranth.lib import wiring
from amaranth.sim import Simulator

from windrow.hardware.packing import Words, words_for
from windrow.hardware.simulate.trace import CyclesProgress, Ended, Stimulus, Streams, Trace, repeated, streams_of

EVERY = 1_000
"""Cycles between two calls of a progress callback."""
PERIOD = 1e-8
"""Seconds of a cycle in a waveform."""


class Interpreted:
    """Runs a circuit in Python, from reset each time; with `vcd` it writes the waveform of all it does."""

    name = "python"

    def __init__(self, component: wiring.Component, *, vcd: Path | None = None) -> None:
        self._component = component
        self._streams = streams_of(component)
        self._vcd = vcd
        self._made: Simulator | None = None
        self._run: _Run | None = None

    def run(self, stimulus: Stimulus, progress: CyclesProgress | None = None) -> Trace:
        self._run = _Run(self._component, self._streams, stimulus, progress)
        simulator = self._simulator()
        waveform = simulator.write_vcd(str(self._vcd)) if self._vcd is not None else nullcontext()
        with waveform:
            simulator.run()
        return self._run.trace

    def _simulator(self) -> Simulator:
        """The simulator at reset. It is made when it is needed: one that never runs warns of it."""
        if self._made is not None:
            self._made.reset()
        else:
            self._made = Simulator(self._component)
            self._made.add_clock(PERIOD)
            self._made.add_testbench(self._testbench)
        return self._made

    async def _testbench(self, context: Any) -> None:
        assert self._run is not None
        await self._run.all_of_it(context)


class _Run:
    """One run: the same loop as that of the compiled simulation, in the same order."""

    def __init__(
        self, component: wiring.Component, streams: Streams, stimulus: Stimulus, progress: CyclesProgress | None
    ) -> None:
        self.input, self.output = component.input, component.output
        self.component, self.streams, self.stimulus, self.progress = component, streams, stimulus, progress
        self.results: list[int] = []
        self.given: list[int] = []
        self.taken: list[int] = []
        self.cycle = self.stalled = self.quiet = 0
        self.done = self.holds = self.waits = False
        self.counters: dict[str, int] = {}

    async def all_of_it(self, context: Any) -> None:
        if self.stimulus.configure is not None:
            await self.write_registers(context, to_integers(self.stimulus.configure))
        offers, ready = repeated(self.stimulus.offers), repeated(self.stimulus.ready)
        elements = to_integers(self.stimulus.elements)
        while self.cycle < self.stimulus.last_cycle and not self.done and self.quiet < self.stimulus.patience:
            self.one_cycle(context, elements, next(offers), next(ready))
            await context.tick()
            self.cycle += 1
            if self.progress is not None and self.cycle % EVERY == 0:
                self.progress(self.cycle, len(self.taken))
        if self.progress is not None:
            self.progress(self.cycle, len(self.taken))
        self.counters = {port.name: context.get(port.value) for port in self.streams.outputs}

    async def write_registers(self, context: Any, writes: list[int]) -> None:
        configure = self.component.configure
        for write in writes:
            context.set(self.streams.configure.value if self.streams.configure else None, write)
            context.set(configure.valid, 1)
            while not context.get(configure.ready):
                await context.tick()
            await context.tick()
        context.set(configure.valid, 0)

    def one_cycle(self, context: Any, elements: list[int], may_offer: int, is_ready: int) -> None:
        """Offer, settle and note what moves, up to the rise of the clock."""
        offered = len(self.taken) < len(elements) and (self.holds or bool(may_offer))
        if offered and not self.holds:
            context.set(self.streams.input.value, elements[len(self.taken)])
        context.set(self.input.valid, offered)
        context.set(self.output.ready, is_ready)
        takes = offered and bool(context.get(self.input.ready))
        self.waits = bool(context.get(self.output.valid))
        gives = self.waits and bool(is_ready)
        if gives:
            self.note_result(context.get(self.streams.output.value))
        if takes:
            self.taken.append(self.cycle)
        self.holds = offered and not takes
        self.stalled += self.holds
        self.quiet = 0 if takes or gives else self.quiet + 1

    def note_result(self, word: int) -> None:
        self.results.append(word)
        self.given.append(self.cycle)
        self.done = self.streams.done_bit >= 0 and bool(word >> self.streams.done_bit & 1)

    @property
    def trace(self) -> Trace:
        is_limit = self.cycle >= self.stimulus.last_cycle
        is_left = len(self.taken) < len(self.stimulus.elements) or self.waits
        quiet = Ended.STUCK if is_left else Ended.QUIET
        return Trace(
            from_integers(self.results, self.streams.output.bits),
            np.array(self.given, dtype=np.uint64),
            np.array(self.taken, dtype=np.uint64),
            self.cycle,
            self.stalled,
            self.counters,
            Ended.DONE if self.done else Ended.LIMIT if is_limit else quiet,
            Interpreted.name,
        )


def from_integers(values: Iterable[int], bits: int) -> Words:
    """Python's integers as words.

    >>> from_integers([5, 1 << 64], 70).tolist()
    [[5, 0], [0, 1]]
    """
    count = words_for(bits)
    content = b"".join(value.to_bytes(count * 8, "little") for value in values)
    return np.frombuffer(content, dtype="<u8").reshape(-1, count).astype(np.uint64)


def to_integers(words: Words) -> list[int]:
    """Words as Python's integers.

    >>> to_integers(from_integers([5, 1 << 64], 70))
    [5, 18446744073709551616]
    """
    width = words.shape[1] * 8
    content = np.ascontiguousarray(words, dtype="<u8").tobytes()
    return [int.from_bytes(content[at : at + width], "little") for at in range(0, len(content), width)]
