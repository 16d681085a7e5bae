"""Which rows are too late for a session: `semantics.windows.session.Past` of all groups, on whole arrays.

Only the last reported session of a group is remembered, and of groups without an open session only while the bound is
not two gaps past its last row: `Past` says why that is enough.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled
from windrow.aggregates.kinds.base import Integers
from windrow.operators.late.judging import Missed
from windrow.operators.state.groups import Codes
from windrow.operators.windows.sessions.open_sessions import Spans
from windrow.semantics.progress.policies import END, START

_COLUMNS = ("bounds", "floors", "firsts", "lasts")


class SessionFloors:
    """By the code of a group: the bound in force, the value below which rows are late, the session reported last.

    The bounds are those of the stream less `within`.
    """

    def __init__(self, gap: int, within: int = 0) -> None:
        self.gap = gap
        self.within = within
        self.bounds: Integers = np.empty(0, np.int64)
        self.floors: Integers = np.empty(0, np.int64)
        self.firsts: Integers = np.empty(0, np.int64)
        """END where none was reported, which no row belongs to."""
        self.lasts: Integers = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.bounds)

    def final(self, bounds: Integers) -> Integers:
        """Bounds of the stream as those meant here."""
        return _lowered(bounds, self.within)

    def grow(self, bounds: Integers) -> None:
        """Groups that are new have no session: a row counts if it would not be over by itself."""
        fresh = self.final(bounds[len(self) :])
        self.floors = np.concatenate([self.floors, _lowered(fresh, self.gap)])
        self.firsts = np.concatenate([self.firsts, np.full(len(fresh), END)])
        self.lasts = np.concatenate([self.lasts, np.full(len(fresh), START)])
        self.bounds = np.concatenate([self.bounds, fresh])

    def advance(self, bounds: Integers, closed: Spans, still_open: Spans) -> None:
        """Bounds of the stream have moved, which closed some sessions and left others open."""
        bounds = self.final(bounds)
        lowest = bounds.copy()
        codes, places = still_open.lowest()
        lowest[codes] = np.minimum(lowest[codes], still_open.starts[places])
        lowest[bounds == END] = END
        np.maximum(self.floors, _lowered(lowest, self.gap), out=self.floors)
        self.bounds = bounds
        codes, places = closed.highest()
        self.firsts[codes], self.lasts[codes] = closed.starts[places], closed.lasts[places]
        self.floors[codes] = np.maximum(self.floors[codes], self.lasts[codes] + self.gap + 1)

    def missed(self, times: Integers, codes: Codes) -> Missed:
        """What late rows are late for: the session reported last, or what each of them is by itself."""
        bounds, firsts, lasts = self.bounds[codes], self.firsts[codes], self.lasts[codes]
        belongs = (times >= firsts - self.gap) & (lasts + self.gap >= bounds - self.gap)
        starts, ends = np.where(belongs, firsts, times), np.where(belongs, lasts, times) + self.gap
        return Missed(bounds + self.within - times, np.ones(len(times), np.int64), starts, ends)

    def codes_in_use(self) -> Codes:
        """The groups whose last session says more than the bound alone."""
        return np.flatnonzero(self.floors > _lowered(self.bounds, self.gap)).astype(np.int32)

    def remap(self, mapping: Codes) -> None:
        used = np.flatnonzero(mapping[: len(self)] >= 0)
        for name in _COLUMNS:
            setattr(self, name, getattr(self, name)[used])

    @property
    def nbytes(self) -> int:
        return 4 * self.bounds.nbytes

    def state(self) -> pa.Table:
        return tabled(**{name: getattr(self, name) for name in _COLUMNS})

    def restore(self, table: pa.Table) -> None:
        for name in _COLUMNS:
            setattr(self, name, np.array(table[name].combine_chunks()))


def _lowered(values: Integers, amount: int) -> Integers:
    """So much below each; the ends of all times stay where they are."""
    return np.where(values == END, END, np.maximum(values, START + amount) - amount)
