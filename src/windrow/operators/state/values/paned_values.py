"""Values kept by pane, and the multiset of a window that slides over the panes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import numbers_of, scalars, scalars_of, tabled
from windrow.aggregates.kinds.base import Integers
from windrow.operators.state.groups import Codes, codes_of
from windrow.operators.state.values.multisets import Multiset, RunningMultiset, compact_segments, sorted_runs
from windrow.operators.state.values.value_rows import ValueLog
from windrow.operators.store.row_store import below
from windrow.semantics.progress.policies import START


class PanedValues:
    """Pane summaries of values, and the multiset of the window that slides over them."""

    def __init__(self, range_panes: int, *, forever: bool) -> None:
        self.range_panes = range_panes
        self.forever = forever
        self.open = ValueLog()
        self.panes: dict[int, Multiset] = {}
        """Closed panes by number."""
        self.window = RunningMultiset()
        self.inside: tuple[int, int] = (START, START)
        """Panes [first, last) that the window's multiset covers."""

    def add(self, panes: Integers, codes: Codes, keys: Integers) -> None:
        self.open.add(panes, codes, keys)

    def extract(self, chosen: npt.NDArray[np.bool_]) -> PanedValues:
        """The values of chosen groups alone, before a window slid over them; what a landmark window holds stays in."""
        part = PanedValues(self.range_panes, forever=self.forever)
        part.open.append(self.open.where(lambda rows: chosen[rows["code"]]))
        part.panes = {pane: m.of_groups(chosen) for pane, m in self.panes.items()}
        if self.forever:
            part.window.change(self.window.now.of_groups(chosen), Multiset.nothing())
        return part

    def forget_open(self, first: Integers) -> None:
        """Only values of panes not closed from `first[code]` on."""
        self.open.drop(lambda rows: rows["place"] < first[rows["code"]])

    def close(self, end: int) -> None:
        """Sum up the panes before `end`; no row of them is to come, except late ones."""
        closing = self.open.take(below("place", end))
        for pane, multiset in by_pane(closing["place"], closing["code"], closing["key"]):
            self.panes[pane] = self.panes[pane].plus(multiset) if pane in self.panes else multiset

    def amend(self, panes: Integers, codes: Codes, keys: Integers) -> None:
        """Late rows of closed panes."""
        for pane, multiset in by_pane(panes, codes, keys):
            if self.forever or self.inside[0] <= pane < self.inside[1]:
                self.window.change(multiset, Multiset.nothing())
            if not self.forever:
                known = self.panes.get(pane)
                self.panes[pane] = known.plus(multiset) if known else multiset

    def slide_to(self, end: int) -> Multiset:
        """The multiset of the window whose panes end before `end`; valid until the next slide."""
        nothing = Multiset.nothing()
        if self.forever:
            self.window.change(total(self.panes.pop(p) for p in [p for p in self.panes if p < end]), nothing)
            return self.window.now
        first = end - self.range_panes
        low, high = self.inside
        if first >= high:
            self.window.change(nothing, self.window.now)
            low, high = first, first
        leaving = total(self.panes[pane] for pane in self._between(low, first))
        self.window.change(total(self.panes[pane] for pane in self._between(high, end)), leaving)
        self.inside = (first, end)
        return self.window.now

    def _between(self, first: int, end: int) -> list[int]:
        """The panes in [first, end) that hold values."""
        if end - first <= len(self.panes):
            return [pane for pane in range(first, end) if pane in self.panes]
        return [pane for pane in self.panes if first <= pane < end]

    def forget(self, below: int) -> None:
        """Panes that no window needs any more; they leave the window's multiset too while they are still known."""
        if self.forever:
            return
        low, high = self.inside
        for pane in self._between(low, min(below, high)):
            self.window.change(Multiset.nothing(), self.panes[pane])
        self.inside = max(low, below), max(high, below)
        self.panes = {pane: m for pane, m in self.panes.items() if pane >= below}

    def remap(self, mapping: Codes) -> None:
        self.open.remap("code", mapping)
        self.panes = {pane: m.remap(mapping) for pane, m in self.panes.items()}
        self.window.remap(mapping)

    def keys_in_use(self) -> Integers:
        closed = [m.keys for m in self.panes.values()]
        return np.concatenate([self.open.keys_in_use(), self.window.now.keys, *closed])

    def renumber(self, mapping: Integers) -> None:
        self.open.renumber(mapping)
        self.panes = {pane: m.renumber(mapping) for pane, m in self.panes.items()}
        self.window.renumber(mapping)

    def codes_in_use(self) -> Codes:
        closed = [m.codes for m in self.panes.values()]
        return np.unique(np.concatenate([self.open.column("code"), self.window.now.codes, *closed]))

    def saved(self) -> dict[str, pa.Table]:
        return {
            "open": self.open.table(),
            "panes": _table(self.panes.items()),
            "window": _table([(0, self.window.now)]),
            "inside": scalars(first=self.inside[0], last=self.inside[1]),
        }

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.open.fill(tables["open"])
        self.panes = _of_table(tables["panes"])
        self.window.change(_of_table(tables["window"]).get(0, Multiset.nothing()), Multiset.nothing())
        first, last = scalars_of(tables["inside"])
        self.inside = first, last

    @property
    def nbytes(self) -> int:
        return self.open.nbytes + self.window.nbytes + sum(m.nbytes for m in self.panes.values())


def _table(panes: Iterable[tuple[int, Multiset]]) -> pa.Table:
    items = [(START, Multiset.nothing()), *panes]
    return tabled(
        place=np.concatenate([np.full(len(m.codes), p) for p, m in items]),
        code=np.concatenate([m.codes for _, m in items]),
        key=np.concatenate([m.keys for _, m in items]),
        count=np.concatenate([m.counts for _, m in items]),
    )


def _of_table(table: pa.Table) -> dict[int, Multiset]:
    places, keys, counts = (numbers_of(table, name) for name in ("place", "key", "count"))
    return dict(_cut(places, codes_of(table), keys, counts))


def _cut(places: Integers, codes: Codes, keys: Integers, counts: Integers) -> list[tuple[int, Multiset]]:
    """The runs of each place, which come one after the other."""
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(places)) + 1, [len(places)]]).tolist()
    return [(int(places[a]), Multiset(codes[a:b], keys[a:b], counts[a:b])) for a, b in pairwise(cuts) if b > a]


def total(multisets: Iterable[Multiset]) -> Multiset:
    """All of them as one, by pairs: each run is copied as often as the number of multisets can be halved."""
    left = list(multisets)
    while len(left) > 1:
        odd = left[-1:] if len(left) % 2 else []
        left = [one.plus(other) for one, other in zip(left[::2], left[1::2], strict=False)] + odd
    return left[0] if left else Multiset.nothing()


def by_pane(panes: Integers, codes: Codes, keys: Integers) -> list[tuple[int, Multiset]]:
    """The multiset of each pane, in order of panes."""
    if len(panes) == 0:
        return []
    groups = int(codes.max()) + 1
    first = int(panes.min())
    if (int(panes.max()) - first + 1) * groups >= 1 << 60:
        chosen = [(int(p), panes == p) for p in np.unique(panes)]
        return [(p, Multiset.of(codes[rows], keys[rows])) for p, rows in chosen]
    used, segments = compact_segments((panes - first) * groups + codes)
    segment, key, count = sorted_runs(segments, keys, len(used))
    pane = used[segment] // groups + first
    code = (used[segment] % groups).astype(np.int32)
    return _cut(pane, code, key, count)
