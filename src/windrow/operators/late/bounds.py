"""How far the rows of a window aggregate have come: what is closed for all groups, and for those that are ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled
from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import Batch, GroupPunctuations
from windrow.operators.state.groups import NO_CODES, Codes, Groups
from windrow.operators.state.promises import Promises, restored, saved
from windrow.operators.windows.base import Closed
from windrow.operators.windows.extents import last_closed
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.physical.nodes import Grid
from windrow.plan.checks.windows import lag_of
from windrow.plan.nodes import WindowAggregate
from windrow.semantics.progress.policies import END, START, check_advance
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Landmark, RowsWindow, Sliding, Window


class Bounds:
    """Rows below `closed`, or below what is closed for their group alone, are late.

    `groups` gives the groups there are, whose keys are the columns `names`; None where one is computed.
    """

    def __init__(self, window: Window, names: Sequence[str | None], groups: Callable[[], Groups]) -> None:
        self.window = window
        self.names = list(names)
        self.groups = groups
        self.grid = Grid(window.origin, window.slide) if isinstance(window, (Sliding, Landmark)) else None
        """Where windows end, if they do on a grid: promises in between close nothing."""
        self.by_arrival = isinstance(window, RowsWindow) and window.order is None
        """Rows count as they come, so that none is late and nothing is ahead."""
        self.bound = START
        """The last promise for all groups."""
        self.closed = START
        """The last place up to which it closes windows."""
        self.ahead: GroupBounds | None = None
        """The groups whose own promises are ahead of the one for all."""

    def closes(self, value: int) -> bool:
        """Whether a promise for all groups closes more than is closed."""
        return self._boundary(value) > self.closed

    def advance(self, value: int) -> bool:
        """Take such a promise in; whether it closes more than was closed."""
        self.bound = check_advance(self.bound, value)
        before, self.closed = self.closed, max(self.closed, self._boundary(value))
        return self.closed > before

    def _boundary(self, value: int) -> int:
        return value if self.grid is None else self.grid.round_down(value)

    def news(self, punctuations: GroupPunctuations) -> GroupPunctuations:
        """Of promises for single groups, those that close more than is closed for all."""
        if self.grid is not None:
            punctuations = replace(punctuations, values=self.grid.rounded_down(punctuations.values))
        return punctuations.above(END if self.by_arrival else self.closed)

    def advance_groups(self, news: GroupPunctuations) -> tuple[GroupBounds, Codes]:
        """Take them in; what is known of single groups now, and the groups that moved."""
        if self.ahead is None:
            self.ahead = GroupBounds(self.names, self.groups, self.window)
        return self.ahead, self.ahead.advance(news)

    def forget(self) -> None:
        """Let go of promises for single groups that promise no more than the one for all."""
        if self.ahead is not None and self.ahead.forget_below(self.closed):
            self.ahead = None

    def of(self, codes: Codes) -> Integers:
        """For each of these groups, up to where windows are closed."""
        return np.full(len(codes), self.closed) if self.ahead is None else self.ahead.boundaries(codes, self.closed)

    def of_all(self) -> Integers:
        """The same for all groups there are."""
        return self.of(np.arange(self.groups().count, dtype=np.int32))

    def met(self, batch: Batch, rows: GroupedRows) -> Integers | None:
        """The bound that each row met as it came; None when all of them are in time. There must be one."""
        if self.by_arrival:
            return None
        if self.ahead is not None:
            return self.ahead.boundaries(rows.group_codes(), self.closed)
        if batch.bounds is not None:
            return batch.bounds if batch.selected is None else batch.bounds[batch.selected.view(np.bool_)]
        return None if rows.span[0] >= self.closed else np.full(len(rows), self.closed)

    def to_json(self) -> list[int]:
        return [self.bound, self.closed]

    def restore(self, saved: list[int], ahead: dict[str, pa.Table]) -> None:
        self.bound, self.closed = saved
        if ahead:
            self.ahead = GroupBounds(self.names, self.groups, self.window)
            self.ahead.restore(ahead)


@dataclass
class Pattern:
    """Promises by some of the keys, and which of them each group falls under."""

    promises: Promises
    of_group: Codes


class GroupBounds:
    """What is promised for single groups: by the code of a group, the bound below which no row of it comes.

    A promise may name only some of the keys; it then holds for all groups that have these values, also for those that
    come later.
    """

    def __init__(self, names: list[str | None], groups: Callable[[], Groups], window: Window) -> None:
        self.names = names
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
        schema = punctuations.groups.schema
        if tuple(schema.names) not in self.patterns:
            self._add(Promises(schema))
        pattern = self.patterns[tuple(schema.names)]
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

    def _add(self, promises: Promises) -> None:
        pattern = self.patterns[tuple(promises.schema.names)] = Pattern(promises, NO_CODES)
        self._sort(pattern, 0)

    def _sort(self, pattern: Pattern, first: int) -> Integers:
        """Find out what the groups from a code on, up to those noted, fall under; the bounds promised for them."""
        keys = self.groups().decode(np.arange(first, len(self.closed), dtype=np.int32))
        names = pattern.promises.schema.names
        named = pa.RecordBatch.from_arrays([keys[self.names.index(name)] for name in names], names=names)
        found = pattern.promises.codes(named)
        pattern.of_group = np.concatenate([pattern.of_group[:first], found])
        bounds: Integers = pattern.promises.bounds[found, 0]
        return bounds

    def grow(self) -> None:
        """Groups that are new since: what was promised before they came holds for them."""
        first, more = len(self.closed), self.groups().count - len(self.closed)
        if more == 0:
            return
        fresh = np.full(more, START, np.int64)
        self.closed, self.reported = np.concatenate([self.closed, fresh]), np.concatenate([self.reported, fresh])
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
        return closed.take(np.flatnonzero(closed.answers.places > self.reported[closed.answers.codes]))

    def forget_below(self, closed: int) -> bool:
        """Let go of what promises less than the bound of all; whether nothing is left."""
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
        self.closed, self.reported = (np.array(tables["ahead"][n].combine_chunks()) for n in ("closed", "reported"))
        for promises in restored(tables):
            self._add(promises)


def passed_on(
    node: WindowAggregate, passes: frozenset[str], known: GroupPunctuations, values: Integers
) -> Iterator[GroupPunctuations]:
    """What promises for groups mean for the results, under the names of these, where a window above can use it."""
    names = {e.name: name for name, e in node.keys if isinstance(e, Column) and name in passes}
    if all(name in names for name in known.groups.schema.names):
        groups = known.groups.rename_columns([names[name] for name in known.groups.schema.names])
        yield GroupPunctuations(groups, values - lag_of(node))
