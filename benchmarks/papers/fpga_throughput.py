"""What the papers' experimental system takes in: a circuit behind Ethernet, tuples in datagrams, 1 and 10 Gbit/s.

Section VI.B of the paper on Window-ID and V.B of the paper on panes: 0.76 Gbit/s, nearly 6 million tuples a second,
which is what their network interface can do. Here the circuits are simulated with a stream that is out of order by up
to SLACK, their answers held against a count by definition, and cycles a row taken from that; the frames of the same
stream (`windrow/hardware/wire.py`) say how many rows a wire carries. The system takes in what the slower of both does,
at the papers' clock and at the clock on an ECP5.

Bar: 6 million tuples a second over 1 Gbit/s.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from _circuits import SLIDE, SYMBOL, TUPLE_BITS, Pairs, Size, aggregate, begin, megahertz, on_ecp5
from _pictures import Panel, save

sys.path.insert(0, str(Path(__file__).parents[1]))
from _harness import table, verdict

from windrow.hardware.answers import result_places
from windrow.hardware.circuits.top import circuit_of
from windrow.hardware.design import AggregateDesign, CircuitAlgorithm, Variant
from windrow.hardware.feeding import Elements
from windrow.hardware.packing import pack, unpack
from windrow.hardware.simulate.simulation import Simulation
from windrow.hardware.simulate.trace import Trace
from windrow.hardware.wire import element_frames

AROUND = 8 + 20 + 14 + 4 + 8 + 12
"""Bytes of a frame on the wire beside the datagram's own: UDP, IP, Ethernet, checksum, preamble, gap."""
ROWS_A_SLIDE = 120
PAPER_RATE, PAPER_BITS = 6e6, 0.76e9
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Case:
    """A circuit, and the clock that its paper has for it."""

    name: str
    design: AggregateDesign
    clock: float

    @property
    def ratio(self) -> int:
        (query,) = self.design.queries
        return query.range // query.slide


def cases(size: Size) -> list[Case]:
    small = [
        Case("Window-ID 10, literal", aggregate(CircuitAlgorithm.WID, 10, Variant.LITERAL), 157.0),
        Case("panes 64, repaired", aggregate(CircuitAlgorithm.PANES, 64), 200.0),
    ]
    if size is Size.QUICK:
        return small
    more = [
        Case("Window-ID 10, repaired", aggregate(CircuitAlgorithm.WID, 10), 157.0),
        Case("panes 64, literal", aggregate(CircuitAlgorithm.PANES, 64, Variant.LITERAL), 200.0),
        Case("panes 4096, repaired", aggregate(CircuitAlgorithm.PANES, 4096), 200.0),
    ]
    return [*small, *more]


