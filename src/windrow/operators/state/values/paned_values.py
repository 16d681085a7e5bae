"""Values kept by pane, and the multiset of a window that slides over the panes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import scalars, scalars_of
from windrow.aggregates.kinds.base import Integers
from windrow.operators.compression.coded_column import Nature
from windrow.operators.state.changes import Saved
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.state.values.large_windows import LargeWindow, is_large
from windrow.operators.state.values.multisets import (
    Multiset,
    RunningMultiset,
    compact_segments,
    sorted_runs,
    total,
)
from windrow.operators.store.chosen_rows import below
from windrow.operators.store.packed import Packed
from windrow.operators.store.row_block import Column, RowBlock
from windrow.operators.store.row_store import RowStore
from windrow.operators.store.sealing import Sealing
from windrow.semantics.progress.policies import START

_NONE = np.empty(0, np.int64)
NO_RUNS = RowBlock({"place": _NONE, "code": NO_CODES, "key": _NONE, "count": _NONE})
RUNS = ("place", "code", "key")
"""How runs are sorted."""
REPEATED, SAMPLE = 2, 1 << 14
"""Rows are sealed as runs where a value is there so many times in the first of them."""
MANY_LATE = 4
"""Late values are put among the others when they are more than one in so many."""


class PanedValues:
    """Values of open and of closed panes, and the multiset of the window that slides over the closed ones.

    Open panes have rows as they came. Those that stay for long are sealed in stretches, and closed panes as a whole, as
    runs: sorted by pane, group and key, equal ones counted. Values that come for closed panes lie apart from them.
    """

    def __init__(
        self, range_panes: int, *, forever: bool, sealing: Sealing | None = None, nature: Nature = Nature.INTEGERS
    ) -> None:
        self.range_panes = range_panes
        self.forever = forever
        self.sealing = sealing
        self.nature = nature
        self.budget = None if sealing is None else sealing.budget
        of_open, of_closed = None, None
        if sealing is not None:
            of_open, of_closed = (sealing.having({"key": nature}, arrange) for arrange in (self._arranged, _in_order))
        self.open = RowStore(NO_RUNS, sealing=of_open)
        self.closed = RowStore(NO_RUNS, by="place", sealing=of_closed)
        self.repeats = True
        """Whether values came so often that it is worth it to count them when they are sealed."""
        self.late: dict[int, Multiset] = {}
        """Values of closed panes that came late, by pane."""
        self.window = RunningMultiset()
        self.inside: tuple[int, int] = (START, START)
        """Panes [first, last) that the window's multiset covers."""

    def _arranged(self, rows: RowBlock) -> RowBlock:
        """Rows of open panes as they are sealed: as runs where that makes them fewer, else pane by pane."""
        is_limited = self.budget is not None and self.budget.limit is not None
        if self.repeats and len(rows) > SAMPLE:
            self.repeats = REPEATED * len(_each(rows.take(slice(SAMPLE)))) <= SAMPLE
        if self.repeats or is_limited:
            runs = _each(rows)
            self.repeats = REPEATED * len(runs) <= len(rows)
            return runs
        return rows.sorted("place").sorted_by("place")

    def add(self, panes: Integers, codes: Codes, keys: Integers) -> None:
        self.open.seal()  # what is here from before will stay for longer
        ones = Packed.constant(1, len(keys))
        self.open.append(RowBlock({"place": panes, "code": codes, "key": keys, "count": ones}), seal=False)

    def extract(self, chosen: npt.NDArray[np.bool_]) -> PanedValues:
        """The values of chosen groups alone, before a window slid over them; what a landmark window holds stays in."""
        part = PanedValues(self.range_panes, forever=self.forever, sealing=self.sealing, nature=self.nature)
        for rows in self.open.parts_where(lambda rows: chosen[rows["code"]]):
            part.open.append(rows, seal=False)
        part._put_closed([_in_order(runs) for runs in self.closed.parts_where(lambda rows: chosen[rows["code"]])])
        part.late = {pane: m.of_groups(chosen) for pane, m in self.late.items()}
        if self.forever:
            part.window.change(self.window.now.of_groups(chosen), Multiset.nothing())
        return part

    def forget_open(self, first: Integers) -> None:
        """Only values of panes not closed from `first[code]` on."""
        self.open.drop(lambda rows: rows["place"] < first[rows["code"]])

    def close(self, end: int) -> None:
        """Sum up the panes before `end`; no row of them is to come, except late ones."""
        parts = self.open.take_parts(below("place", end))
        if not parts:
            return
        if self._is_large(sum(map(len, parts))):
            self._close_apart(parts)
            return
        runs = merged(parts)
        last = self.closed.blocks[-1].span("place")[1] if len(self.closed) else START
        if runs.span("place")[0] <= last:  # of some groups they were closed before
            early = runs.search("place", last + 1)
            self._put_late(multisets_of(runs.take(slice(early))))
            runs = runs.take(slice(early, None))
        self.closed.append(runs, seal=False)  # first they are needed as they are

    def _is_large(self, runs: int) -> bool:
        return is_large(runs, self.budget)

    def _close_apart(self, parts: Sequence[RowBlock]) -> None:
        """Take stretches over as they are, pane by pane: they are not put together."""
        assert self.closed.sealing is not None
        found: dict[int, list[RowBlock]] = {}
        for part in parts:
            runs = part if part.by == RUNS else self.closed.sealing.seal(_each(part))
            for pane, stretch in stretches_of(runs):
                found.setdefault(pane, []).append(stretch)
        last = self.closed.blocks[-1].span("place")[1] if len(self.closed) else START
        for pane in sorted(found):
            if pane <= last:
                self._put_late((pane, _multiset(stretch)) for stretch in found[pane])
            else:
                for stretch in found[pane]:
                    self.closed.append(stretch)

    def _put_closed(self, parts: Sequence[RowBlock]) -> None:
        """Runs that were closed elsewhere, of which several parts may have the same pane."""
        if self.closed.sealing is None or not self._is_large(sum(map(len, parts))):
            parts = [merged(parts)] if parts else []
        else:
            parts = [runs if runs.is_sealed else self.closed.sealing.seal(runs) for runs in parts]
        for runs in parts:
            self.closed.append(runs, seal=False)

    def amend(self, panes: Integers, codes: Codes, keys: Integers) -> None:
        """Late rows of closed panes."""
        late = multisets_of(runs_of(panes, codes, keys))
        for pane, multiset in late:
            if self.forever or self.inside[0] <= pane < self.inside[1]:
                self.window.change(multiset, Multiset.nothing())
        if not self.forever:
            self._put_late(late)

    def _put_late(self, multisets: Iterable[tuple[int, Multiset]]) -> None:
        for pane, multiset in multisets:
            self.late[pane] = self.late.get(pane, Multiset.nothing()).plus(multiset)
        many = MANY_LATE * sum(len(m.codes) for m in self.late.values()) > len(self.closed)
        if many and not self._is_large(len(self.closed)):
            late = [rows_of(pane, m) for pane, m in sorted(self.late.items())]
            whole = merged([*map(_in_order, self.closed.blocks), *late])
            self.closed.replace(whole)
            self.late = {}

    def slide_to(self, end: int) -> Multiset | LargeWindow:
        """The values of the window whose panes end before `end`; valid until the next slide."""
        nothing = Multiset.nothing()
        if self.forever and self._is_large(len(self.window.now.codes) + self.closed.search(end)):
            parts = self.closed.parts(0, self.closed.search(end))
            return LargeWindow(self._stretches(parts, START, end)).plus(self.window.now)
        if self.forever:
            self.window.change(self._between(START, end), nothing)
            self._forget(end)
            return self.window.now
        first = end - self.range_panes
        if self.budget is not None and self._is_large(self.closed.search(end) - self.closed.search(first)):
            self.window, self.inside = RunningMultiset(), (START, START)
            parts = self.closed.parts(self.closed.search(first), self.closed.search(end))
            return LargeWindow(self._stretches(parts, first, end))
        if self.range_panes == 1:  # a pane is a window, and in no other
            return self._between(first, end)
        low, high = self.inside
        if first >= high:
            self.window.change(nothing, self.window.now)
            low, high = first, first
        leaving = self._between(low, first)
        self.window.change(self._between(high, end), leaving)
        self.inside = (first, end)
        return self.window.now

    def _between(self, first: int, end: int) -> Multiset:
        """All values of the closed panes in [first, end)."""
        if first >= end:
            return Multiset.nothing()
        parts = self.closed.opened_parts(self.closed.search(first), self.closed.search(end))
        return total(map(_multiset, self._stretches(parts, first, end)))

    def _stretches(self, parts: Iterable[RowBlock], first: int, end: int) -> list[RowBlock]:
        """The runs of closed panes in [first, end), which are in these parts or late, each sorted by group and key."""
        late = [rows_of(pane, m) for pane, m in self.late.items() if first <= pane < end]
        return [stretch for part in parts for _, stretch in stretches_of(part)] + late

    def forget(self, below: int) -> None:
        """Panes that no window needs any more; they leave the window's multiset too while they are still known."""
        if self.forever:
            return
        low, high = self.inside
        leaving = self._between(low, min(below, high))
        self.window.change(Multiset.nothing(), leaving)
        self.inside = max(low, below), max(high, below)
        self._forget(below)

    def _forget(self, below: int) -> None:
        self.closed.forget_below(below)
        self.late = {pane: m for pane, m in self.late.items() if pane >= below}

    def seal(self) -> None:
        """Put what stays into coded blocks where it is time."""
        self.open.seal()
        self.closed.seal()

    def remap(self, mapping: Codes) -> None:
        for store in (self.open, self.closed):
            store.remap("code", mapping)
        self.late = {pane: m.remap(mapping) for pane, m in self.late.items()}
        self.window.remap(mapping)

    def keys_in_use(self) -> Integers:
        late = [m.keys for m in self.late.values()]
        return np.concatenate([self.open.used("key"), self.window.now.keys, self.closed.used("key"), *late])

    def renumber(self, mapping: Integers) -> None:
        for store in (self.open, self.closed):
            store.remap("key", mapping)
        self.late = {pane: m.renumber(mapping) for pane, m in self.late.items()}
        self.window.renumber(mapping)

    def codes_in_use(self) -> Codes:
        late = [m.codes for m in self.late.values()]
        kept = [self.open.used("code"), self.window.now.codes, self.closed.used("code")]
        return np.unique(np.concatenate([*kept, *late]))

    def saved(self) -> dict[str, Saved]:
        late = [rows_of(pane, m) for pane, m in sorted(self.late.items())]
        tables: dict[str, Saved] = {
            "late": RowBlock.joined([NO_RUNS, *late]).table(),
            "inside": scalars(first=self.inside[0], last=self.inside[1]),
        }
        if self.forever:  # else it is what the panes inside hold
            tables["window"] = RowBlock.joined([NO_RUNS, rows_of(0, self.window.now)]).table()
        return tables | self.open.saved_under("open") | self.closed.saved_under("panes")

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.open.restore_under("open", tables)
        self.closed.restore_under("panes", tables)
        self.late = dict(multisets_of(NO_RUNS.like(tables["late"])))
        first, last = scalars_of(tables["inside"])
        self.inside = first, last
        self.window = RunningMultiset()
        self.window.change(self._saved_window(tables), Multiset.nothing())

    def _saved_window(self, tables: dict[str, pa.Table]) -> Multiset:
        if self.forever:
            return total(m for _, m in multisets_of(NO_RUNS.like(tables["window"])))
        return self._between(*self.inside)

    @property
    def nbytes(self) -> int:
        kept = self.open.nbytes + self.closed.nbytes + self.window.nbytes
        return kept + sum(m.nbytes for m in self.late.values())


