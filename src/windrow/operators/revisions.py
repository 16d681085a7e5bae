"""Revisions: corrected results of windows that were reported before a late row of theirs came.

Panes stay for a while (`within`) after their last window closed. A late row goes into its pane; the windows it
missed are marked, and put together again from their panes when the next boundary closes, so that several late rows
make one correction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from windrow.aggregates.base import Custom, Values
from windrow.operators.base import Batch
from windrow.operators.lateness import Verdict
from windrow.operators.state.customs import CustomState, PanedStates
from windrow.operators.state.groups import Codes
from windrow.operators.state.multisets import Multiset
from windrow.operators.state.paned_values import PanedValues
from windrow.operators.state.timeline import Answers, Timeline
from windrow.operators.windows.base import Closed, Rows, with_values
from windrow.operators.windows.extents import first_windows, last_closed, last_windows
from windrow.operators.windows.panes import PanedWid
from windrow.plan.nodes import Lateness
from windrow.semantics.windows import Sliding

if TYPE_CHECKING:
    from windrow.operators.window_aggregate import WindowOperator


class Revisions:
    """What must be corrected, and how often each result was."""

    def __init__(self, operator: WindowOperator) -> None:
        assert isinstance(operator.window, Sliding)
        assert isinstance(operator.windower, PanedWid)
        self.operator = operator
        self.window: Sliding = operator.window
        self.windower: PanedWid = operator.windower
        self.consistent = operator.node.lateness is Lateness.CONSISTENT
        self.dirty: set[tuple[int, int]] = set()
        self.numbers: defaultdict[tuple[int, int], int] = defaultdict(int)

    def _oldest(self) -> int:
        """The first window that may still be corrected."""
        return last_closed(self.window, self.operator.closed - self.operator.within) + 1

    def note(self, rows: Rows, verdict: Verdict) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Mark the windows to correct. Returns which rows stay absent from a window, and which go into panes."""
        first = first_windows(self.window, rows.times)
        closed = last_closed(self.window, self.operator.closed)
        last = np.minimum(last_windows(self.window, rows.times), closed)
        oldest = self._oldest()
        absent = verdict.missed & (first < oldest)
        open_still = last_windows(self.window, rows.times) > closed
        usable = verdict.missed & ((last >= oldest) | open_still)
        if self.consistent:
            usable &= ~absent
        codes = rows.group_codes()
        for i in np.flatnonzero(usable).tolist():
            for number in range(max(int(first[i]), oldest), int(last[i]) + 1):
                self.dirty.add((number, int(codes[i])))
        return absent, usable

    def flush(self) -> Iterator[Batch]:
        """The corrected results."""
        if not self.dirty:
            return
        dirty, self.dirty = self.dirty, set()
        for closed in self._recomputed(dirty):
            pairs = list(zip(closed.answers.windows.tolist(), closed.answers.codes.tolist(), strict=True))
            wanted = np.flatnonzero([pair in dirty for pair in pairs])
            kept = self.operator.results.chosen(closed.take(wanted))
            if len(kept.answers):
                yield self.operator.results.result(kept, self._count(kept))
        oldest = self._oldest()
        self.numbers = defaultdict(int, {pair: n for pair, n in self.numbers.items() if pair[0] >= oldest})

    def _count(self, closed: Closed) -> npt.NDArray[np.int64]:
        counted = []
        for pair in zip(closed.answers.windows.tolist(), closed.answers.codes.tolist(), strict=True):
            self.numbers[pair] += 1
            counted.append(self.numbers[pair])
        return np.array(counted, np.int64)

    def _recomputed(self, dirty: set[tuple[int, int]]) -> Iterator[Closed]:
        """All windows from the first to the last dirty one, of the dirty groups, from the kept panes."""
        numbers = [number for number, _ in dirty]
        timeline = self._slice(np.unique([code for _, code in dirty]).astype(np.int32))
        windower = self.windower
        values = {part: self._copy_values(store) for part, store in windower.values.items()}
        states = {part: self._copy_states(store) for part, store in windower.customs.items()}

        def multiset(number: int, part: Values) -> Multiset:
            return values[part].slide_to(number * windower.slide_panes)

        def custom(number: int, part: Custom) -> tuple[Codes, CustomState]:
            found = states[part].slide_to(number * windower.slide_panes)
            if found is None:
                return np.empty(0, np.int32), CustomState.nothing(part)
            return found.codes, found.state

        for answers in timeline.report(max(numbers), self.operator.grouping.count, min(numbers)):
            if windower.plan.keeps_values:
                yield with_values(windower.plan, answers, multiset, custom)
            else:
                yield Closed(Answers(answers.windows, answers.codes, answers.state))

    def _slice(self, codes: Codes) -> Timeline:
        kept = self.windower.timeline
        chosen = np.flatnonzero(np.isin(kept.codes[: kept.count], codes))
        fresh = Timeline(kept.layout, kept.range_panes, kept.slide_panes)
        fresh.append(kept.panes[chosen], kept.codes[chosen], kept.cells.take(chosen))
        return fresh

    def _copy_values(self, store: PanedValues) -> PanedValues:
        fresh = PanedValues(store.range_panes, forever=False)
        fresh.panes = store.panes
        return fresh

    def _copy_states(self, store: PanedStates) -> PanedStates:
        fresh = PanedStates(store.range_panes, forever=False)
        fresh.panes = store.panes
        return fresh

    def codes_in_use(self) -> Codes:
        return np.unique([code for _, code in {*self.dirty, *self.numbers}]).astype(np.int32)

    def remap(self, mapping: Codes, groups: int) -> None:
        self.dirty = {(number, int(mapping[code])) for number, code in self.dirty}
        renamed = {(number, int(mapping[code])): n for (number, code), n in self.numbers.items()}
        self.numbers = defaultdict(int, renamed)

    def to_json(self) -> dict[str, Any]:
        return {"dirty": sorted(self.dirty), "numbers": sorted([*pair, n] for pair, n in self.numbers.items())}

    def from_json(self, saved: dict[str, Any]) -> None:
        self.dirty = {(number, code) for number, code in saved["dirty"]}
        self.numbers = defaultdict(int, {(number, code): n for number, code, n in saved["numbers"]})
