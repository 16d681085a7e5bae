"""The ends of windows already reported, as far back as late rows or empty windows ask for them."""

from __future__ import annotations

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.rows.per_row import missed_ends
from windrow.operators.state.groups import Codes
from windrow.operators.windows.rows.row_timeline import Ends


class PastEnds:
    """Ends in order, numbered on from `first`, each with the group that its window is for."""

    def __init__(self) -> None:
        self.first = 0
        self._start, self._stop = 0, 0
        self._times: Integers = np.empty(64, np.int64)
        self._codes: Codes = np.empty(64, np.int32)

    def content(self) -> Ends:
        kept = slice(self._start, self._stop)
        return Ends(self._times[kept], self._codes[kept], self.first)

    def append(self, ends: Ends) -> None:
        if self._stop + len(ends.times) > len(self._times):
            self._move(len(ends.times))
        end = self._stop + len(ends.times)
        self._times[self._stop : end], self._codes[self._stop : end] = ends.times, ends.codes
        self._stop = end

    def _move(self, more: int) -> None:
        """To the front of arrays that have room for as many again."""
        kept = self.content()
        size = len(kept.times)
        self._times, self._codes = np.empty(2 * (size + more), np.int64), np.empty(2 * (size + more), np.int32)
        self._start, self._stop = 0, size
        self._times[:size], self._codes[:size] = kept.times, kept.codes

    def forget(self, number: int) -> None:
        """Forget the ends before this number."""
        gone = min(max(number - self.first, 0), self._stop - self._start)
        self.first += gone
        self._start += gone

    def forget_below(self, time: int) -> None:
        self.forget(self.first + int(np.searchsorted(self.content().times, time)))

    def from_number(self, number: int) -> int | None:
        """The end of this number; None when there is none yet."""
        at = self._start + number - self.first
        return int(self._times[at]) if at < self._stop else None

    def times_of(self, numbers: Integers) -> Integers:
        return self._times[self._start + numbers - self.first]

    def missed(
        self, times: Integers, bounds: Integers, codes: Codes, ahead: Ends | None = None
    ) -> tuple[Integers, Integers, Integers]:
        """How many ends lie from each time to its bound, of its group; the first and the last, or the time itself.

        `ahead` are further ends, none of them before those known here.
        """
        counts, firsts, lasts = np.zeros(len(times), np.int64), times.copy(), times.copy()
        known = self.content()
        if ahead is not None and len(ahead.times):
            both = np.concatenate([known.times, ahead.times]), np.concatenate([known.codes, ahead.codes])
            known = Ends(*both, known.first)
        missed_ends(times, bounds, codes, known.times, known.codes, counts, firsts, lasts)
        return counts, firsts, lasts

    def remap(self, mapping: Codes) -> None:
        """Windows of groups no longer in use are no one's."""
        kept = slice(self._start, self._stop)
        self._codes[kept] = mapping[self._codes[kept]]

    @property
    def nbytes(self) -> int:
        return self._times.nbytes + self._codes.nbytes
