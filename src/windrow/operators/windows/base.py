"""What every window algorithm takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.base import Custom, Integers, Part, Runs, Values
from windrow.aggregates.custom import UserAggregate
from windrow.operators.kernels.input import span
from windrow.operators.state.columns import Lifted
from windrow.operators.state.customs import CustomCells, CustomState
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Layout, Table
from windrow.operators.state.multisets import Multiset, ValueCodes
from windrow.operators.state.timeline import Answers
from windrow.semantics.expressions import Expression


@dataclass
class Rows:
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

    def take(self, rows: Any) -> Rows:
        def cut(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return array[rows] if len(array) else array

        lifted = {
            e: Lifted(cut(v.numbers), cut(v.keys), cut(v.valid), v.is_float, cut(v.times))
            for e, v in self.lifted.items()
        }
        return Rows(
            self.times[rows],
            cut(self.codes),
            lifted,
            {part: keys[rows] for part, keys in self.keys.items()},
            {e: cut(valid) for e, valid in self.valid.items()},
            {part: numbers[rows] for part, numbers in self.numbers.items()},
        )

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
    """Answers of closed windows with what holistic and user aggregates need."""

    answers: Answers
    runs: dict[Values, Runs] = field(default_factory=dict)
    custom: dict[Custom, tuple[CustomState, npt.NDArray[np.bool_]]] = field(default_factory=dict)
    starts: Integers | None = None
    """Where each window starts, for windows that are not numbered."""
    ends: Integers | None = None

    def take(self, rows: npt.NDArray[np.int64]) -> Closed:
        """Some of the answers, by their places in increasing order."""
        custom = {}
        for part, (state, present) in self.custom.items():
            place = np.cumsum(present) - 1
            custom[part] = state.take(place[rows][present[rows]]), present[rows]
        runs = {part: _some_runs(found, rows) for part, found in self.runs.items()}
        cut = [None if a is None else a[rows] for a in (self.starts, self.ends)]
        return Closed(self.answers.take(rows), runs, custom, *cut)


def _some_runs(runs: Runs, rows: npt.NDArray[np.int64]) -> Runs:
    sizes = np.diff(runs.offsets)[rows]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    index = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - runs.offsets[rows], sizes)
    return Runs(offsets, runs.values.take(pa.array(index)), runs.counts[index])


class Plan:
    """What the aggregates of one operator keep, in all."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        parts: dict[Part, pa.DataType | None] = {}
        for kind, needed in zip(layout.types, layout.parts, strict=True):
            parts.update(dict.fromkeys(needed, kind))
        self.values = {p: ValueCodes(p, kind) for p, kind in parts.items() if isinstance(p, Values) and kind is not None}
        self.custom = [p for p in parts if isinstance(p, Custom)]

    @property
    def keeps_values(self) -> bool:
        return bool(self.values or self.custom)


class Windower(Protocol):
    """A window algorithm over one operator's rows."""

    def add(self, rows: Rows, groups: int) -> None:
        """Rows in time: all their windows are open."""

    def amend(self, rows: Rows, groups: int) -> None:
        """Late rows that still count in some open window."""

    def close(self, bound: int, groups: int) -> Iterator[Closed]:
        """The answers of the windows that end at or below `bound`, in order of their ends."""

    def regrow(self, convert: Callable[[Table], Table]) -> None: ...

    def codes_in_use(self) -> Codes: ...

    def remap(self, mapping: Codes, groups: int) -> None: ...

    def state(self) -> dict[str, pa.Table]: ...

    def restore(self, tables: dict[str, pa.Table]) -> None: ...

    @property
    def nbytes(self) -> int: ...

    @property
    def open_windows(self) -> int: ...


VALUES_AT_ONCE = 1 << 20


def with_values(
    plan: Plan,
    answers: Answers,
    multisets: Callable[[int, Values], Multiset],
    customs: Callable[[int, Custom], tuple[Codes, CustomState]],
) -> Iterator[Closed]:
    """Answers with the runs and user states of their windows, a bounded number of values at a time."""
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(answers.windows)) + 1, [len(answers)]])
    pieces: list[Closed] = []
    size = 0
    for first, last in zip(cuts[:-1], cuts[1:], strict=True):
        piece = answers.take(slice(first, last))
        window = int(piece.windows[0])
        runs = {part: codes.runs(multisets(window, part), piece.codes) for part, codes in plan.values.items()}
        custom = {part: pick(*customs(window, part), piece.codes) for part in plan.custom}
        pieces.append(Closed(piece, runs, custom))
        size += len(piece) + sum(len(r.counts) for r in runs.values())
        if size >= VALUES_AT_ONCE:
            yield joined(pieces)
            pieces, size = [], 0
    if pieces:
        yield joined(pieces)


def pick(codes: Codes, state: CustomState, wanted: Codes) -> tuple[CustomState, npt.NDArray[np.bool_]]:
    """The states of the wanted groups, of those that have any, and which have."""
    place = np.searchsorted(codes, wanted)
    present = np.zeros(len(wanted), np.bool_)
    inside = place < len(codes)
    present[inside] = codes[place[inside]] == wanted[inside]
    return state.take(place[present]), present


def joined(pieces: list[Closed]) -> Closed:
    """Several pieces as one."""
    if len(pieces) == 1:
        return pieces[0]
    answers = Answers(
        np.concatenate([p.answers.windows for p in pieces]),
        np.concatenate([p.answers.codes for p in pieces]),
        joined_tables(p.answers.state for p in pieces),
    )
    runs = {part: joined_runs([p.runs[part] for p in pieces]) for part in pieces[0].runs}
    custom = {
        part: (
            CustomState.joined([p.custom[part][0] for p in pieces]),
            np.concatenate([p.custom[part][1] for p in pieces]),
        )
        for part in pieces[0].custom
    }
    return Closed(answers, runs, custom)


def joined_tables(tables: Iterable[Table]) -> Table:
    parts = list(tables)
    return Table(
        np.concatenate([t.adds for t in parts]),
        np.concatenate([t.maxs for t in parts]),
        np.concatenate([t.pairs for t in parts]),
    )


def joined_runs(pieces: list[Runs]) -> Runs:
    starts = np.cumsum([0, *(int(r.offsets[-1]) for r in pieces)])
    offsets = np.concatenate([[0], *(r.offsets[1:] + start for r, start in zip(pieces, starts, strict=False))])
    values: pa.Array = pa.concat_arrays([r.values for r in pieces])
    return Runs(offsets.astype(np.int64), values, np.concatenate([r.counts for r in pieces]))
