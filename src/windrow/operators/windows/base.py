"""What every window algorithm takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Array, Custom, Integers, OneColumn, Part, Values
from windrow.aggregates.kinds.custom import UserAggregate
from windrow.aggregates.sums import COUNTED
from windrow.errors import InternalError
from windrow.operators.kernels.input import span
from windrow.operators.state.changes import State
from windrow.operators.state.columns.base import Lifted
from windrow.operators.state.customs import CustomCells, CustomState
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Layout, Table
from windrow.operators.state.timeline import Answers
from windrow.operators.state.values.multisets import KeptValues, Multiset, ValueCodes
from windrow.semantics.scalars.expressions import Expression

if TYPE_CHECKING:
    from windrow.operators.aggregate.bounds import Bounds
    from windrow.operators.late.group_bounds import GroupBounds
    from windrow.operators.late.judging import Verdicts


@dataclass
class GroupedRows:
    """Rows ready to be aggregated: times, group codes (empty: one group), lifted arguments."""

    times: Integers
    codes: Codes
    lifted: dict[Expression, Lifted]
    keys: dict[Values, Integers] = field(default_factory=dict)
    valid: dict[Expression, npt.NDArray[np.uint8]] = field(default_factory=dict)
    numbers: dict[Custom, npt.NDArray[Any]] = field(default_factory=dict)
    """Arguments of user aggregates, not lifted yet."""

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def span(self) -> tuple[int, int]:
        """The smallest and the largest time; there must be one."""
        least, most = span(self.times)
        return int(least), int(most)

    def group_codes(self) -> Codes:
        return self.codes if len(self.codes) else np.zeros(len(self.times), np.int32)

    def take(self, rows: Any) -> GroupedRows:
        def cut(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return array[rows] if len(array) else array

        times = self.times[rows]
        lifted = {
            e: Lifted(
                cut(v.numbers),
                cut(v.keys),
                cut(v.valid),
                times if v.times is self.times else cut(v.times),
                {sketch: marks[rows] for sketch, marks in v.marks.items()},
            )
            for e, v in self.lifted.items()
        }
        return GroupedRows(
            times,
            cut(self.codes),
            lifted,
            {part: keys[rows] for part, keys in self.keys.items()},
            {e: cut(valid) for e, valid in self.valid.items()},
            {part: numbers[rows] for part, numbers in self.numbers.items()},
        )

    def recoded(self, codes: Codes) -> GroupedRows:
        """The same rows under other group codes."""
        rows = replace(self, codes=codes)
        rows.__dict__["span"] = self.span
        return rows

    def values(self, part: Values, places: Integers) -> tuple[Integers, Codes, Integers]:
        """(place, code, key) of the rows whose value is not NULL."""
        codes, keys = self.group_codes(), self.keys[part]
        valid = self.valid[part.argument]
        if len(valid) == 0:
            return places, codes, keys
        chosen = valid.view(np.bool_)
        return places[chosen], codes[chosen], keys[chosen]

    def custom_cells(self, part: Custom, places: Integers) -> CustomCells:
        """States of a user aggregate per (place, code), NULLs left out."""
        codes, numbers = self.group_codes(), self.numbers[part]
        valid = self.valid[part.argument] if part.argument is not None else np.empty(0, np.uint8)
        if len(valid):
            chosen = valid.view(np.bool_)
            places, codes, numbers = places[chosen], codes[chosen], numbers[chosen]
        aggregate = part.aggregate
        assert isinstance(aggregate, UserAggregate)
        return CustomCells.of(places, codes, CustomState(aggregate, aggregate.lift(numbers)))


@dataclass
class Closed:
    """Answers of closed windows. Aggregates that look at values are lowered already, window by window."""

    answers: Answers
    lowered: dict[int, Array] = field(default_factory=dict)
    """By the place of the aggregate call."""
    starts: Integers | None = None
    """Where each window starts, for windows that are not numbered."""
    ends: Integers | None = None
    revisions: Integers | None = None
    """How often each was corrected, for windows that are not numbered."""

    def take(self, rows: npt.NDArray[np.int64]) -> Closed:
        """Some of the answers."""
        lowered = {place: array.take(arrow(rows)) for place, array in self.lowered.items()}
        cut = [None if a is None else a[rows] for a in (self.starts, self.ends, self.revisions)]
        return Closed(self.answers.take(rows), lowered, *cut)

    def by_end(self) -> Closed:
        """In order of the ends of their windows."""
        assert self.ends is not None
        return self.take(np.argsort(self.ends, kind="stable"))


class Plan:
    """What the aggregates of one operator keep, in all."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
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
        self,
        codes: Codes,
        state: Table,
        multisets: Callable[[Values], Multiset],
        customs: Callable[[Custom], tuple[Codes, CustomState]],
    ) -> dict[int, Array]:
        """The answers for these groups of the aggregates that look at values, by the place of their calls."""
        known: dict[Part, Any] = {
            part: values.runs(multisets(part), codes, self.layout.read(OneColumn(part.argument, COUNTED), state))
            for part, values in self.values.items()
        }
        for part in self.custom:
            found, present = pick(*customs(part), codes)
            known[part] = found.columns, present
        return self.lowered(len(codes), known)

    def lowered(self, size: int, known: dict[Part, Any]) -> dict[int, Array]:
        """The same from what the parts are known to be, for so many answers."""
        return {
            place: self.layout.lower(place, size, known.__getitem__)
            for place, parts in enumerate(self.layout.parts)
            if isinstance(parts[0], (Values, Custom))
        }


class Keeper(Protocol):
    """Whatever knows groups by their codes."""

    def codes_in_use(self) -> Codes: ...

    def remap(self, mapping: Codes, groups: int) -> None:
        """Codes have changed: `mapping[old] = new`, in the same order."""


class Windower(Keeper, Protocol):
    """A window algorithm: rows go in, windows come out as they end. It is all that a window aggregate knows of one.

    Algorithms have it as their base. What most of them do alike, or need not do, is written here.
    """

    plan: Plan

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

    @property
    def takes_bounds(self) -> bool:
        """Whether rows that met different bounds may come in one batch."""
        return False

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
        """Where the earliest window to come ends, when those up to `closed` are; START when nobody knows."""
        return closed

    # What the numbers of windows mean

    @property
    def has_gaps(self) -> bool:
        """Whether windows without rows can lie between two of a group."""
        return True

    @property
    def length(self) -> int | None:
        """How far before its end a numbered window starts; None where it has no beginning."""
        return None

    def ends_of(self, numbers: Integers) -> Integers:
        """Where windows of these numbers end."""
        raise InternalError("must number its windows", parameter=type(self).__name__)

    def end_after(self, number: int) -> int | None:
        """Where the window after this one ends; None when there is none yet."""
        raise InternalError("must number its windows", parameter=type(self).__name__)

    def placed(self, closed: Closed) -> Closed:
        """Answers with where their windows start and end."""
        if closed.ends is not None:
            return closed
        ends = self.ends_of(closed.answers.windows)
        return replace(closed, starts=None if self.length is None else ends - self.length, ends=ends)

    def is_complete(self, closed: Closed, first: int) -> npt.NDArray[np.bool_]:
        """Which of these windows hold every row they could ever hold, when no row in time was below `first`."""
        starts = self.placed(closed).starts
        return np.ones(len(closed.answers), np.bool_) if starts is None else starts >= first

    # State

    @property
    def keeps_groups(self) -> bool:
        """Whether groups are never forgotten."""
        return False

    def forget(self, closed: int, reported: int | None) -> None:
        """Windows up to `closed` are reported; of each group one of this number or a later one was the last."""
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


def with_values(
    plan: Plan,
    answers: Answers,
    multisets: Callable[[int, Values], Multiset],
    customs: Callable[[int, Custom], tuple[Codes, CustomState]],
) -> Closed:
    """Answers in order of windows, with the aggregates that look at values lowered window by window."""
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(answers.windows)) + 1, [len(answers)]]).tolist()
    pieces: list[dict[int, Array]] = []
    for first, last in pairwise(cuts):
        window = int(answers.windows[first])
        piece = answers.take(slice(first, last))
        pieces.append(plan.lower(piece.codes, piece.state, partial(multisets, window), partial(customs, window)))
    lowered = {place: pa.concat_arrays([piece[place] for piece in pieces]) for place in pieces[0]}
    return Closed(answers, lowered)


def pick(codes: Codes, state: CustomState, wanted: Codes) -> tuple[CustomState, npt.NDArray[np.bool_]]:
    """The states of the wanted groups, of those that have any, and which have."""
    place = np.searchsorted(codes, wanted)
    present = np.zeros(len(wanted), np.bool_)
    inside = place < len(codes)
    present[inside] = codes[place[inside]] == wanted[inside]
    return state.take(place[present]), present
