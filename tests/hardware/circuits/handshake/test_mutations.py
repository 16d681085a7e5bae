"""Faults put into the array are seen by the comparison with the three steps."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.hardware.circuits.handshake.joining import LEFTS, RIGHTS, fed, joined, random_pattern, random_rows, simulated
from windrow.hardware.circuits.handshake import commands, core
from windrow.hardware.circuits.handshake.commands import Dispatcher, last_place
from windrow.hardware.circuits.handshake.core import JoinCore
from windrow.hardware.circuits.handshake.results import ResultQueue
from windrow.hardware.circuits.handshake.share import WindowShare
from windrow.hardware.design import JoinDesign
from windrow.hardware.simulate.simulation import Simulation
from windrow.hardware.simulate.trace import Ended

DESIGN = JoinDesign(LEFTS, RIGHTS, None, 7, 5, 3, result_depth=8)


def is_right(simulation: Simulation, seed: int) -> bool:
    """Whether the array gives the pairs that are due for a random stream."""
    random = Random(seed)
    arrived = random_rows(random, 40)
    patterns = {"offers": random_pattern(random, 0.7), "ready": random_pattern(random, (1, 0.3)[seed % 2])}
    trace, pairs = fed(simulation, DESIGN, arrived, **patterns)
    return trace.ended is Ended.DONE and pairs == joined(DESIGN, arrived)


def expires_late(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(commands, "last_place", lambda rows, cores: last_place(rows + 1, cores))


def expires_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(commands, "last_place", lambda rows, cores: last_place(rows - 1, cores))


def one_core_scans_nothing(patch: pytest.MonkeyPatch) -> None:
    compare = JoinCore._compare

    def blind(self: JoinCore, m: Any, stage: core.ScanStage, queue: ResultQueue) -> None:
        valid = stage.valid & stage.command.last if self.core == 1 else stage.valid
        compare(self, m, core.ScanStage(valid, stage.command, stage.left, stage.right), queue)

    patch.setattr(JoinCore, "_compare", blind)


def rows_are_kept_twice(patch: pytest.MonkeyPatch) -> None:
    elaborate = JoinCore.elaborate

    def repeats(self: JoinCore, platform: object) -> Any:
        m = elaborate(self, platform)
        if self.core == 0:
            m.d.comb += self.forward.payload.home.eq(self._command.home)
        return m

    patch.setattr(JoinCore, "elaborate", repeats)


def a_side_is_taken_for_the_other(patch: pytest.MonkeyPatch) -> None:
    place = Dispatcher._place
    patch.setattr(Dispatcher, "_place", lambda self, m, taken, rows: place(self, m, taken, self.design.left_rows))


def the_queue_waits_too_late(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ResultQueue, "highest_open", property(lambda self: self.depth - 2))


def the_end_overtakes_results(patch: pytest.MonkeyPatch) -> None:
    elaborate = ResultQueue.elaborate

    def hasty(self: ResultQueue, platform: object) -> Any:
        m = elaborate(self, platform)
        m.d.sync += self.is_drained.eq(self.finished & self.before_drained)
        return m

    patch.setattr(ResultQueue, "elaborate", hasty)


def a_share_forgets_its_first_row(patch: pytest.MonkeyPatch) -> None:
    elaborate = WindowShare.elaborate

    def forgetful(self: WindowShare, platform: object) -> Any:
        m = elaborate(self, platform)
        with m.If(self.store & (self.place == 0)):
            m.d.sync += self.nonempty.eq(0)
        return m

    patch.setattr(WindowShare, "elaborate", forgetful)


MUTATIONS = [
    expires_late,
    expires_early,
    one_core_scans_nothing,
    rows_are_kept_twice,
    a_side_is_taken_for_the_other,
    the_queue_waits_too_late,
    the_end_overtakes_results,
    a_share_forgets_its_first_row,
]


def test_without_a_fault_none_is_seen() -> None:
    simulation = simulated(DESIGN)
    assert all(is_right(simulation, seed) for seed in range(4))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.__name__)
def test_a_fault_is_seen(mutation: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mutation(monkeypatch)
    simulation = simulated(DESIGN)
    assert not all(is_right(simulation, seed) for seed in range(4))
