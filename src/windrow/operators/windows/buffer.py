"""Buffering: keep all rows of the open windows and compute each window from its rows when it closes.

The baseline the papers compare with: memory and time grow with RANGE. A row is kept as it came, packed, with what
aggregates add up, compare or list of it there once; it becomes state only while a window that holds it is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import spread
from windrow.aggregates.kinds.base import Custom, Integers, Runs, Values
from windrow.operators.kernels.panes.adaptive import number_answers
from windrow.operators.state.cells import Cells
from windrow.operators.state.changes import Saved
from windrow.operators.state.customs import CustomState
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.state.layout import Table
from windrow.operators.state.values.large_windows import LargeWindow, is_large, stretch_of
from windrow.operators.state.values.multisets import Multiset
from windrow.operators.store.row_block import RowBlock
from windrow.operators.store.row_store import RowStore
from windrow.operators.windows.base import Closed, Plan
from windrow.operators.windows.extents import end_of, first_windows, last_closed, start_of
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.operators.windows.numbered import RowWise
from windrow.operators.windows.row_shape import NumberedKeys, RowShape
from windrow.semantics.progress.policies import START
from windrow.semantics.windows.kinds import Landmark, Sliding

if TYPE_CHECKING:
    from windrow.operators.windows.folded_rows import FoldedRows

UNPACKED = 1 << 17
"""Rows that are unpacked at once, for all windows they are in."""
VISITS = 1 << 18
"""Rows, each as often as it is in a window, that are answered from at once."""
FEW = 1 << 8
"""Rows of a window below which those of all windows are put side by side: a call for each costs more than a copy."""


@dataclass(frozen=True)
class KeptWindows:
    """Some windows, and the kept rows in each: lows[i]..highs[i] among the sorted ones."""

    windows: Integers
    lows: Integers
    highs: Integers


def _together(found: list[tuple[int, int, int]]) -> KeptWindows:
    return KeptWindows(*np.array(found, np.int64).T.copy())


class Buffer(RowWise):
    """Sliding, tumbling and landmark windows, each from its rows."""

    def __init__(self, window: Sliding | Landmark, plan: Plan) -> None:
        super().__init__(window, plan)
        self.shape = RowShape(plan, by_time=True)
        self.rows = RowStore(self.shape.nothing, by="place", sorts=True, sealing=self.shape.sealing)
        self._folded: FoldedRows | None = None
        """The rows of the windows that close, where these are computed in the blocks they are in."""

    # Rows in

    def add(self, rows: GroupedRows, groups: int) -> Iterable[Closed]:
        self.low = min(self.low, rows.span[0])
        self.rows.seal()  # what is here from before will stay for longer
        self.rows.append(self.shape.pack(rows.times, rows), seal=False)
        return ()

    # Windows out

    def close(self, bound: int, groups: int) -> Iterator[Closed]:
        last = self.last_window(bound)
        if last != START:
            self.rows.sort()
            if self.shape.folded and self._overlap:
                self.rows.seal()  # these rows stay, and can be folded now
            for found in self._stretches(last):
                self._fold(found, last)
                yield self._with_values(self._answers(found, groups))
        self._folded = None
        self._pass(bound, last)
        if isinstance(self.window, Sliding):
            self.rows.forget_below(start_of(self.window, self.closed + 1))

    @property
    def _overlap(self) -> bool:
        """Whether rows are in several windows."""
        return isinstance(self.window, Landmark) or self.window.range > self.window.slide

    def _stretches(self, last: int) -> Iterator[KeptWindows]:
        """The windows up to `last` that hold rows, as many at once as do not have too many."""
        number = max(self.closed + 1, first_windows(self.window, self.low))
        found: list[tuple[int, int, int]] = []
        visits, most = 0, self.layout.rows_in(VISITS)
        while number <= last:
            ends = start_of(self.window, number), end_of(self.window, number)
            low, high = (self.rows.search(time) for time in ends)
            if low < high:
                visits += high - low
                if found and (visits > most or high - found[0][1] > UNPACKED):
                    yield _together(found)
                    found, visits = [], high - low
                found.append((number, low, high))
            elif high == len(self.rows):
                break
            else:  # nothing in this window: on to the first that holds the next row
                number = max(number, last_closed(self.window, self.rows.at(high)))
            number += 1
        if found:
            yield _together(found)

    def _answers(self, found: KeptWindows, groups: int) -> Cells:
        """Each window for itself; one of many rows is put together from the answers of its parts."""
        if self._folded is not None and self._folded.holds(found.lows, found.highs):
            state = self.layout.empty(len(found.windows))
            if self._folded.put(found.lows, found.highs, state):
                return Cells(found.windows, np.full(len(found.windows), self._folded.code, np.int32), state)
        first, last = int(found.lows[0]), int(found.highs[-1])
        parts = []
        for start in range(first, last, UNPACKED):
            end = min(start + UNPACKED, last)
            lows, highs = found.lows.clip(start, end), found.highs.clip(start, end)
            inside = KeptWindows(found.windows, lows - start, highs - start)
            parts.append(self._answer(inside, self.rows.read(start, end), groups))
        return parts[0] if len(parts) == 1 else Cells.joined(parts).each_once(self.layout)

    def _answer(self, found: KeptWindows, rows: RowBlock, groups: int) -> Cells:
        sizes = found.highs - found.lows
        room, codes = int(sizes.sum()), rows["code"]
        known, slots = np.full(groups, -1, np.int32), np.empty(room, np.int32)
        owners, out = np.empty(room, np.int32), np.empty(room, np.int32)
        offsets, nothing = np.zeros(len(sizes) + 1, np.int64), np.empty(0, np.int64)
        size = number_answers(
            found.lows, found.highs, codes, offsets, NO_CODES, known, slots, nothing, owners, out
        )  # fmt: skip
        state = self.layout.empty(size)
        self._put(found, sizes, rows, slots, state)
        self.layout.settle(state)
        return Cells(found.windows[owners[:size]], out[:size], state)

    def _put(self, found: KeptWindows, sizes: Integers, rows: RowBlock, slots: Codes, state: Table) -> None:
        """The rows of each window, unpacked once, into its cells."""
        lifted = self.shape.lift(rows, slice(None))
        if len(slots) < FEW * len(sizes):
            places = spread(found.lows, sizes)
            self.layout.scatter({e: values.take(places) for e, values in lifted.items()}, slots, state)
            return
        at = 0
        for low, high in zip(found.lows.tolist(), found.highs.tolist(), strict=True):
            inside = slots[at : at + high - low]
            self.layout.scatter({e: values.take(slice(low, high)) for e, values in lifted.items()}, inside, state)
            at += high - low

    def _fold(self, found: KeptWindows, last: int) -> None:
        """Look, once for the windows up to `last`, whether their rows can be folded."""
        if self._folded is None and self.shape.folded:
            from windrow.operators.windows.folded_rows import FoldedRows

            high = self.rows.search(end_of(self.window, last))
            self._folded = FoldedRows.of(self.shape, self.rows, int(found.lows[0]), high)

    def _places(self, window: int) -> tuple[int, int]:
        """From where to where the rows of a window are."""
        return self.rows.search(start_of(self.window, window)), self.rows.search(end_of(self.window, window))

    def _rows(self, window: int) -> GroupedRows:
        return self.shape.unpack(self.rows.read(*self._places(window)))

    def _multiset(self, window: int, part: Values) -> Multiset | LargeWindow | Runs:
        low, high = self._places(window)
        if self._folded is not None:
            folded = self._folded.runs(part, low, high, lambda: self._listed(low, high, part))
            if folded is not None:
                return folded
        sealing = self.plan.sealing
        if sealing is None or not is_large(high - low, sealing.budget):
            return self._listed(low, high, part)
        of_runs = sealing.having({"key": self.plan.values[part].nature})
        starts = range(low, high, UNPACKED)
        pieces = (self._listed(start, min(start + UNPACKED, high), part) for start in starts)
        return LargeWindow([of_runs.seal(stretch_of(piece)) for piece in pieces])

    def _listed(self, low: int, high: int, part: Values) -> Multiset:
        """The values of rows, unpacked at once."""
        rows = self.shape.unpack(self.rows.read(low, high))
        return Multiset.of(*rows.values(part, rows.times)[1:])

    def _states(self, window: int, part: Custom) -> tuple[Codes, CustomState]:
        rows = self._rows(window)
        cells = rows.custom_cells(part, np.zeros(len(rows), np.int64))
        return cells.codes, cells.state

    # Groups and state

    def seal_rows(self) -> None:
        self.rows.seal()

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        """Nothing: rows are no state yet."""

    def extract(self, chosen: npt.NDArray[np.bool_]) -> Buffer:
        part = Buffer(self.window, self.plan)
        part.rows.append(self.rows.where(lambda rows: chosen[rows["code"]]))
        part.low, part.high = self.low, self.high
        return part

    def forget_reported(self, reported: Integers) -> None:
        if isinstance(self.window, Sliding):
            first = self._starts(reported)
            self.rows.drop(lambda rows: rows["place"] < first[rows["code"]])

    def codes_in_use(self) -> Codes:
        return self.rows.used("code").astype(np.int32)

    def remap(self, mapping: Codes, groups: int) -> None:
        self.rows.remap("code", mapping)

    def kept_values(self, part: Values) -> NumberedKeys:
        return NumberedKeys(self.rows, self.shape, part)

    def state(self) -> dict[str, Saved]:
        return {**self.rows.saved_under("buffered"), **self._saved_span()}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.rows.restore_under("buffered", tables, self.shape.of_table)
        self._restore_span(tables)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes
