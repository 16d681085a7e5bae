"""Revisions: corrected results of windows that were reported before a late row of theirs came.

Panes stay for a while (`within`) after their last window closed. A late row goes into its pane; the windows it
missed are marked, and put together again from their panes when the next boundary closes, so that several late rows
make one correction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import Batch
from windrow.operators.late.judging import Verdicts
from windrow.operators.state.groups import Codes
from windrow.operators.windows.base import Closed
from windrow.operators.windows.extents import end_of, first_windows, last_closed, last_windows
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.operators.windows.panes import PanedWid
from windrow.plan.nodes import Lateness
from windrow.semantics.windows.kinds import Sliding

if TYPE_CHECKING:
    from windrow.operators.aggregate.frame import WindowAggregateOperator


class Revisions:
    """What must be corrected, and how often each result was."""

    def __init__(self, operator: WindowAggregateOperator) -> None:
        assert isinstance(operator.node.window, Sliding)
        assert isinstance(operator.windower, PanedWid)
        self.operator = operator
        self.window: Sliding = operator.node.window
        self.windower: PanedWid = operator.windower
        self.consistent = operator.node.lateness is Lateness.CONSISTENT
        self.dirty: set[tuple[int, int]] = set()
        self.numbers: Counter[tuple[int, int]] = Counter()

    def note(self, rows: GroupedRows, verdict: Verdicts, closed: Integers) -> Verdicts:
        """Mark the windows to correct; which rows stay absent from a window for good, and which go into panes.

        `closed` is the boundary of the group of each row.
        """
        first, last = first_windows(self.window, rows.times), last_windows(self.window, rows.times)
        done, oldest = last_closed(self.window, closed), self._oldest(closed)
        absent = verdict.missed & (first < oldest)
        usable = verdict.missed & ((np.minimum(last, done) >= oldest) | (last > done))
        if self.consistent:
            usable &= ~absent
        marked = rows.group_codes(), np.maximum(first, oldest), np.minimum(last, done)
        for code, low, high in zip(*(column[usable].tolist() for column in marked), strict=True):
            self.dirty.update((number, code) for number in range(low, high + 1))
        return replace(verdict, absent=absent, counts=usable)

    def _oldest(self, closed: Integers) -> Integers:
        """The first window that may still be corrected, where windows are closed up to here."""
        return last_closed(self.window, closed - self.windower.keep) + 1

    def flush(self) -> Iterator[Batch]:
        if not self.dirty:
            return
        dirty, self.dirty = self.dirty, set()
        for closed in self._recomputed(dirty):
            wanted = np.flatnonzero([pair in dirty for pair in _pairs(closed)])
            kept = self.operator.results.chosen(closed.take(wanted), self.windower)
            if len(kept.answers):
                yield self.operator.results.result(replace(kept, revisions=self._count(kept)))
        self._forget_numbers()

    def _forget_numbers(self) -> None:
        codes = np.array([code for _, code in self.numbers], np.int32)
        oldest = self._oldest(self.operator.bounds.of(codes)).tolist()
        known = zip(self.numbers.items(), oldest, strict=True)
        self.numbers = Counter({pair: n for (pair, n), first in known if pair[0] >= first})

    def _count(self, closed: Closed) -> Integers:
        pairs = _pairs(closed)
        self.numbers.update(pairs)
        return np.array([self.numbers[pair] for pair in pairs], np.int64)

    def _recomputed(self, dirty: set[tuple[int, int]]) -> Iterator[Closed]:
        """All windows from the first to the last dirty one, of the dirty groups, from the kept panes."""
        numbers, codes = zip(*dirty, strict=True)
        chosen = np.zeros(self.operator.grouping.count, np.bool_)
        chosen[list(codes)] = True
        part = self.windower.extract(chosen, kept=True)
        part.timeline.skip_to(min(numbers))
        yield from part.close(end_of(self.window, max(numbers)), self.operator.grouping.count)

    def codes_in_use(self) -> Codes:
        return np.unique([code for _, code in {*self.dirty, *self.numbers}]).astype(np.int32)

    def remap(self, mapping: Codes, groups: int) -> None:
        self.dirty = {(number, int(mapping[code])) for number, code in self.dirty}
        self.numbers = Counter({(number, int(mapping[code])): n for (number, code), n in self.numbers.items()})

    def to_json(self) -> dict[str, Any]:
        return {"dirty": sorted(self.dirty), "numbers": sorted([*pair, n] for pair, n in self.numbers.items())}

    def from_json(self, saved: dict[str, Any]) -> None:
        self.dirty = {(number, code) for number, code in saved["dirty"]}
        self.numbers = Counter({(number, code): n for number, code, n in saved["numbers"]})


def _pairs(closed: Closed) -> list[tuple[int, int]]:
    """Window and group of each answer."""
    return list(zip(closed.answers.places.tolist(), closed.answers.codes.tolist(), strict=True))
