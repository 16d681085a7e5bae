"""Many sources, one stream: ways to choose one of several words, and the streams of several queries made one.

An encoder turns the flags into a number that steers a multiplexer (the papers): the lowest flag wins, the path is long.
One-hot masks every word with its flag and joins them: shorter, and right only if one flag is set. A tree does the same
with registers in between, so its path does not grow with the number of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from windrow.hardware.design import Merge

BRANCHES = 4
"""How many words of a tree meet at one register."""


def tree_levels(merge: Merge, words: int) -> int:
    """How many cycles later the chosen word comes.

    >>> [tree_levels(Merge.TREE, words) for words in (1, 4, 5, 61)], tree_levels(Merge.ONE_HOT, 61)
    ([0, 1, 2, 3], 0)
    """
    levels = 0
    while merge is Merge.TREE and words > 1:
        words, levels = -(-words // BRANCHES), levels + 1
    return levels


def choose(m: Module, merge: Merge, flags: Sequence[Any], words: Sequence[Any]) -> Any:
    """The word whose flag is set, `tree_levels` cycles later; of several flags only an encoder takes the lowest."""
    words = [Value.cast(word) for word in words]
    if len(words) == 1:
        return words[0]
    if merge is Merge.ENCODER:
        return Array(words)[_encoded(flags)]
    masked = [word & flag.replicate(len(word)) for flag, word in zip(flags, words, strict=True)]
    while merge is Merge.TREE and len(masked) > 1:
        masked = [_registered(m, masked[first : first + BRANCHES]) for first in range(0, len(masked), BRANCHES)]
    return reduce(or_, masked)


def _encoded(flags: Sequence[Any]) -> Any:
    """The place of the lowest flag; the last place if none is set."""
    chosen: Any = Const(len(flags) - 1, max(1, (len(flags) - 1).bit_length()))
    for place in range(len(flags) - 2, -1, -1):
        chosen = Mux(flags[place], place, chosen)
    return chosen


def _registered(m: Module, words: Sequence[Any]) -> Any:
    held = Signal(len(words[0]))
    m.d.sync += held.eq(reduce(or_, words))
    return held


def delayed(m: Module, value: Any, cycles: int) -> Any:
    """The value so many cycles later."""
    for _ in range(cycles):
        following = Signal.like(value, name="delayed")
        m.d.sync += following.eq(value)
        value = following
    return value


class CreditQueue(wiring.Component):
    """Keeps what comes out of a pipeline that cannot wait, and says beforehand whether there is room for more.

    `begin` is to be 1 in a cycle in which something enters the pipeline that may come out of it; that is allowed while
    `room` is 1. `end` is 1 when it does, with `keep` if there is an `outcome`. So nothing is lost, and `room` is a
    matter of one small counter, not of the whole pipeline.
    """

    def __init__(self, shape: Any, depth: int) -> None:
        self.shape, self.depth = shape, depth
        super().__init__(
            {
                "begin": In(1),
                "room": Out(1),
                "end": In(1),
                "keep": In(1),
                "outcome": In(shape),
                "output": Out(stream.Signature(shape)),
            }
        )

    def elaborate(self, _: Any) -> Module:
        m = Module()
        m.submodules.queue = queue = SyncFIFOBuffered(width=Value.cast(self.outcome).shape().width, depth=self.depth)
        underway = Signal(range(self.depth + 1))
        left = Signal(2)
        taken = queue.r_rdy & self.output.ready
        m.d.comb += [
            self.room.eq(underway != self.depth),
            queue.w_en.eq(self.end & self.keep),
            queue.w_data.eq(self.outcome),
            queue.r_en.eq(self.output.ready),
            self.output.valid.eq(queue.r_rdy),
            self.output.payload.eq(queue.r_data),
            left.eq((self.end & ~self.keep) + taken),
        ]
        m.d.sync += underway.eq(underway + self.begin - left)
        return m


class QueryMerger(wiring.Component):
    """The results of several queries as one stream: in turns, those of each in its order, one a cycle.

    `done` follows when it has come from all.
    """

    def __init__(self, shape: Any, inputs: int) -> None:
        self.shape, self.inputs = shape, inputs
        ports = {f"input{place}": In(stream.Signature(shape)) for place in range(inputs)}
        super().__init__({**ports, "output": Out(stream.Signature(shape))})

    def elaborate(self, _: Any) -> Module:
        m = Module()
        inputs = [getattr(self, f"input{place}") for place in range(self.inputs)]
        if self.inputs == 1:
            wiring.connect(m, wiring.flipped(inputs[0]), wiring.flipped(self.output))
            return m
        turn, free = Signal(range(self.inputs)), Signal()
        waiting = Cat(one.valid & ~one.payload.done for one in inputs)
        done = Cat(one.valid & one.payload.done for one in inputs)
        m.d.comb += free.eq(self.output.ready | ~self.output.valid)
        chosen = Array(_first_from(waiting, place) for place in range(self.inputs))[turn]
        with m.If(free):
            m.d.sync += self.output.valid.eq(waiting.any() | done.all())
            m.d.sync += self.output.payload.eq(Array(one.payload for one in inputs)[chosen])
            with m.If(waiting.any()):
                m.d.sync += turn.eq(Mux(chosen == self.inputs - 1, 0, chosen + 1))
        for place, one in enumerate(inputs):
            m.d.comb += one.ready.eq(free & Mux(one.payload.done, done.all(), chosen == place))
        return m


def _first_from(waiting: Any, start: int) -> Any:
    """The first place that waits, from `start` on and then from the beginning."""
    order = [*range(start, len(waiting)), *range(start)]
    chosen: Any = Const(order[-1], range(len(waiting)))
    for place in reversed(order[:-1]):
        chosen = Mux(waiting[place], place, chosen)
    return chosen
