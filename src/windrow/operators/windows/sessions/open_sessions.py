"""Session windows: rows of a group at most `gap` apart share one; it ends `gap` after its last row.

Rows of a batch are first put into sessions among themselves, then merged with the open ones; arrival order does
not matter. A session closes with the first bound of its group above last + gap, because a row exactly `gap` after the
last one still joins. Late rows do not come here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Custom, Integers, Values
from windrow.operators.kernels.rows.sessions import assign_rows, label_sessions
from windrow.operators.state.cells import Cells
from windrow.operators.state.changes import Saved, lasting
from windrow.operators.state.customs import CustomState
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.state.layout import Table
from windrow.operators.state.values.large_windows import LargeWindow, drained
from windrow.operators.state.values.multisets import Multiset
from windrow.operators.state.values.value_rows import ValueLog, ValueRows
from windrow.operators.store.cell_rows import cell_rows, converting, state_of
from windrow.operators.store.chosen_rows import between
from windrow.operators.store.row_block import RowBlock
from windrow.operators.windows.base import Closed, Plan
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.semantics.progress.policies import END
from windrow.semantics.windows.kinds import Session


class Sessions:
    """Sessions as rows: their group, start (`place`), last row and state, sorted by group and start."""

    def __init__(self, window: Session, plan: Plan) -> None:
        self.gap = window.gap
        self.plan = plan
        self.layout = plan.layout
        self.open = self._none()
        self.rows_kept = ValueRows(plan.values, plan.custom, plan.sealing)
        self.closed = self.spans
        """Those that the last `close` closed."""

    def _none(self) -> RowBlock:
        none = np.empty(0, np.int64)
        return self._fresh(NO_CODES, none, none, self.layout.empty(0))

    def _fresh(self, codes: Codes, starts: Integers, lasts: Integers, state: Table) -> RowBlock:
        """Sessions of rows that have come now."""
        return cell_rows(Cells(starts, codes, state)).having({"last": lasts})

    def add(self, rows: GroupedRows) -> None:
        codes = rows.group_codes()
        order = np.lexsort((rows.times, codes))
        labels = np.empty(len(rows), np.int64)
        times, sorted_codes = rows.times[order], codes[order]
        count = label_sessions(sorted_codes, times, times, self.gap, labels)
        slots = np.empty(len(rows), np.int32)
        slots[order] = labels
        table = self.layout.empty(count)
        self.layout.scatter(rows.lifted, slots, table)
        self.layout.settle(table)
        edges = np.searchsorted(labels, np.arange(count + 1))
        self._merge(self._fresh(sorted_codes[edges[:-1]], times[edges[:-1]], times[edges[1:] - 1], table))
        rows.keep_values(self.rows_kept)

    def _merge(self, fresh: RowBlock) -> None:
        """Take sessions in; those at most a gap apart become one."""
        rows = RowBlock.joined([self.open, fresh]).ordered("code", "place")
        labels = np.empty(len(rows), np.int64)
        count = label_sessions(rows["code"], rows["place"], rows["last"], self.gap, labels)
        if count:
            self.open = self._merged(rows, labels, np.searchsorted(labels, np.arange(count)))

    def _merged(self, rows: RowBlock, labels: Integers, first: Integers) -> RowBlock:
        """One session for each label of sorted ones; `first` is where each begins."""
        merged = self.layout.empty(len(first))
        merged.combine(labels, state_of(rows))
        lasts = np.maximum.reduceat(rows["last"], first)
        return self._fresh(rows["code"][first], rows["place"][first], lasts, merged)

    def over(self, bounds: Integers) -> npt.NDArray[np.bool_]:
        """Which sessions no row can join any more, at these bounds of the groups, by their codes."""
        limits = bounds[self.open["code"]]
        found: npt.NDArray[np.bool_] = (limits == END) | (self.open["last"] + self.gap < limits)
        return found

    def close(self, bounds: Integers) -> Iterator[Closed]:
        """The sessions that are over; they leave."""
        over = self.over(bounds)
        self.closed = self.spans.take(over)
        if not over.any():
            return
        closed = self._answers(over, leave=True)
        self.open = self.open.take(~over)
        yield closed.by_end()

    def _answers(self, chosen: npt.NDArray[np.bool_], *, leave: bool) -> Closed:
        """The answers of some sessions; where they leave, so do the values that are kept for them."""
        cells, spans = state_of(self.open).take(chosen), self.spans.take(chosen)
        lowered = self.plan.lower(
            np.arange(len(cells), dtype=np.int32),
            cells,
            lambda part: self._multiset(part, spans, leave),
            lambda part: self._states(part, spans, leave),
        )
        answers = Cells(np.arange(len(cells)), spans["code"], cells)
        return Closed(answers, lowered, starts=spans["place"], ends=spans["last"] + self.gap)

    def _multiset(self, part: Values, spans: RowBlock, leave: bool) -> Multiset | LargeWindow:
        """The values of each session, under its number."""
        log = self.rows_kept.logs[part]
        if len(spans) == 0:
            return Multiset.nothing()
        among = between("place", int(spans["place"].min()), int(spans["last"].max()) + 1)
        parts = log.take_parts(among) if leave else log.parts_where(among)
        if not log.is_large(sum(map(len, parts))):
            return self._picked(log, RowBlock.joined(parts or [log.nothing]).opened(), spans, leave)
        stretches = []
        for rows in drained(parts):
            stretches.append(log.sealed_runs(self._picked(log, rows.opened(), spans, leave)))
            log.seal()
        return LargeWindow(stretches)

    def _picked(self, log: ValueLog, rows: RowBlock, spans: RowBlock, leave: bool) -> Multiset:
        """The values among rows of a log that are in a session; where these leave, the others go back."""
        inside, number = _rows_in(spans, rows["code"], rows["place"])
        if leave:
            log.append(rows.take(_without(len(rows), inside)), seal=False)
        return Multiset.of(number.astype(np.int32), rows["key"][inside])

    def _states(self, part: Custom, spans: RowBlock, leave: bool) -> tuple[Codes, CustomState]:
        """The states of each session that has any, under its number."""
        cells = self.rows_kept.customs[part]
        inside, number = _rows_in(spans, cells.codes, cells.places)
        labels, state = cells.state.take(inside).reduced(number)
        if leave:
            self.rows_kept.customs[part] = cells.keep(_without(len(cells.codes), inside))
        return labels.astype(np.int32), state

    @property
    def spans(self) -> RowBlock:
        """Those that are open, without their state."""
        return RowBlock({name: self.open[name] for name in ("code", "place", "last")})

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.open = converting(convert)(self.open)

    def remap(self, mapping: Codes) -> None:
        self.open = self.open.remapped("code", mapping)
        self.rows_kept.remap(mapping)

    def state(self) -> dict[str, Saved]:
        return {"sessions": lasting(self.open.table), **self.rows_kept.saved()}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.open = self._none().like(tables["sessions"])
        self.rows_kept.restore(tables)

    @property
    def nbytes(self) -> int:
        return self.open.nbytes + self.rows_kept.nbytes


class RevisedSessions(Sessions):
    """Sessions that are reported when they are over, and again when late rows have changed them.

    For every session: how often it, or one that it covers, was reported, and whether it has changed since. A late row
    can only make a session longer or join several into one. So a correction covers all that it replaces, and results
    that a newer one of their group overlaps are void.
    """

    def _fresh(self, codes: Codes, starts: Integers, lasts: Integers, state: Table) -> RowBlock:
        rows = super()._fresh(codes, starts, lasts, state)
        return rows.having({"reports": np.zeros(len(rows), np.int64), "changed": np.ones(len(rows), np.bool_)})

    def _merged(self, rows: RowBlock, labels: Integers, first: Integers) -> RowBlock:
        reports, changed = np.maximum.reduceat(rows["reports"], first), np.logical_or.reduceat(rows["changed"], first)
        return super()._merged(rows, labels, first).having({"reports": reports, "changed": changed})

    def report(self, bounds: Integers, moved: npt.NDArray[np.bool_]) -> Iterator[Closed]:
        """The sessions of groups whose bound moved that are over and have changed; they stay."""
        chosen = self.over(bounds) & self.open["changed"] & moved[self.open["code"]]
        if not chosen.any():
            return
        closed, reports = self._answers(chosen, leave=False), self.open["reports"]
        closed.revisions = reports[chosen]
        self.open = self.open.having({"reports": reports + chosen, "changed": self.open["changed"] & ~chosen})
        yield closed.by_end()


def _rows_in(spans: RowBlock, codes: Codes, times: Integers) -> tuple[Integers, Integers]:
    """The rows that lie in these sessions, and the session of each. Only rows of their groups are sorted."""
    concerned = np.zeros(max(int(codes.max(initial=0)), int(spans["code"].max(initial=0))) + 1, np.bool_)
    concerned[spans["code"]] = True
    some = np.flatnonzero(concerned[codes])
    some = some[np.lexsort((times[some], codes[some]))]
    owners = np.empty(len(some), np.int64)
    assign_rows(codes[some], times[some], spans["code"], spans["place"], spans["last"], owners)
    return some[owners >= 0], owners[owners >= 0]


def _without(size: int, leaving: Integers) -> npt.NDArray[np.bool_]:
    staying = np.ones(size, np.bool_)
    staying[leaving] = False
    return staying
