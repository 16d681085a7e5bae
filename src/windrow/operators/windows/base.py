"""What every window algorithm takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Array, Custom, Integers, OneColumn, Part, Runs, Values
from windrow.aggregates.sums import COUNTED
from windrow.errors import InternalError
from windrow.operators.state.cells import Cells
from windrow.operators.state.changes import State
from windrow.operators.state.customs import CustomState
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Layout, Table
from windrow.operators.state.values.large_windows import LargeRuns, LargeWindow
from windrow.operators.state.values.multisets import GroupRuns, KeptValues, Multiset, ValueCodes
from windrow.operators.store.sealing import sealing_of
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.plan.compression import LOSSLESS, Compression

if TYPE_CHECKING:
    from windrow.operators.late.bounds import Bounds, GroupBounds
    from windrow.operators.late.judging import Verdicts


@dataclass
class Closed:
    """Answers of closed windows. Aggregates that look at values are lowered already, window by window."""

    answers: Cells
    lowered: dict[int, Array] = field(default_factory=dict)
    """By the place of the aggregate call."""
    starts: Integers | None = None
    """Where each window starts, for windows that are not numbered."""
    ends: Integers | None = None
    revisions: Integers | None = None
    """How often each was corrected, for windows that are not numbered."""

    def take(self, rows: npt.NDArray[np.int64]) -> Closed:
        lowered = {place: array.take(arrow(rows)) for place, array in self.lowered.items()}
        cut = [None if a is None else a[rows] for a in (self.starts, self.ends, self.revisions)]
        return Closed(self.answers.take(rows), lowered, *cut)

    def by_end(self) -> Closed:
        assert self.ends is not None
        return self.take(np.argsort(self.ends, kind="stable"))


Customs: TypeAlias = Callable[[Custom], tuple[Codes, CustomState]]
"""For a user aggregate the groups that have a state, sorted, and their states."""


class Plan:
    """What the aggregates of one operator keep, in all."""

    def __init__(self, layout: Layout, compression: Compression = LOSSLESS) -> None:
        self.layout = layout
        self.compression = compression
        self.sealing = sealing_of(compression)
        """When kept rows go into coded blocks."""
        """How rows and values are to be kept."""
        parts: dict[Part, pa.DataType | None] = {}
        for kind, needed in zip(layout.types, layout.parts, strict=True):
            parts.update(dict.fromkeys(needed, kind))
        self.values = {
            p: ValueCodes(p, kind) for p, kind in parts.items() if isinstance(p, Values) and kind is not None
        }
        self.custom = [p for p in parts if isinstance(p, Custom)]

    @property
    def keeps_values(self) -> bool:
        return bool(self.values or self.custom)

    def lower(
        self, codes: Codes, state: Table, multisets: Callable[[Values], Multiset | LargeWindow | Runs], customs: Customs
    ) -> dict[int, Array]:
        """The answers for these groups of the aggregates that look at values, by the place of their calls."""

        def runs(part: Values) -> Runs:
            found = multisets(part)
            if isinstance(found, Runs):
                return found
            sizes = self.layout.read(OneColumn(part.argument, COUNTED), state)
            if isinstance(found, LargeWindow):
                return LargeRuns(self.values[part], found, codes, sizes)
            return GroupRuns(self.values[part], found, codes, sizes)

        return self.lower_runs(codes, runs, customs)

    def lower_runs(self, codes: Codes, runs: Callable[[Values], Runs], customs: Customs) -> dict[int, Array]:
        """The same from the sorted values of each answer."""
        known: dict[Part, Any] = {part: runs(part) for part in self.values}
        for part in self.custom:
            owners, state = customs(part)
            present = np.isin(codes, owners)
            known[part] = state.take(np.searchsorted(owners, codes[present])).columns, present
        return {
            place: self.layout.lower(place, len(codes), known.__getitem__)
            for place, parts in enumerate(self.layout.parts)
            if isinstance(parts[0], (Values, Custom))
        }


class Keeper(Protocol):
    """What refers to groups by their codes."""

    def codes_in_use(self) -> Codes: ...

    def remap(self, mapping: Codes, groups: int) -> None:
        """Codes have changed: `mapping[old] = new`, in the same order."""


class Windower(Keeper, Protocol):
    """A window algorithm: rows go in, windows come out as they end. What most of them do alike is written here."""

    plan: Plan
    has_gaps: bool = True
    """Whether windows without rows can lie between two of a group."""
    keeps_groups: bool = False
    """Whether groups are never forgotten."""
    length: int | None = None
    """How far before its end a numbered window starts; None where it has no beginning."""

    # Rows in

    def add(self, rows: GroupedRows, groups: int) -> Iterable[Closed]:
        """Rows in time: all their windows are open. Gives the windows that these rows themselves end."""

    def witness(self, latest: int) -> None:
        """A row came at this time, in time or late, here or where other groups are."""
        return

    def judge(self, rows: GroupedRows, met: Integers, *, consistent: bool) -> Verdicts:
        """What became of rows that are below the bounds they met."""

    def take_late(self, rows: GroupedRows, met: Integers, bounds: Bounds, groups: int) -> Iterable[Closed]:
        """Late rows that still count in some open window. Gives the windows that must go before they do."""

    def expect(self, rows: GroupedRows, met: Integers, groups: int) -> None:
        """Late rows of such a batch, which count in the windows that `close` gives next, from where they met bounds."""
        return

    # Windows out

    def close(self, bound: int, groups: int) -> Iterator[Closed]:
        """The windows that end at or below `bound`, in order of their ends."""

    def close_groups(self, codes: Codes, ahead: GroupBounds, groups: int) -> Iterator[Closed]:
        """The windows of these groups, whose bounds moved ahead of that of all, up to their own bounds."""

    def open_answers(self, groups: int) -> Iterator[Closed]:
        """The windows that are not closed for all groups, as they are now; they stay."""
        raise InternalError("must have panes or rows to look into", parameter=type(self).__name__)

    def next_end(self, closed: int) -> int:
        """Where the earliest window to come ends, when those up to `closed` are; START when that is not known."""
        return closed

    # What the numbers of windows mean

    def ends_of(self, numbers: Integers) -> Integers:
        """Where windows of these numbers end."""
        raise InternalError("must number its windows", parameter=type(self).__name__)

    def end_after(self, number: int) -> int | None:
        """Where the window after this one ends; None when there is none yet."""
        return int(self.ends_of(np.array([number + 1]))[0])

    def placed(self, closed: Closed) -> Closed:
        """Answers with where their windows start and end."""
        if closed.ends is not None:
            return closed
        ends = self.ends_of(closed.answers.places)
        return replace(closed, starts=None if self.length is None else ends - self.length, ends=ends)

    def is_complete(self, closed: Closed, first: int) -> npt.NDArray[np.bool_]:
        """Which of these placed windows hold every row they ever could, when no row in time was below `first`."""
        return np.ones(len(closed.answers), np.bool_) if closed.starts is None else closed.starts >= first

    # State

    def forget(self, closed: int, reported: int | None) -> None:
        """Windows up to `closed` are reported; of each group one of this number or a later one was the last."""
        return

    def seal_rows(self) -> None:
        """Results are out: rows that stay may go into coded blocks."""
        return

    def regrow(self, convert: Callable[[Table], Table]) -> None: ...

    def kept_values(self, part: Values) -> KeptValues:
        """Where the values of a part are kept by their keys."""

    def state(self) -> State: ...

    def restore(self, tables: dict[str, pa.Table]) -> None: ...

    @property
    def nbytes(self) -> int: ...

    @property
    def open_windows(self) -> int: ...
