"""What is promised for single groups: by the code of a group, the bound below which no row of it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled
from windrow.aggregates.kinds.base import Integers
from windrow.operators.aggregate.result_times import times_of
from windrow.operators.base import GroupPunctuations
from windrow.operators.state.groups import NO_CODES, Codes, Groups
from windrow.operators.state.promises import Promises, restored, saved
from windrow.operators.windows.base import Closed
from windrow.operators.windows.extents import last_closed
from windrow.plan.nodes import WindowAggregate
from windrow.semantics.progress.policies import START
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Landmark, Sliding, Window


@dataclass
class Pattern:
    """Promises by some of the keys, and which of them each group falls under."""

    promises: Promises
    places: list[int]
    """Which keys these are."""
    of_group: Codes


class GroupBounds:
    """A promise may name only some of the keys; it then holds for all groups that have these values.

    Also for those that come later. `groups` gives the groups there are, whose keys are the columns `names`.
    """

    def __init__(self, names: Sequence[str | None], groups: Callable[[], Groups], window: Window) -> None:
        self.names = list(names)
        self.groups = groups
        self.window = window
        self.patterns: dict[tuple[str, ...], Pattern] = {}
        self.closed: Integers = np.empty(0, np.int64)
        self.reported: Integers = np.empty(0, np.int64)
        """The last window reported of each group alone, where windows end on a grid; START: none."""

    def boundaries(self, codes: Codes, closed: int) -> Integers:
        """The bound of each group, which is nowhere below the one of all."""
        self.grow()
        return np.maximum(self.closed[codes], closed)

    def advance(self, punctuations: GroupPunctuations) -> Codes:
        """Take promises in; the groups there are whose bound moved."""
        pattern = self._pattern(punctuations.groups.schema)
        self.grow()
        codes = pattern.promises.note(punctuations)
        named = np.zeros(len(pattern.promises), np.bool_)
        named[codes] = True
        under = np.flatnonzero(named[pattern.of_group]).astype(np.int32)
        bounds = pattern.promises.bounds[pattern.of_group[under], 0]
        moved = np.flatnonzero(bounds > self.closed[under])
        self.closed[under[moved]] = bounds[moved]
        news: Codes = under[moved]
        return news

    def _pattern(self, schema: pa.Schema) -> Pattern:
        names = tuple(schema.names)
        if names not in self.patterns:
            pattern = Pattern(Promises(schema), self._places(names), NO_CODES)
            self.patterns[names] = pattern
            self._sort(pattern, 0)
        return self.patterns[names]

    def _places(self, names: tuple[str, ...]) -> list[int]:
        return [self.names.index(name) for name in names]

    def _sort(self, pattern: Pattern, first: int) -> Integers:
        """Find out what the groups from a code on, up to those noted, fall under; the bounds promised for them."""
        codes = np.arange(first, len(self.closed), dtype=np.int32)
        keys = self.groups().decode(codes)
        schema = pattern.promises.schema
        found = pattern.promises.codes(
            pa.RecordBatch.from_arrays([keys[place] for place in pattern.places], names=schema.names)
        )
        pattern.of_group = np.concatenate([pattern.of_group[:first], found])
        bounds: Integers = pattern.promises.bounds[found, 0]
        return bounds

    def grow(self) -> None:
        """Groups that are new since: what was promised before they came holds for them."""
        first, more = len(self.closed), self.groups().count - len(self.closed)
        if more == 0:
            return
        self.closed = np.concatenate([self.closed, np.full(more, START, np.int64)])
        self.reported = np.concatenate([self.reported, np.full(more, START, np.int64)])
        for pattern in self.patterns.values():
            self.closed[first:] = np.maximum(self.closed[first:], self._sort(pattern, first))
        if isinstance(self.window, Sliding):
            known = np.flatnonzero(self.closed[first:] != START) + first
            self.reported[known] = last_closed(self.window, self.closed[known])

    def unreported(self, closed: Closed) -> Closed:
        """Of windows that are closed for all groups, those not reported of their group alone."""
        if not isinstance(self.window, (Sliding, Landmark)):
            return closed
        self.grow()
        return closed.take(np.flatnonzero(closed.answers.windows > self.reported[closed.answers.codes]))

    def forget_below(self, closed: int) -> bool:
        """Let go of what says less than the bound of all; whether nothing is left."""
        for pattern in self.patterns.values():
            if pattern.promises.forget_below(closed):
                self._sort(pattern, 0)
        return all((pattern.promises.bounds <= closed).all() for pattern in self.patterns.values())

    def codes_in_use(self) -> Codes:
        """None: what is promised is kept by the keys themselves."""
        return NO_CODES

    def remap(self, mapping: Codes, groups: int) -> None:
        used = np.flatnonzero(mapping[: len(self.closed)] >= 0)
        self.closed, self.reported = self.closed[used], self.reported[used]
        for pattern in self.patterns.values():
            pattern.of_group = pattern.of_group[used]

    def state(self) -> dict[str, pa.Table]:
        self.grow()
        known = tabled(closed=self.closed, reported=self.reported)
        return {"ahead": known, **saved(p.promises for p in self.patterns.values())}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        known = tables["ahead"]
        self.closed, self.reported = (np.array(known[name].combine_chunks()) for name in ("closed", "reported"))
        for promises in restored(tables):
            names = tuple(promises.schema.names)
            self.patterns[names] = Pattern(promises, self._places(names), NO_CODES)
            self._sort(self.patterns[names], 0)


def group_names(node: WindowAggregate) -> list[str | None]:
    """The column that each key of a window aggregate is; None where it is computed."""
    return [e.name if isinstance(e, Column) else None for _, e in node.keys]


def passed_on(
    node: WindowAggregate, passes: frozenset[str], known: GroupPunctuations, values: Integers
) -> Iterator[GroupPunctuations]:
    """What promises for groups say of the results, under the names of these, where a window above can use it."""
    names = {e.name: name for name, e in node.keys if isinstance(e, Column) and name in passes}
    if all(name in names for name in known.groups.schema.names):
        groups = known.groups.rename_columns([names[name] for name in known.groups.schema.names])
        yield GroupPunctuations(groups, times_of(node, values))
