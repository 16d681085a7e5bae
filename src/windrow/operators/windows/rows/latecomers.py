"""Late rows where windows end with rows: the ends they missed, the windows of their batch that still hold them."""

from __future__ import annotations

import numpy as np

from windrow.aggregates.kinds.base import Integers, Numbers
from windrow.operators.kernels.rows.latecomers import add_late, greatest_late
from windrow.operators.kernels.rows.per_row import missed_ends
from windrow.operators.state.cells import Cells
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.state.kinds import ADDS
from windrow.operators.store.cell_rows import state_of
from windrow.operators.store.row_block import RowBlock
from windrow.operators.store.row_store import RowStore


class Latecomers:
    """Rows that met the bounds `entries`, which never go back, and are in the windows that end from there on.

    An answer costs the same whether rows were late or not; a late row costs the late rows of its group that are later
    than it and have smaller values.
    """

    def __init__(self, rows: RowBlock, entries: Integers, reach: int, groups: int) -> None:
        self.times: Integers = rows["place"]
        self.state = state_of(rows)
        self.entries = entries
        self.reach = reach
        codes, self._places = np.unique(rows["code"], return_inverse=True)
        self._owners: Codes = np.full(groups, -1, np.int32)
        self._owners[codes] = np.arange(len(codes))
        self._exits = np.argsort(self.times, kind="stable")
        self._running = np.zeros((len(codes), self.state.adds.shape[1]), np.int64)
        self._position = np.zeros(2, np.int64)
        greatest = {kind: values for kind, values in self.state.matrices.items() if kind is not ADDS}
        self._lists = {kind: _lists(len(codes), values) for kind, values in greatest.items()}

    def join(self, answers: Cells, ends: Integers) -> None:
        """Into the answers of windows with these ends, which never go back from one call to the next."""
        owners, state = self._owners[answers.codes], self.state
        rows = self.times, self._places, self.entries
        add_late(
            ends, owners, *rows, self._exits, self.reach, state.adds, self._position, self._running, answers.state.adds
        )
        for kind, kept in self._lists.items():
            values, out = state.matrices[kind], answers.state.matrices[kind]
            greatest_late(ends, owners, *rows, self.reach, kind.together, values, *kept, out)


def _lists(groups: int, values: Numbers) -> tuple[Integers, Codes, Codes, Codes, Codes]:
    """For each group and column the rows that may still be the greatest, chained by time."""
    links = np.full((4, max(groups, len(values)), values.shape[1]), -1, np.int32)
    return np.zeros(1, np.int64), links[0], links[1], links[2], links[3]


class PastEnds(RowStore):
    """Ends of reported windows in order, numbered on, each with its group; -1: of one that is forgotten."""

    def __init__(self) -> None:
        super().__init__(RowBlock({"place": np.empty(0, np.int64), "code": NO_CODES}), by="place")

    def missed(
        self, times: Integers, bounds: Integers, codes: Codes, ahead: RowBlock | None = None
    ) -> tuple[Integers, Integers, Integers]:
        """How many ends lie from each time to its bound, of its group; the first and the last, or the time itself.

        `ahead` are further ends, none of them before those known here.
        """
        counts, firsts, lasts = np.zeros(len(times), np.int64), times.copy(), times.copy()
        known = self.read(self.search(int(times.min())) if len(times) else 0, len(self))
        if ahead is not None and len(ahead):
            known = RowBlock.joined([known, ahead])
        missed_ends(times, bounds, codes, known["place"], known["code"], counts, firsts, lasts)
        return counts, firsts, lasts
