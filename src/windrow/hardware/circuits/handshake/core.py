"""A join core: compares each row with its share of the other window, and keeps those whose turn it is to keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from windrow.hardware.circuits.handshake.commands import command_of, longest_share, pair_of, share_rows
from windrow.hardware.circuits.handshake.predicate import is_match_later
from windrow.hardware.circuits.handshake.results import ResultQueue
from windrow.hardware.circuits.handshake.share import DISTRIBUTED_ROWS, WindowShare
from windrow.hardware.design import JoinDesign

COMPARING = 3
"""Cycles from a scanned row to whether it matches."""


@dataclass(frozen=True)
class ScanStage:
    """What has been read: the row that came, the rows found at its scan's address, and whether there is anything."""

    valid: Value
    command: data.View
    left: Value
    right: Value


class JoinCore(wiring.Component):
    """Does the three steps of the definition with its share: scan the other window, insert, and so expire.

    A row is inserted in the first cycle of its scan and the scan of the next row comes after it, so a core does one row
    after the other however long any of them waits: which pairs meet does not depend on timing. Every row is kept by one
    core, so each pair meets once. A row takes as many cycles as the share has rows (at least two).
    """

    def __init__(self, design: JoinDesign, core: int) -> None:
        self.design, self.core = design, core
        self.is_block = longest_share(design) > DISTRIBUTED_ROWS
        commands = stream.Signature(command_of(design))
        pairs = stream.Signature(pair_of(design))
        super().__init__(
            {
                "commands": In(commands),
                "forward": Out(commands),
                "before": In(pairs),
                "before_drained": In(1),
                "results": Out(pairs),
                "is_drained": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = ResultQueue(self.design, COMPARING + self.is_block)
        m.submodules.left = left = self._share(self.design.left.bits, self.design.left_rows)
        m.submodules.right = right = self._share(self.design.right.bits, self.design.right_rows)
        wiring.connect(m, wiring.flipped(self.before), queue.before)
        wiring.connect(m, queue.output, wiring.flipped(self.results))
        m.d.comb += [queue.before_drained.eq(self.before_drained), self.is_drained.eq(queue.is_drained)]
        self._command = command = Signal(command_of(self.design))
        m.d.comb += [self.forward.payload.eq(command), self.forward.payload.home.eq(command.home - 1)]
        scanning = self._scan(m, left, right, queue)
        stage = ScanStage(scanning, command, left.found, right.found)
        self._compare(m, self._delayed(m, stage) if self.is_block else stage, queue)
        return m

    def _share(self, bits: int, rows: int) -> WindowShare:
        address = command_of(self.design)["address"].shape
        return WindowShare(max(bits, 1), share_rows(rows, self.design.cores, self.core), address, self.is_block)

    def _scan(self, m: Module, left: WindowShare, right: WindowShare, queue: ResultQueue) -> Value:
        """Take commands one by one, keep their rows, count addresses down. Gives whether an address is read now."""
        coming, command = self.commands.payload, self._command
        busy, address, is_final = Signal(), Signal(command.address.shape()), Signal()
        is_sent, begin, is_free = ~self.forward.valid | self.forward.ready, Signal(), Signal(init=1)
        m.d.comb += self.commands.ready.eq(is_sent & is_free)
        m.d.comb += begin.eq(self.commands.ready & self.commands.valid)
        with m.If(self.forward.ready):
            m.d.sync += self.forward.valid.eq(0)
        # Known a cycle ahead, for so much hangs on `begin`: nothing is being scanned, or the last address now is.
        m.d.sync += is_free.eq(~busy | Mux(queue.is_open, address == 1, is_final) & queue.stays_open)
        with m.If(busy & queue.is_open):
            m.d.sync += [busy.eq(~is_final), address.eq(address - 1), is_final.eq(address == 1)]
            with m.If(is_final):
                m.d.sync += is_free.eq(1)
        with m.If(begin):
            m.d.sync += [
                command.eq(coming),
                self.forward.valid.eq(1),
                busy.eq(coming.last | Mux(coming.right, left.nonempty, right.nonempty)),
                address.eq(Mux(coming.right, left.top, right.top)),
                is_final.eq(Mux(coming.right, left.top == 0, right.top == 0)),
                is_free.eq(0),
            ]
        m.d.comb += [left.address.eq(address), right.address.eq(address)]
        self._keep(m, begin, left, right)
        return busy & queue.is_open

    def _keep(self, m: Module, begin: Any, left: WindowShare, right: WindowShare) -> None:
        """Store a row in the cycle after it was taken: there is one, for the next is taken another cycle later.

        `home` says how many cores further a row is kept. Behind its core it goes on from the greatest number there is,
        and the chain ends before it is 0 again.
        """
        coming, command = self.commands.payload, self._command
        is_home = begin & ~coming.last & (coming.home == 0)
        for share, is_side in ((left, ~coming.right), (right, coming.right)):
            is_stored = Signal()
            m.d.sync += is_stored.eq(is_home & is_side)
            m.d.comb += [share.store.eq(is_stored), share.place.eq(command.address), share.row.eq(command.data)]

    def _delayed(self, m: Module, stage: ScanStage) -> ScanStage:
        """The same one cycle later, when block RAM has found its rows."""
        valid, command = Signal(), Signal.like(stage.command)
        m.d.sync += [valid.eq(stage.valid), command.eq(stage.command)]
        return ScanStage(valid, command, stage.left, stage.right)

    def _compare(self, m: Module, stage: ScanStage, queue: ResultQueue) -> None:
        """Three stages: both rows side by side; each comparison; whether they match. What matches goes to the queue."""
        command = stage.command
        sides, compared, own = (Signal.like(queue.own, name=name) for name in ("sides", "compared", "own"))
        valid, last, own_valid = Signal(2), Signal(2), Signal()
        m.d.sync += [
            valid.eq(Cat(stage.valid & ~command.last, valid)),
            last.eq(Cat(stage.valid & command.last, last)),
            sides.left.eq(Mux(command.right, stage.left, command.data)),
            sides.right.eq(Mux(command.right, command.data, stage.right)),
            compared.eq(sides),
            own.eq(compared),
            own_valid.eq(valid[1] & is_match_later(m, self.design, sides.left, sides.right)),
        ]
        finished = Signal()
        m.d.sync += finished.eq(finished | last[1])
        m.d.comb += [queue.own.eq(own), queue.own_valid.eq(own_valid), queue.finished.eq(finished)]
