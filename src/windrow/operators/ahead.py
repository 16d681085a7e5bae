"""Groups that promises of their own have carried ahead of the others: where they are closed, what was reported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.aggregates.arrays import tabled
from windrow.aggregates.base import Integers
from windrow.operators.base import GroupPunctuations
from windrow.operators.grouping import Grouping
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.state.promises import Promises, restored, saved
from windrow.operators.windows.extents import last_closed
from windrow.plan.nodes import WindowAggregate
from windrow.semantics.expressions import Column
from windrow.semantics.progress import START
from windrow.semantics.windows import Landmark, Session, Sliding


@dataclass
class Pattern:
    """Promises by some of the keys, and which of them each group falls under."""

    promises: Promises
    places: list[int]
    """Which keys these are."""
    of_group: Codes


class Ahead:
    """By the code of a group: the boundary below which its windows are closed, and the last window reported of it.

    Sessions have no numbers: there is no last one then, and the boundary is the promise itself.

    A promise may name only some of the keys; it then holds for all groups that have these values, also for those that
    come later.
    """

    def __init__(self, grouping: Grouping, window: Sliding | Landmark | Session) -> None:
        self.grouping = grouping
        self.window = window
        self.patterns: dict[tuple[str, ...], Pattern] = {}
        self.closed: Integers = np.empty(0, np.int64)
        self.reported: Integers = np.empty(0, np.int64)

    def boundaries(self, codes: Codes, closed: int) -> Integers:
        """The boundary of each group, which is nowhere below the one of all."""
        self.grow()
        return np.maximum(self.closed[codes], closed)

    def advance(self, punctuations: GroupPunctuations) -> Codes:
        """Take promises in, on boundaries of windows; the groups there are whose boundary moved."""
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
        keys = [e.name if isinstance(e, Column) else None for _, e in self.grouping.keys]
        return [keys.index(name) for name in names]

    def _sort(self, pattern: Pattern, first: int) -> Integers:
        """Find out what the groups from a code on, up to those noted, fall under; the bounds promised for them."""
        codes = np.arange(first, len(self.closed), dtype=np.int32)
        keys = self.grouping.groups.decode(codes)
        schema = pattern.promises.schema
        found = pattern.promises.codes(
            pa.RecordBatch.from_arrays([keys[place] for place in pattern.places], names=schema.names)
        )
        pattern.of_group = np.concatenate([pattern.of_group[:first], found])
        bounds: Integers = pattern.promises.bounds[found, 0]
        return bounds

    def grow(self) -> None:
        """Groups that are new since: what was promised before they came holds for them."""
        first, more = len(self.closed), self.grouping.groups.count - len(self.closed)
        if more == 0:
            return
        fresh = np.full(more, START, np.int64)
        self.closed, self.reported = np.concatenate([self.closed, fresh]), np.concatenate([self.reported, fresh])
        for pattern in self.patterns.values():
            self.closed[first:] = np.maximum(self.closed[first:], self._sort(pattern, first))
        if isinstance(self.window, Sliding):
            known = np.flatnonzero(self.closed[first:] != START) + first
            self.reported[known] = last_closed(self.window, self.closed[known])

    def forget_below(self, closed: int) -> bool:
        """Let go of what says less than the boundary of all; whether nothing is left."""
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
        groups = {"ahead": tabled(closed=self.closed, reported=self.reported)}
        return {**groups, **saved(pattern.promises for pattern in self.patterns.values())}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        columns = (tables["ahead"][name].combine_chunks() for name in ("closed", "reported"))
        self.closed, self.reported = (np.array(column) for column in columns)
        for promises in restored(tables):
            names = tuple(promises.schema.names)
            self.patterns[names] = Pattern(promises, self._places(names), NO_CODES)
            self._sort(self.patterns[names], 0)


def passed_on(
    node: WindowAggregate, passes: frozenset[str], known: GroupPunctuations, values: Integers
) -> Iterator[GroupPunctuations]:
    """What promises for groups say of the results, under the names of these, where a window above can use it."""
    names = {e.name: name for name, e in node.keys if isinstance(e, Column) and name in passes}
    if all(name in names for name in known.groups.schema.names):
        groups = known.groups.rename_columns([names[name] for name in known.groups.schema.names])
        yield GroupPunctuations(groups, values)