def _in_order(runs: RowBlock) -> RowBlock:
    """Runs of closed panes, which are in order."""
    return runs.sorted_by(*RUNS)


def merged(parts: Sequence[RowBlock]) -> RowBlock:
    """Rows and stretches of runs as runs, sorted by pane, group and key; there must be some."""
    sorted_parts = [part.opened() for part in parts if part.by == RUNS]
    fresh = [part for part in parts if part.by != RUNS]
    if fresh:
        sorted_parts.append(_each(RowBlock.joined(fresh)))
    if len(sorted_parts) == 1:
        return sorted_parts[0]
    found: dict[int, list[Multiset]] = {}
    for part in sorted_parts:
        for pane, multiset in multisets_of(part):
            found.setdefault(pane, []).append(multiset)
    return RowBlock.joined([rows_of(pane, total(found[pane])) for pane in sorted(found)]).sorted_by(*RUNS)


def rows_of(pane: int, multiset: Multiset) -> RowBlock:
    """The runs of one pane."""
    columns: dict[str, Column] = {"code": multiset.codes, "key": multiset.keys, "count": multiset.counts}
    return RowBlock({"place": np.full(len(multiset.codes), pane), **columns}, by=RUNS)


def stretches_of(runs: RowBlock) -> list[tuple[int, RowBlock]]:
    """The runs of each pane, which come one after the other."""
    if len(runs) == 0:
        return []
    places = runs["place"]
    if places[0] == places[-1]:
        return [(int(places[0]), runs)]
    cuts = [0, *(np.flatnonzero(np.diff(places)) + 1).tolist(), len(places)]
    return [(int(places[a]), runs.take(slice(a, b))) for a, b in pairwise(cuts)]


