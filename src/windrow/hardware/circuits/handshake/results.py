"""The result FIFO of a core, which is a node of the merging network as well."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from windrow.hardware.circuits.handshake.commands import pair_of
from windrow.hardware.design import JoinDesign

FEWEST = 8


def queue_depth(design: JoinDesign) -> int:
    """`result_depth` as a power of two and at least eight: the last few places are for pairs that are underway.

    >>> from windrow.hardware.design import Layout
    >>> queue_depth(JoinDesign(Layout(()), Layout(()), None, 1, 1, 1, result_depth=12))
    16
    """
    return 1 << (max(design.result_depth, FEWEST) - 1).bit_length()


class ResultQueue(wiring.Component):
    """A queue of the pairs of its core (`own`) and of all cores before it (`before`), at most one in each cycle.

    Own pairs come first and are never refused: `is_open` tells the core to make no more of them while there is room for
    the `underway` ones that it has begun; nothing is taken from before either. This does not starve the cores before:
    they get no rows while they wait, so neither does this one. A pair with `done` is passed on once the core `finished`.

    Law: what comes in goes out once, that of each source in its order; `is_overrun` is never 1 if `own` obeys `is_open`.
    """

    def __init__(self, design: JoinDesign, underway: int) -> None:
        pair = pair_of(design)
        self.depth, self.underway = queue_depth(design), underway
        super().__init__(
            {
                "own_valid": In(1),
                "own": In(pair),
                "before": In(stream.Signature(pair)),
                "finished": In(1),
                "output": Out(stream.Signature(pair)),
                "is_open": Out(1, init=1),
                "is_overrun": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = kept = memory.Memory(shape=self.own.shape(), depth=self.depth, init=[])
        write, read = kept.write_port(), kept.read_port(domain="comb")
        written, taken = Signal(range(2 * self.depth)), Signal(range(2 * self.depth))
        level = Signal(range(2 * self.depth))
        is_full = level == self.depth
        is_free = self.is_open & ~self.own_valid & (self.finished | ~self.before.payload.done)
        m.d.comb += [
            level.eq(written - taken),
            self.is_overrun.eq(self.own_valid & is_full),
            self.before.ready.eq(is_free),
            write.en.eq((self.own_valid & ~is_full) | (is_free & self.before.valid)),
            write.addr.eq(written[:-1]),
            write.data.eq(Mux(self.own_valid, self.own, self.before.payload)),
            read.addr.eq(taken[:-1]),
            self.output.payload.eq(read.data),
            self.output.valid.eq(written != taken),
        ]
        m.d.sync += [
            written.eq(written + write.en),
            taken.eq(taken + (self.output.valid & self.output.ready)),
            self.is_open.eq(level <= self.highest_open),
        ]
        return m

    @property
    def highest_open(self) -> int:
        """The level after which the queue stays open for one more cycle, which may add one pair to it and start one."""
        return self.depth - self.underway - 2


def end_of_results(m: Module, design: JoinDesign) -> Any:
    """What comes before the first core: one pair with `done`, which it and each core after it holds until the end."""
    end = stream.Signature(pair_of(design)).create(path=("end",))
    is_taken = Signal()
    m.d.comb += [end.valid.eq(~is_taken), end.payload.done.eq(1)]
    with m.If(end.ready):
        m.d.sync += is_taken.eq(1)
    return end
