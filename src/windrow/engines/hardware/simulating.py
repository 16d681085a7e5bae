"""Circuits simulated on what an engine has read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.engines.hardware.options import HardwareOptions
from windrow.engines.hardware.reading import WholeStream
from windrow.engines.run import Requests
from windrow.errors import InternalError
from windrow.hardware.circuits.top import circuit_of
from windrow.hardware.deep_expressions import deep_expressions
from windrow.hardware.design import AggregateDesign, CircuitAlgorithm, Design
from windrow.hardware.feeding import packed_rows
from windrow.hardware.packing import Words, pack
from windrow.hardware.planning.joins import JoinPlan
from windrow.hardware.simulate.simulation import Simulation, Simulator
from windrow.hardware.simulate.trace import Ended, Trace
from windrow.semantics.joins import LEFT, RIGHT

FEW = 400
"""Elements that are through before a circuit would be compiled."""
Share = Callable[[float], None]
"""Is given how much of the elements has been taken, 0 to 1."""


@dataclass(frozen=True)
class Simulated:
    """What a circuit gave, and when; `note` is a line for the user, where there is one."""

    design: Design
    trace: Trace
    seconds: float
    """That the cycles took, without making the simulator."""
    note: str = ""

    @property
    def causes(self) -> Integers:
        """For each result the last element that had been taken when it was given."""
        found = np.searchsorted(self.trace.taken, self.trace.given, side="left") - 1
        return np.maximum(found, 0).astype(np.int64)

    @property
    def counters(self) -> dict[str, int]:
        return self.trace.counters

    @property
    def summary(self) -> list[str]:
        """The algorithm and what there is to know of it, as metrics report strategies."""
        design = self.design
        word = design.algorithm.value if isinstance(design, AggregateDesign) else "handshake"
        reasons = [f"{design.variant.value} circuit, {self.trace.cycles:,} cycles simulated with {self.trace.backend}"]
        if isinstance(design, AggregateDesign) and design.algorithm is CircuitAlgorithm.PANES:
            reasons.append("each row goes into one pane, windows are made of panes")
        return [word, *reasons, *([self.note] if self.note else [])]


def arrivals(plan: JoinPlan, sides: Sequence[WholeStream], turns: Sequence[tuple[int, int]]) -> Words:
    """Rows of both sides in the order in which they came, and the end behind them."""
    layouts = plan.design.left, plan.design.right
    widest = max(plan.design.left.bits, plan.design.right.bits, 1)
    rows = []
    for side in (LEFT, RIGHT):
        sources, whole = plan.rows.node.names_of(side), sides[side]
        columns = {name: whole.column(sources[name]) for name in plan.columns[side]}
        data = packed_rows(list(plan.columns[side].values()), columns, len(whole))
        zeros, ones = np.zeros(len(whole), np.bool_), np.ones(len(whole), np.bool_)
        filled = max(layouts[side].bits, 1)
        parts: list[tuple[Any, int]] = [(zeros, 1), (ones if side == RIGHT else zeros, 1), (data, filled)]
        rows.append(pack(len(whole), [*parts, *([(zeros, widest - filled)] if widest > filled else [])]))
    last = pack(1, [(np.ones(1, np.bool_), 1), (np.zeros(1, np.bool_), 1), (np.zeros(1, np.uint64), widest)])
    taken = [0, 0]
    pieces = []
    for side, count in turns:
        pieces.append(rows[side][taken[side] : taken[side] + count])
        taken[side] += count
    return np.concatenate([*pieces, last])


def simulate(
    design: Design, words: Words, options: HardwareOptions, requests: Requests, share: Share | None = None
) -> Simulated:
    """All elements through a circuit."""
    backend = Simulator(options.simulator)
    if backend is Simulator.AUTO and len(words) < FEW:
        backend = Simulator.PYTHON

    def progress(_: int, taken: int) -> None:
        requests.heed()
        if share is not None:
            share(taken / len(words))

    with deep_expressions():
        simulation = Simulation(circuit_of(design), backend=backend)
        started = perf_counter()
        trace = simulation.run(words, progress=progress, vcd=options.vcd)
    if trace.ended is not Ended.DONE and options.variant == "repaired":
        raise InternalError(
            f"came to no end after {trace.cycles} cycles ({trace.ended.value}) and {len(trace.taken)} elements",
            parameter="circuit",
        )
    return Simulated(design, trace, perf_counter() - started, simulation.said)
