"""How far the rows of a window aggregate have come: what is closed for all groups, and for those that are ahead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import Batch, GroupPunctuations
from windrow.operators.late.group_bounds import GroupBounds
from windrow.operators.state.groups import Codes, Groups
from windrow.operators.windows.base import GroupedRows
from windrow.physical.grid import Grid
from windrow.semantics.progress.policies import END, START, check_advance
from windrow.semantics.windows.kinds import Landmark, Sliding, Window
from windrow.semantics.windows.kinds import RowsWindow as LastRows


class Bounds:
    """Rows below `closed`, or below what is closed for their group alone, are late.

    `groups` gives the groups there are, whose keys are the columns `names`; None where one is computed.
    """

    def __init__(self, window: Window, names: Sequence[str | None], groups: Callable[[], Groups]) -> None:
        self.window = window
        self.names = list(names)
        self.groups = groups
        self.grid = Grid(window.origin, window.slide) if isinstance(window, (Sliding, Landmark)) else None
        """Where windows end, if they do on a grid: promises in between say nothing."""
        self.by_arrival = isinstance(window, LastRows) and window.order is None
        """Rows count as they come, so that none is late and nothing is ahead."""
        self.bound = START
        """The last promise for all groups."""
        self.closed = START
        """The last place up to which it closes windows."""
        self.ahead: GroupBounds | None = None
        """The groups whose own promises are ahead of the one for all."""

    # Forward

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
        """Let go of promises for single groups that say no more than the one for all."""
        if self.ahead is not None and self.ahead.forget_below(self.closed):
            self.ahead = None

    # Asked

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

    # State

    def to_json(self) -> list[int]:
        return [self.bound, self.closed]

    def restore(self, saved: list[Any], ahead: dict[str, pa.Table]) -> None:
        self.bound, self.closed = saved
        if ahead:
            self.ahead = GroupBounds(self.names, self.groups, self.window)
            self.ahead.restore(ahead)
