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
from windrow.operators.store.row_block import RowBlock, no_rows
from windrow.operators.windows.base import Closed
from windrow.semantics.progress.policies import START
from windrow.semantics.windows.kinds import Landmark, ResultKind, Sliding

if TYPE_CHECKING:
    from windrow.operators.aggregate.frame import WindowAggregateOperator


class Early:
    """What was given early and not yet taken back, by window and group, and when the next results are due.

    `by_row` is False where an engine decides itself when all rows up to a point have come.
    """

    def __init__(self, operator: WindowAggregateOperator, every: int) -> None:
        assert isinstance(operator.node.window, (Sliding, Landmark))
        self.operator = operator
        self.origin = operator.node.window.origin
        self.every = every
        self.by_row = True
        self.high = START
        self.nothing = _placed(np.empty(0, np.int64), NO_CODES, no_rows(operator.results.schema))
        self.given = self.nothing
        """Rows as they were given, with the number of their window and the code of their group."""

    # When

    def is_due(self, latest: int) -> bool:
        """A row of this time came; whether early results are due."""
        return latest != START and len(self._passed(np.array([latest]))) > 0

    def among(self, batch: Batch, take: Callable[[Batch], Iterable[Element]]) -> Iterator[Element]:
        """What comes of rows, with early results after those at which they are due."""
        start = 0
        for row in self._passed(batch.times).tolist() if self.by_row and len(batch) else ():
            yield from take(batch.slice(start, row + 1))
            yield from self.emit()
            start = row + 1
        if start < len(batch):
            yield from take(batch.slice(start, len(batch)))

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

    def emit(self) -> Iterator[Batch]:
        """What is new since the last time: first what is taken back, then the open windows as they are."""
        answers = [
            _placed(closed.answers.places, closed.answers.codes, self.operator.results.rows(closed))
            for closed in self.operator.open_answers()
        ]
        now = RowBlock.joined(answers or [self.nothing])
        old, new = self._places(now["window"], now["code"])
        same = np.ones(len(old), np.bool_)
        for before, after in zip(self.given.rows.columns, now.rows.columns, strict=True):
            same &= equal_values(before.take(arrow(old)), after.take(arrow(new)))
        yield from self._batches(_others(self.given, old[same]), ResultKind.RETRACT)
        self.given = now
        yield from self._batches(_others(now, new[same]), ResultKind.EARLY)

    def settle(self, closed: Closed) -> Iterator[Batch]:
        """Final results are about to follow: take back what stood for them."""
        old, _ = self._places(closed.answers.places, closed.answers.codes)
        yield from self._batches(self.given.take(old), ResultKind.RETRACT)
        self.given = _others(self.given, old)

    def finish(self) -> Iterator[Batch]:
        """Nothing follows: no early result stays."""
        yield from self._batches(self.given, ResultKind.RETRACT)
        self.given = self.nothing

    def _batches(self, rows: RowBlock, kind: ResultKind) -> Iterator[Batch]:
        if len(rows):
            yield self.operator.results.of_kind(rows.rows, self.operator.windower.ends_of(rows["window"]), kind)

    def _places(self, windows: Integers, codes: Codes) -> tuple[Integers, Integers]:
        """Where the same window and group is among what was given, and among these."""
        given = len(self.given)
        _, ranks = np.unique(np.concatenate([self.given["window"], windows]), return_inverse=True)
        keys = ranks * self.operator.grouping.count + np.concatenate([self.given["code"], codes])
        _, old, new = np.intersect1d(keys[:given], keys[given:], assume_unique=True, return_indices=True)
        return old, new

    # State

    def codes_in_use(self) -> Codes:
        return self.given["code"]

    def remap(self, mapping: Codes, groups: int) -> None:
        self.given = self.given.remapped("code", mapping)

    def state(self) -> dict[str, pa.Table]:
        return {
            "places": tabled(window=self.given["window"], code=self.given["code"]),
            "high": tabled(high=np.array([self.high])),
            "rows": pa.Table.from_batches([self.given.rows]),
        }

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.high = tables["high"]["high"][0].as_py()
        if "rows" in tables:
            windows, codes = (np.array(tables["places"][name].combine_chunks()) for name in ("window", "code"))
            batches = tables["rows"].combine_chunks().to_batches()
            self.given = _placed(windows, codes.astype(np.int32), batches[0]) if batches else self.nothing


def _placed(windows: Integers, codes: Codes, rows: pa.RecordBatch) -> RowBlock:
    return RowBlock({"window": windows, "code": codes}, rows)


def _others(rows: RowBlock, places: Integers) -> RowBlock:
    return rows.take(np.setdiff1d(np.arange(len(rows)), places))


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
