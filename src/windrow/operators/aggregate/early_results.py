"""Early results: open windows as they are now, taken back when something newer replaces them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.kinds.arrays import arrow, tabled
from windrow.aggregates.kinds.base import Array, Integers
from windrow.operators.base import Batch, Element
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.windows.base import Closed
from windrow.semantics.progress.policies import START
from windrow.semantics.windows.kinds import Landmark, ResultKind, Sliding

if TYPE_CHECKING:
    from windrow.operators.aggregate.frame import WindowAggregateOperator


class Early:
    """What was given early and not yet taken back, by window and group, and when to speak next.

    `by_row` is False where an engine says itself when all rows up to a point have come.
    """

    def __init__(self, operator: WindowAggregateOperator, every: int) -> None:
        assert isinstance(operator.node.window, (Sliding, Landmark))
        self.operator = operator
        self.origin = operator.node.window.origin
        self.every = every
        self.by_row = True
        self.high = START
        self.windows: Integers = np.empty(0, np.int64)
        self.codes: Codes = NO_CODES
        self.rows: pa.RecordBatch | None = None

    # When

    def hear(self, latest: int) -> bool:
        """A row of this time came; whether that is a reason to speak."""
        return len(self._passed(np.array([latest]))) > 0 if latest != START else False

    def among(self, batch: Batch, take: Callable[[Batch], Iterable[Element]]) -> Iterator[Element]:
        """What comes of rows, with early results after those that are a reason to speak."""
        for piece, speaks in self.pieces(batch):
            yield from take(piece)
            if speaks:
                yield from self.speak()

    def pieces(self, batch: Batch) -> Iterator[tuple[Batch, bool]]:
        """The rows up to each point to speak, and whether there is one."""
        if not self.by_row or len(batch) == 0:
            yield batch, False
            return
        start = 0
        for row in self._passed(batch.times).tolist():
            yield batch.slice(start, row + 1), True
            start = row + 1
        if start < len(batch):
            yield batch.slice(start, len(batch)), False

    def _passed(self, times: Integers) -> Integers:
        """The rows with which the largest time passes a multiple of `every`."""
        highs = np.maximum.accumulate(np.maximum(times, self.high))
        steps = (highs - self.origin) // self.every
        before = np.empty(len(steps), np.int64)
        before[1:] = steps[:-1]
        before[0] = steps[0] if self.high == START else (self.high - self.origin) // self.every
        self.high = int(highs[-1])
        return np.flatnonzero(steps > before)

    # What

    def speak(self) -> Iterator[Batch]:
        """What is new since the last time: first what is taken back, then the open windows as they are."""
        answers = list(self.operator.open_answers())
        windows = np.concatenate([np.empty(0, np.int64), *(c.answers.windows for c in answers)])
        codes = np.concatenate([NO_CODES, *(c.answers.codes for c in answers)])
        rows = _joined([self.operator.results.rows(closed) for closed in answers])
        old, new = self._same(windows, codes, rows)
        yield from self._taken_back(np.setdiff1d(np.arange(len(self.windows)), old))
        self.windows, self.codes, self.rows = windows, codes, rows
        yield from self._given(np.setdiff1d(np.arange(len(windows)), new), ResultKind.EARLY)

    def settle(self, closed: Closed) -> Iterator[Batch]:
        """Final results are about to follow: take back what stood for them."""
        old, _ = self._places(closed.answers.windows, closed.answers.codes)
        yield from self._withdrawn(old)

    def finish(self) -> Iterator[Batch]:
        """Nothing follows: no early result stays."""
        yield from self._withdrawn(np.arange(len(self.windows)))

    def _withdrawn(self, places: Integers) -> Iterator[Batch]:
        if len(places) == 0:
            return
        yield from self._taken_back(places)
        assert self.rows is not None
        left = np.setdiff1d(np.arange(len(self.windows)), places)
        self.windows, self.codes, self.rows = self.windows[left], self.codes[left], self.rows.take(arrow(left))

    def _taken_back(self, places: Integers) -> Iterator[Batch]:
        return self._given(places, ResultKind.RETRACT)

    def _given(self, places: Integers, kind: ResultKind) -> Iterator[Batch]:
        if len(places) and self.rows is not None:
            ends = self.operator.windower.ends_of(self.windows[places])
            yield self.operator.results.told(self.rows.take(arrow(places)), ends, kind)

    def _places(self, windows: Integers, codes: Codes) -> tuple[Integers, Integers]:
        """Where the same window and group is among what was given, and among these."""
        _, ranks = np.unique(np.concatenate([self.windows, windows]), return_inverse=True)
        keys = ranks * self.operator.grouping.count + np.concatenate([self.codes, codes])
        _, old, new = np.intersect1d(
            keys[: len(self.windows)], keys[len(self.windows) :], assume_unique=True, return_indices=True
        )
        return old, new

    def _same(self, windows: Integers, codes: Codes, rows: pa.RecordBatch | None) -> tuple[Integers, Integers]:
        """The places in both where nothing has changed."""
        old, new = self._places(windows, codes)
        if self.rows is None or rows is None or len(old) == 0:
            return old[:0], new[:0]
        same = np.ones(len(old), np.bool_)
        for before, now in zip(self.rows.columns, rows.columns, strict=True):
            same &= equal_values(before.take(arrow(old)), now.take(arrow(new)))
        return old[same], new[same]

    # State

    def codes_in_use(self) -> Codes:
        return self.codes

    def remap(self, mapping: Codes, groups: int) -> None:
        self.codes = mapping[self.codes]

    def state(self) -> dict[str, pa.Table]:
        rows = {} if self.rows is None else {"rows": pa.Table.from_batches([self.rows])}
        return {
            "places": tabled(window=self.windows, code=self.codes),
            "high": tabled(high=np.array([self.high])),
            **rows,
        }

    def restore(self, tables: dict[str, pa.Table]) -> None:
        places = tables["places"]
        self.windows = np.array(places["window"].combine_chunks())
        self.codes = np.array(places["code"].combine_chunks()).astype(np.int32)
        self.high = tables["high"]["high"][0].as_py()
        if "rows" in tables:
            batches = tables["rows"].combine_chunks().to_batches()
            self.rows = batches[0] if batches else pa.RecordBatch.from_pylist([], tables["rows"].schema)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch | None:
    if not batches:
        return None
    table = pa.Table.from_batches(batches).combine_chunks()
    return table.to_batches()[0] if len(table) else None


def equal_values(left: Array, right: Array) -> npt.NDArray[np.bool_]:
    """Where both hold the same value: NULL is like NULL, NaN like NaN, and zeros differ by their sign."""
    if pa.types.is_nested(left.type):
        pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
        return np.array([repr(one) == repr(other) for one, other in pairs], np.bool_)
    present = np.asarray(left.is_valid()), np.asarray(right.is_valid())
    if pa.types.is_floating(left.type):
        one, other = (np.asarray(a.fill_null(0.0), np.float64) for a in (left, right))
        same = (one.view(np.int64) == other.view(np.int64)) | (np.isnan(one) & np.isnan(other))
    else:
        same = np.asarray(pc.equal(left, right).fill_null(False))
    result: npt.NDArray[np.bool_] = np.where(present[0] & present[1], same, present[0] == present[1])
    return result