@dataclass(frozen=True)
class Arrivals:
    """Rows in the order in which they come, and the promise that holds when each does."""

    times: Integers
    symbols: npt.NDArray[np.uint64]
    promises: Integers

    @staticmethod
    def of(slides: int, seed: int = 1) -> Arrivals:
        """Half of the trades are of the symbol; none is late by as much as SLACK, which is a SLIDE."""
        random = np.random.default_rng(seed)
        times = np.sort(random.integers(0, slides * SLIDE, slides * ROWS_A_SLIDE))
        order = np.argsort(times + random.uniform(0, SLIDE, len(times)), kind="stable")
        times = times[order]
        symbols = np.where(random.random(len(times)) < 0.5, np.uint64(SYMBOL), np.uint64(0))
        return Arrivals(times, symbols, np.maximum(0, (np.maximum.accumulate(times) - SLIDE) // SLIDE * SLIDE))

    def elements(self) -> Elements:
        """A promise goes before the row that implies it; the end of the stream comes last."""
        is_new = np.diff(self.promises, prepend=0) > 0
        places = np.arange(len(self.times)) + np.cumsum(is_new)
        total = len(self.times) + int(is_new.sum()) + 1
        punctuation, last, time = np.ones(total, np.bool_), np.zeros(total, np.bool_), np.zeros(total, np.uint64)
        punctuation[places], last[-1] = False, True
        time[places], time[places[is_new] - 1] = self.times, self.promises[is_new]
        time[-1] = self.promises[-1]
        data = np.zeros((total, 2), np.uint64)
        data[places, :] = pack(len(self.times), [(self.symbols, 32), (self.symbols * 0 + 7, 32), (self.symbols, 32)])
        return Elements(punctuation, last, time, data)

    def counts(self, ends: Integers, length: int) -> Integers:
        """By definition: how many rows of the symbol each window holds."""
        chosen = np.sort(self.times[self.symbols == SYMBOL])
        return (np.searchsorted(chosen, ends) - np.searchsorted(chosen, ends - length)).astype(np.int64)


def check(case: Case, arrivals: Arrivals, trace: Trace) -> int:
    """How many windows were right, or the end of the experiment: figures of wrong answers would mean nothing."""
    (query,) = case.design.queries
    places = result_places(case.design)
    done, ends, found = (unpack(trace.results, *places[name]).astype(np.int64) for name in ("done", "end", "parts"))
    ends, found = ends[done == 0], found[done == 0]
    is_literal = case.design.variant is Variant.LITERAL
    # The papers' first window begins where the stream does, and nothing closes those that are open at its end.
    first, last = (query.range, arrivals.promises[-1]) if is_literal else (SLIDE, arrivals.times.max() + query.range)
    every = np.arange(first, last + 1, SLIDE)
    if not is_literal:
        every = every[arrivals.counts(every, query.range) > 0]
    if not np.array_equal(ends, every) or not np.array_equal(found, arrivals.counts(every, query.range)):
        raise SystemExit(f"{case.name}: {len(ends)} windows, and not the {len(every)} that there are")
    return len(ends)


def bits_a_row(design: AggregateDesign, elements: Elements) -> float:
    """What a row takes on the wire with its share of promises, headers and gaps."""
    frames = element_frames(design, elements)
    return 8 * sum(len(frame) + AROUND for frame in frames) / int((~elements.punctuation).sum())


@dataclass(frozen=True)
class Outcome:
    """Rows a second that a wire of so many Gbit/s and a circuit at so many MHz take in."""

    wire: float
    circuit: float

    @property
    def rate(self) -> float:
        return min(self.wire, self.circuit)

    def text(self) -> str:
        """
        >>> Outcome(7e6, 157e6).text()
        '7.00 M/s, 0.90 Gbit/s'
        """
        return f"{self.rate / 1e6:.2f} M/s, {self.rate * TUPLE_BITS / 1e9:.2f} Gbit/s"


def measured(case: Case, size: Size) -> tuple[list[object], list[Outcome]]:
    """A line of the table for the papers' clock and the one on ECP5, over 1 and 10 Gbit/s."""
    arrivals = Arrivals.of(case.ratio + (50 if size is Size.QUICK else 400))
    elements = arrivals.elements()
    trace = Simulation(circuit_of(case.design)).run(elements.words(case.design))
    windows = check(case, arrivals, trace)
    cycles = (int(trace.taken[-1]) + 1) / len(arrivals.times)
    bits = bits_a_row(case.design, elements)
    clock = megahertz(on_ecp5(case.design))
    speeds = (case.clock, clock)
    outcomes = [Outcome(wire / bits, 1e6 * speed / cycles) for speed in speeds for wire in (1e9, 1e10)]
    shown = [f"{len(arrivals.times):,}", windows, f"{cycles:.3f}", f"{bits / 8:.2f}", f"{1e3 / bits:.2f}"]
    rates = [f"{speed / cycles:.0f} M/s at {speed:.0f}" for speed in speeds]
    return [case.name, *shown, *rates], outcomes


def main() -> None:
    size = begin(__doc__)
    rows: list[list[object]] = []
    results: list[list[object]] = []
    lines: dict[str, Pairs] = {}
    for case in cases(size):
        row, outcomes = measured(case, size)
        rows.append(row)
        results.append([case.name, *(one.text() for one in outcomes), verdict(outcomes[0].rate, PAPER_RATE)])
        lines[case.name] = [(1.0, outcomes[0].rate / 1e6), (10.0, outcomes[1].rate / 1e6)]
    headers = ("circuit", "rows", "windows", "cycles a row", "bytes a row", "M rows/s of 1 Gbit/s")
    table("wire and circuit", (*headers, "circuit, paper's MHz", "circuit, MHz on ECP5"), rows)
    headers = ("circuit", "1 Gbit/s, paper's clock", "10 Gbit/s", "1 Gbit/s, ECP5's clock", "10 Gbit/s", "6 M/s")
    table(f"the system (papers: 6 M/s, {PAPER_BITS / 1e9} Gbit/s)", headers, results)
    save([Panel("Effective throughput", "Gbit/s of the wire", "million rows/s", lines, log_x=True, log_y=True)])


if __name__ == "__main__":
    main()
