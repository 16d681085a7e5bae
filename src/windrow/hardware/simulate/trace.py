"""What a simulation is given besides elements, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from amaranth.lib import wiring

from windrow.errors import InternalError
from windrow.hardware.packing import Words, words_for
from windrow.hardware.verilog import Port, ports_of

CyclesProgress = Callable[[int, int], None]
"""Is given the cycles so far and the elements that were taken."""
Bits = npt.NDArray[np.uint8]
ALWAYS: Bits = np.ones(1, dtype=np.uint8)


class Ended(Enum):
    """Why a simulation came to its end."""

    DONE = "done"
    """A result said that nothing follows."""
    QUIET = "quiet"
    """Everything was taken, no result waited, and nothing moved for as long as it was waited for."""
    STUCK = "stuck"
    """Nothing moved, though there were elements to take or results to read."""
    LIMIT = "limit"
    """So many cycles were asked for."""


@dataclass(frozen=True)
class Stimulus:
    """Elements, and when they are offered and results read.

    The bits of a pattern are one for each cycle and begin anew at their end. An element that was offered is offered
    until it is taken, as the rules of valid and ready want it.
    """

    elements: Words
    offers: Bits = field(default_factory=lambda: ALWAYS)
    ready: Bits = field(default_factory=lambda: ALWAYS)
    configure: Words | None = None
    """Writes to registers before the first element; cycle 0 comes after them."""
    cycles: int | None = None
    """How many cycles at most."""
    patience: int = 5_000
    """Cycles without anything taken or given after which it ends."""

    @property
    def last_cycle(self) -> int:
        return (1 << 62) if self.cycles is None else self.cycles


@dataclass(frozen=True)
class Trace:
    """Results in their order, and the cycles of it all."""

    results: Words
    given: npt.NDArray[np.uint64]
    """The cycle in which each result was read."""
    taken: npt.NDArray[np.uint64]
    """The cycle in which each element was taken."""
    cycles: int
    stalled: int
    """Cycles in which an element was offered and not taken."""
    counters: dict[str, int]
    ended: Ended
    backend: str

    def latency(self, causes: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Cycles from when an element was taken to when its result was read; `causes` has an element per result."""
        since = self.taken[np.asarray(causes, dtype=np.int64)]
        return (self.given - since).astype(np.int64)

    @property
    def since_last_element(self) -> npt.NDArray[np.int64]:
        """For each result the cycles since the last element that was taken before it."""
        place = np.searchsorted(self.taken, self.given, side="left") - 1
        before = self.taken[np.maximum(place, 0)] if len(self.taken) else np.zeros_like(self.given)
        return (self.given - before).astype(np.int64)


class Backend(Protocol):
    """A circuit that can be run any number of times, from reset each time."""

    name: str

    def run(self, stimulus: Stimulus, progress: CyclesProgress | None) -> Trace: ...


@dataclass(frozen=True)
class Streams:
    """The ports of a circuit as a simulation sees them."""

    input: Port
    output: Port
    configure: Port | None
    outputs: tuple[Port, ...]
    """What is read at the end, counters above all."""

    @property
    def done_bit(self) -> int:
        """Which bit of a result says that nothing follows; -1 where none does."""
        return next((low for name, low, _ in self.output.members if name == "done"), -1)


def streams_of(component: wiring.Component) -> Streams:
    """The streams `input` and `output` that every circuit has, and what else it gives."""
    ports = ports_of(component)
    for name in ("input", "output"):
        if any(f"{name}_{part}" not in ports for part in ("valid", "ready", "payload")):
            raise InternalError(f"a circuit has no stream `{name}`")
    streamed = tuple(f"{name}_{part}" for name in ("input", "output") for part in ("valid", "ready", "payload"))
    others = tuple(one for one in ports.values() if not one.is_input and one.name not in streamed)
    outputs = tuple(one for one in others if not one.name.startswith("configure_"))
    return Streams(ports["input_payload"], ports["output_payload"], ports.get("configure_payload"), outputs)


def checked(words: Any, bits: int) -> Words:
    """Words as a simulation wants them: rows of as many as the port takes, side by side in memory."""
    found = np.ascontiguousarray(words, dtype=np.uint64)
    if found.ndim == 1:
        found = found.reshape(-1, 1)
    if found.ndim != 2 or found.shape[1] != words_for(bits):
        raise InternalError(f"a port of {bits} bits takes rows of {words_for(bits)} words, not {found.shape}")
    return found


def pattern(bits: Any) -> Bits:
    """A pattern as bytes of 0 and 1; not all of them 0."""
    found: Bits = np.ascontiguousarray(np.asarray(bits).astype(bool), dtype=np.uint8)
    if not found.any():
        raise InternalError("a pattern of valid or ready needs a cycle in which it is set")
    return found


def repeated(bits: Bits) -> Iterator[int]:
    while True:
        yield from bits.tolist()
