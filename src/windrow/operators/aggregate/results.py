"""From the answers of windows to batches of results: which of them are reported, and with which columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import of_type
from windrow.aggregates.kinds.base import Array, Integers, Part
from windrow.errors import DataError
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.base import Batch, Counters
from windrow.operators.state.cells import Cells
from windrow.operators.state.customs import CustomState
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.state.values.multisets import Multiset
from windrow.operators.windows.base import Closed, Windower
from windrow.operators.windows.extents import end_of
from windrow.plan.checks.windows import lag_of
from windrow.plan.nodes import Late, WindowAggregate
from windrow.semantics.progress.policies import END, START
from windrow.semantics.windows.kinds import Emit, Landmark, ResultKind

CHUNK = 1 << 18
"""Empty windows that are reported at once."""


class WindowResults:
    """What a window aggregate gives."""

    def __init__(self, node: WindowAggregate, grouping: Grouping, output: pa.Schema, counters: Counters) -> None:
        self.node = node
        self.grouping = grouping
        self.plan = grouping.plan
        self.schema = pa.schema(list(output)[: len(node.keys) + 2 + len(node.aggregates)])
        """Keys, window_start, window_end, aggregates."""
        self.counters = counters
        self.first = END
        """The smallest time among rows in time, for EMIT COMPLETE."""
        self.reported = LastReported(node, grouping, output)

    def chosen(self, closed: Closed, windower: Windower) -> Closed:
        """Those of the answers that are reported, with where their windows start and end."""
        closed = windower.placed(closed)
        if self.node.emit is not Emit.COMPLETE:
            return closed
        keep = windower.is_complete(closed, self.first)
        return closed if keep.all() else closed.take(np.flatnonzero(keep))

    def batches(self, closed: Closed, windower: Windower) -> Iterator[Batch]:
        """Chosen answers, and the empty windows before them where these are wanted."""
        if self.node.emit is Emit.EMPTY and windower.has_gaps:
            for empty, codes in self.reported.gaps(closed.answers, windower.ends_of):
                yield self.result(windower.placed(self._nothing(empty, codes)))
        if len(closed.answers):
            yield self.result(closed)

    def _nothing(self, windows: Integers, codes: Codes) -> Closed:
        state = self.plan.layout.empty(len(windows))
        lowered = self.plan.lower(
            codes, state, lambda _: Multiset.nothing(), lambda part: (NO_CODES, CustomState.nothing(part))
        )
        return Closed(Cells(windows, codes, state), lowered)

    def result(self, closed: Closed) -> Batch:
        """Answers as a batch of the output stream."""
        assert closed.ends is not None
        data = self.rows(closed)
        if self.node.early is not None:
            return self.of_kind(data, closed.ends, ResultKind.FINAL)
        if self.node.late is Late.REVISE:
            number = np.zeros(len(data), np.int32) if closed.revisions is None else closed.revisions.astype(np.int32)
            data = data.append_column("revision", pa.array(number))
        return self._batch(data, closed.ends)

    def of_kind(self, rows: pa.RecordBatch, ends: Integers, kind: ResultKind) -> Batch:
        """Rows of a query with early results, with what they are."""
        return self._batch(rows.append_column("kind", pa.array([kind.value] * len(rows), pa.string())), ends)

    def _batch(self, data: pa.RecordBatch, ends: Integers) -> Batch:
        self.counters.results += len(data)
        return Batch(data, ends - lag_of(self.node))

    def rows(self, closed: Closed) -> pa.RecordBatch:
        """Answers as rows: keys, bounds, aggregates."""
        assert closed.ends is not None
        answers, kind = closed.answers, self.schema.field(len(self.node.keys)).type
        start = pa.nulls(len(answers), kind) if closed.starts is None else of_type(closed.starts, kind)
        keys = self.grouping.groups.decode(answers.codes)
        arrays = [*keys, start, of_type(closed.ends, kind), *self._aggregates(closed)]
        arrays = [a if a.type == f.type else a.cast(f.type) for a, f in zip(arrays, self.schema, strict=True)]
        return pa.record_batch(arrays, schema=self.schema)

    def _aggregates(self, closed: Closed) -> list[Array]:
        layout, size = self.plan.layout, len(closed.answers)
        known: dict[int, Any] = {}  # by identity: equal parts are one object

        def get(part: Part) -> Any:
            key = id(part)
            if key not in known:
                known[key] = layout.read(part, closed.answers.state)
            return known[key]

        return [
            closed.lowered[place] if place in closed.lowered else layout.lower(place, size, get)
            for place in range(len(layout.calls))
        ]


class LastReported:
    """The number of the last window that each group was reported in, for EMIT EMPTY.

    More empty windows in a row than the query allows are refused before the first is written: one row of a wrong clock
    would otherwise fill the disk.
    """

    def __init__(self, node: WindowAggregate, grouping: Grouping, output: pa.Schema) -> None:
        self.node = node
        self.grouping = grouping
        self.kind: pa.DataType = output.field("window_end").type
        self.windows: Integers = np.empty(0, np.int64)

    def gaps(self, answers: Cells, ends: Callable[[Integers], Integers]) -> Iterator[tuple[Integers, Codes]]:
        """Numbers and group of the windows passed over since each group's last; then these are the last.

        `ends` gives where windows of some numbers end.
        """
        windows, codes, groups = answers.places, answers.codes, self.grouping.count
        if groups > len(self.windows):
            self.windows = np.concatenate([self.windows, np.full(2 * groups - len(self.windows), START, np.int64)])
        order = np.lexsort((windows, codes))
        before = np.empty(len(order), np.int64)
        sorted_codes, sorted_windows = codes[order], windows[order]
        heads = np.ones(len(order), np.bool_)
        heads[1:] = sorted_codes[1:] != sorted_codes[:-1]
        before[1:] = sorted_windows[:-1]
        before[heads] = self.windows[sorted_codes[heads]]
        self.windows[sorted_codes] = sorted_windows
        passed = np.where(before == START, 0, sorted_windows - before - 1)
        worst = int(np.argmax(passed)) if len(passed) else 0
        if len(passed) and passed[worst] > self.node.most_empty:
            first, last = ends(np.array([before[worst] + 1, sorted_windows[worst] - 1]))
            self._refuse(int(passed[worst]), sorted_codes[worst : worst + 1], int(first), int(last))
        for i in np.flatnonzero(passed).tolist():
            for first in range(int(before[i]) + 1, int(sorted_windows[i]), CHUNK):
                empty = np.arange(first, min(first + CHUNK, int(sorted_windows[i])))
                yield empty, np.full(len(empty), sorted_codes[i], np.int32)

    def _refuse(self, number: int, code: Codes, first: int, last: int) -> NoReturn:
        names = [name for name, _ in self.node.keys]
        values = (column[0].as_py() for column in self.grouping.groups.decode(code))
        group = "".join(f", {name} = {value!r}" for name, value in zip(names, values, strict=True))
        rule = "must fill no more than {:,} windows between two rows of a group"
        raise self._too_many("EMIT EMPTY", rule, number, (first, last), group)

    def refuse_leap(self, windows: Integers, last: int) -> None:
        """The same for landmark windows, all of which are reported up to the last row, of whatever group.

        `windows` are the first that hold each of some rows, in order of arrival, and `last` the first that holds all
        rows before them (START: there were none).
        """
        last = int(windows[0]) if last == START else last
        if int(windows.max()) - last <= self.node.most_empty:
            return
        highest = np.maximum.accumulate(np.concatenate([[last], windows]))
        worst = int(np.argmax(np.diff(highest.astype(np.float64))))
        before, after = int(highest[worst]), int(highest[worst + 1])
        if after - before - 1 > self.node.most_empty:
            window = self.node.window
            assert isinstance(window, Landmark)
            rule = "must have no row that is more than {:,} windows ahead of all before it"
            ends = end_of(window, before + 1), end_of(window, after - 1)
            raise self._too_many("RANGE UNBOUNDED", rule, after - before - 1, ends)

    def _too_many(self, asked: str, rule: str, number: int, ends: tuple[int, int], group: str = "") -> DataError:
        shown = [str(pa.scalar(end, pa.int64()).cast(self.kind)) for end in ends]
        what = "empty ones" if asked == "EMIT EMPTY" else "without a row of their own"
        return DataError(
            rule.format(self.node.most_empty),
            parameter=asked,
            value=f"{number:,} {what}, which end from {shown[0]} to {shown[1]}{group}",
            hint="where a wrong clock made the gap, LEAD 1 HOUR in CREATE STREAM (lead='1 h') sets its rows aside; "
            f"to have them all, say EMIT EMPTY UP TO {number} (emit('empty', most={number}))",
        )

    @property
    def earliest(self) -> int | None:
        """The earliest of them; None when no group was reported."""
        known = self.windows[self.windows != START]
        return int(known.min()) if len(known) else None
