"""The handshake array: two windows of rows, dealt out to a chain of cores that know only their neighbours."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring

from windrow.errors import ConfigurationError
from windrow.hardware.circuits.handshake.commands import Dispatcher, command_of
from windrow.hardware.circuits.handshake.core import JoinCore
from windrow.hardware.circuits.handshake.link import NeighbourLink
from windrow.hardware.circuits.handshake.lock_step import LockStepArray
from windrow.hardware.circuits.handshake.results import ResultPort, merge
from windrow.hardware.circuits.ports import JoinPorts
from windrow.hardware.design import JoinDesign, Variant


class HandshakeArray(wiring.Component):
    """Each row meets the last rows of the other side that came before it, each of them once; nothing is lost.

    In the paper (Teubner and Mueller, "How Soccer Players Would do Stream Joins", section 6) the rows of both streams
    move along the chain in opposite directions, one step with each arrival. Here they stay where they are put, and each
    new row visits all cores in turn, as in the later low-latency handshake join of Roy, Teubner and Gemulla. Both are
    made of neighbours only. But where rows move, two rows meet when others push them, so the last pairs of a
    stream never do, and a window has as many rows as the chain has places.

    Cost: a row in as many cycles as the longest share has rows (at least two), whatever the number of cores; its
    last pair after four times as many cycles as there are cores, and a few. The last core gives a pair
    in each cycle, and passes on one from the cores before it every other cycle.
    """

    def __init__(self, design: JoinDesign) -> None:
        self.design = design
        super().__init__(JoinPorts(design))

    def elaborate(self, platform: object) -> Module:
        check_sizes(self.design)
        m = Module()
        if self.design.variant is Variant.LITERAL:
            m.submodules.array = array = LockStepArray(self.design)
            wiring.connect(m, wiring.flipped(self.input), array.input)
            wiring.connect(m, array.output, wiring.flipped(self.output))
            m.d.comb += self.lost.eq(array.lost)
            return m
        m.submodules.dispatcher = dispatcher = Dispatcher(self.design)
        wiring.connect(m, wiring.flipped(self.input), dispatcher.input)
        self._chain(m, dispatcher)
        return m

    def _chain(self, m: Module, dispatcher: Dispatcher) -> None:
        commands, cores = dispatcher.output, [JoinCore(self.design, place) for place in range(self.design.cores)]
        for place, core in enumerate(cores):
            m.submodules[f"link{place}"] = link = NeighbourLink(command_of(self.design))
            m.submodules[f"core{place}"] = core
            wiring.connect(m, commands, link.input)
            wiring.connect(m, link.output, core.commands)
            commands = core.forward
        m.d.comb += commands.ready.eq(1)
        m.submodules.results = results = ResultPort(self.design)
        merge(m, cores, results)
        wiring.connect(m, results.output, wiring.flipped(self.output))


def check_sizes(design: JoinDesign) -> None:
    """Refuse windows and chains of nothing."""
    for name in ("left_rows", "right_rows", "cores", "result_depth"):
        if getattr(design, name) < 1:
            raise ConfigurationError("must be positive", parameter=name, value=getattr(design, name))