def multisets_of(runs: RowBlock) -> list[tuple[int, Multiset]]:
    """The multiset of each pane."""
    return [(pane, _multiset(stretch)) for pane, stretch in stretches_of(runs.opened())]


def _multiset(stretch: RowBlock) -> Multiset:
    return Multiset(stretch["code"], stretch["key"], stretch["count"])


def runs_of(panes: Integers, codes: Codes, keys: Integers) -> RowBlock:
    """Rows as runs: sorted by pane, group and key, equal ones counted."""
    if len(panes) == 0:
        return NO_RUNS
    used, segments = _segments(panes, codes)
    segment, key, count = sorted_runs(segments, keys, len(used))
    place, code = used[segment, 0], used[segment, 1].astype(np.int32)
    return RowBlock({"place": place, "code": code, "key": key, "count": count}, by=RUNS)


def _segments(panes: Integers, codes: Codes) -> tuple[Integers, Integers]:
    """The different panes and groups in order, and the place of each row's among them; there must be a row."""
    groups, first = int(codes.max()) + 1, int(panes.min())
    if (int(panes.max()) - first + 1) * groups >= 1 << 60:
        used, inverse = np.unique(np.column_stack([panes, codes]), axis=0, return_inverse=True)
        return used, inverse.reshape(-1)
    numbers, segments = compact_segments((panes - first) * groups + codes)
    return np.column_stack([numbers // groups + first, numbers % groups]), segments


def _each(rows: RowBlock) -> RowBlock:
    """Rows as runs, whatever they were counted before."""
    places, codes, keys = rows["place"], rows["code"], rows["key"]
    counts = rows.columns["count"]
    if not (isinstance(counts, Packed) and len(counts.offsets) == 0 and counts.base == 1):
        places, codes, keys = (np.repeat(column, rows["count"]) for column in (places, codes, keys))
    return runs_of(places, codes, keys)
