"""The result FIFO of a core, which is a node of the merging network as well."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from windrow.hardware.circuits.handshake.commands import pair_of
from windrow.hardware.circuits.handshake.link import NeighbourLink
from windrow.hardware.circuits.ports import JoinPorts
from windrow.hardware.design import JoinDesign

FEWEST = 8


def queue_depth(design: JoinDesign) -> int:
    """`result_depth` as a power of two and at least eight: the last few places are for pairs that are underway.

    >>> from windrow.hardware.design import BitLayout
    >>> queue_depth(JoinDesign(BitLayout(()), BitLayout(()), None, 1, 1, 1, result_depth=12))
    16
    """
    return 1 << (max(design.result_depth, FEWEST) - 1).bit_length()


class ResultQueue(wiring.Component):
    """A queue of the pairs of its core (`own`) and of all cores before it (`before`), at most one in each cycle.

    Own pairs come first and are never refused: `is_open` (`stays_open` one cycle ahead) tells the core to make no more
    of them while there is room for the `underway` ones that it has begun; nothing is taken from before either. This
    does not starve the cores before: they take no rows while they wait, so in the end there are none for this one.
    `is_drained` when the core has `finished`, the cores before are drained and everything has been taken.

    Law: what comes in goes out once, in its order; `is_overrun` is never 1 if `own` obeys `is_open`. A `lossy` queue
    drops what comes while it is overrun, any other breaks the law.
    """

    def __init__(self, design: JoinDesign, underway: int, lossy: bool = False) -> None:
        pairs = stream.Signature(pair_of(design))
        self.depth, self.underway, self.lossy = queue_depth(design), underway, lossy
        super().__init__(
            {
                "own_valid": In(1),
                "own": In(pair_of(design)),
                "finished": In(1),
                "before": In(pairs),
                "before_drained": In(1),
                "output": Out(pairs),
                "is_drained": Out(1),
                "is_open": Out(1, init=1),
                "stays_open": Out(1),
                "is_overrun": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = kept = memory.Memory(shape=self.own.shape(), depth=self.depth, init=[])
        write, read = kept.write_port(), kept.read_port(domain="comb")
        written, taken = Signal(range(self.depth)), Signal(range(self.depth))
        enters, entering = Signal(), Signal.like(self.own)
        m.d.sync += [
            enters.eq(self.own_valid | (self.is_open & self.before.valid)),
            entering.eq(Mux(self.own_valid, self.own, self.before.payload)),
        ]
        is_full, is_taken = self._count(m, write.en)
        m.d.comb += [
            self.is_overrun.eq(enters & is_full),
            self.before.ready.eq(self.is_open & ~self.own_valid),
            write.en.eq(enters & ~is_full if self.lossy else enters),
            write.addr.eq(written),
            write.data.eq(entering),
            read.addr.eq(taken),
            self.output.payload.eq(read.data),
        ]
        with m.If(write.en):
            m.d.sync += written.eq(written + 1)
        with m.If(is_taken):
            m.d.sync += taken.eq(taken + 1)
        m.d.sync += self.is_drained.eq(self.finished & self.before_drained & ~enters & ~self.output.valid)
        return m

    def _count(self, m: Module, is_written: Any) -> tuple[Any, Any]:
        """Keep the level as a row of bits, as many of them set as pairs are there: what follows from it is one bit.

        So there are no numbers to compare on the way to the neighbours, who see no logic but one gate.
        """
        level, is_taken = Signal(self.depth), self.output.valid & self.output.ready
        m.d.comb += [self.output.valid.eq(level[0]), self.stays_open.eq(~level[self.highest_open])]
        m.d.sync += self.is_open.eq(self.stays_open)
        with m.If(is_written ^ is_taken):
            m.d.sync += level.eq(Mux(is_written, Cat(Const(1, 1), level), level[1:]))
        return level[-1], is_taken

    @property
    def highest_open(self) -> int:
        """The level after which the queue stays open for one more cycle, which may start one pair more.

        Not in the level are then the pair that enters, one that comes in this cycle and one of the next, and what is
        underway.
        """
        return self.depth - self.underway - 3


class ResultPort(wiring.Component):
    """The end of the chain: its pairs, and one with `done` when it is drained."""

    def __init__(self, design: JoinDesign) -> None:
        pairs = stream.Signature(pair_of(design))
        ports = JoinPorts(design).members
        super().__init__({"input": In(pairs), "is_drained": In(1), "output": ports["output"]})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        is_ended, pair = Signal(), self.output.payload
        m.d.comb += [
            self.output.valid.eq(self.input.valid | (self.is_drained & ~is_ended)),
            self.input.ready.eq(self.output.ready),
            pair.left.eq(self.input.payload.left),
            pair.right.eq(self.input.payload.right),
            pair.done.eq(self.is_drained),
        ]
        with m.If(self.is_drained & self.output.ready):
            m.d.sync += is_ended.eq(1)
        return m


def merge(m: Module, cores: Sequence[Any], results: ResultPort) -> None:
    """The merging network: the results of each core go through the queues of all cores after it."""
    m.d.comb += cores[0].before_drained.eq(1)
    for place, (one, other) in enumerate(pairwise(cores)):
        m.submodules[f"merge{place}"] = link = NeighbourLink(one.results.payload.shape())
        wiring.connect(m, one.results, link.input)
        wiring.connect(m, link.output, other.before)
        m.d.comb += other.before_drained.eq(one.is_drained & ~link.output.valid)
    wiring.connect(m, cores[-1].results, results.input)
    m.d.comb += results.is_drained.eq(cores[-1].is_drained)
