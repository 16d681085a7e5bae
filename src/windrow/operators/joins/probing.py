"""Partners of new rows among what is kept of the other side, found run by run, on several threads where there are."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import islice, pairwise

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.operators.joins.encoding import Flags, Probes
from windrow.operators.joins.results import JoinColumns, Picked
from windrow.operators.joins.runs import Laid, SortedRun, matches
from windrow.operators.joins.store import JoinStore
from windrow.operators.store.row_block import value_order
from windrow.semantics.joins import LEFT

_IN_CACHE = 1 << 18
"""Stored rows up to which the order of probes does not matter."""
_MANY = 16
"""Runs from which on probes are sorted by time, so that each run is looked into by those that can meet it."""
AHEAD = 16
"""Matches that a thread finds before it hands them over."""
_WORTHWHILE = 1 << 12
"""Probes below which threads cost more than they give."""


@dataclass(frozen=True)
class Match:
    """Pairs for which the predicate holds: numbers of new rows, rows of a run, and the columns of both sides.

    Without columns (of a join that gives only one side) both are None.
    """

    run: SortedRun
    mine: Integers
    theirs: Integers
    left: Picked | None
    right: Picked | None


@dataclass(frozen=True)
class New:
    """New rows of one side that look for partners; `numbers` are those of the rows that `probes` are for."""

    side: int
    picked: Picked
    probes: Probes
    numbers: Integers | None


class Prober:
    """Finds partners. With `pairs`, the columns of both sides are wanted."""

    def __init__(self, columns: JoinColumns, threads: int, *, pairs: bool) -> None:
        self.columns = columns
        self.pairs = pairs
        self.threads = threads
        self.pool = ThreadPoolExecutor(threads, "windrow-join") if threads > 1 else None

    def matches(self, store: JoinStore, new: New) -> Iterator[Match]:
        runs = list(store.runs(int(new.probes.first.min()), int(new.probes.last.max())))
        laid, spans = self._laid(new.probes, store, runs)
        if self.pool is None or len(laid) < _WORTHWHILE:
            for span in spans:
                yield from self._of_run(laid, store, new, *span)
            return
        parts = -(-2 * self.threads // max(1, len(runs)))
        pieces = [(run, *piece) for run, start, end in spans for piece in _cut(start, end, parts)]
        yield from self._together([self._of_run(laid, store, new, *piece) for piece in pieces])

    def close(self) -> None:
        """Let the threads go: no more rows come."""
        if self.pool is not None:
            self.pool.shutdown(wait=False)
            self.pool = None

    def _laid(
        self, probes: Probes, store: JoinStore, runs: list[SortedRun]
    ) -> tuple[Laid, list[tuple[SortedRun, int, int]]]:
        """Probes, and for each run which of them look into it.

        In order of time where each of many runs meets few of them; else as rows lie in runs, if that is far apart.
        """
        if len(runs) > _MANY:
            order = value_order(probes.first)
            laid = Laid.out(probes.take(order), store.layout, sort=False)
            spans = [(run, *laid.meeting(run)) for run in runs]
            if 4 * sum(end - start for _, start, end in spans) < len(runs) * len(laid):
                return replace(laid, owners=order[laid.owners]), spans
        laid = Laid.out(probes, store.layout, sort=len(store) > _IN_CACHE)
        return laid, [(run, 0, len(laid)) for run in runs]

    def _together(self, waiting: list[Iterator[Match]]) -> Iterator[Match]:
        """What several iterators give, as many at work at once as there are threads, each some matches ahead."""
        assert self.pool is not None
        running: dict[Future[list[Match]], Iterator[Match]] = {}
        while waiting or running:
            while waiting and len(running) <= self.threads:
                work = waiting.pop()
                running[self.pool.submit(_ahead, work)] = work
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                work = running.pop(future)
                if len(found := future.result()) == AHEAD:
                    running[self.pool.submit(_ahead, work)] = work
                yield from found

    def _of_run(self, laid: Laid, store: JoinStore, new: New, run: SortedRun, start: int, end: int) -> Iterator[Match]:
        for probing, theirs in matches(run, laid, store.layout, start, end):
            found = self._tried(run, probing, theirs, new)
            if len(found.mine):
                yield found

    def _tried(self, run: SortedRun, probing: Integers, theirs: Integers, new: New) -> Match:
        """Candidates for which the rest of the predicate holds too."""
        keep = _within(new.probes, probing, run, theirs)
        if keep is not None:
            probing, theirs = probing[keep], theirs[keep]
        mine = probing if new.numbers is None else new.numbers[probing]
        if not self.pairs and self.columns.predicate is None:
            return Match(run, mine, theirs, None, None)
        timed = self.columns.timed
        one = new.picked.take(mine, timed=timed[new.side])
        other = self.columns.stored(run, theirs, 1 - new.side, timed=timed[1 - new.side])
        left, right = (one, other) if new.side == LEFT else (other, one)
        holds = self.columns.holds(left, right)
        if holds is None or holds.all():
            return Match(run, mine, theirs, left, right)
        chosen = np.flatnonzero(holds)
        return Match(run, mine[chosen], theirs[chosen], left.take(chosen), right.take(chosen))


def _ahead(work: Iterator[Match]) -> list[Match]:
    return list(islice(work, AHEAD))


def _cut(start: int, end: int, parts: int) -> Iterator[tuple[int, int]]:
    return pairwise(np.linspace(start, end, parts + 1).astype(int).tolist())


def _within(probes: Probes, found: Integers, run: SortedRun, others: Integers) -> Flags | None:
    """Which candidates the bands admit that no index looks at; None: all."""
    keep: Flags | None = None
    for low, high, band in zip(probes.lows[1:-1], probes.highs[1:-1], run.middle, strict=True):
        values = band[others]
        inside: Flags = (values >= low[found]) & (values <= high[found])
        keep = inside if keep is None else keep & inside
    return keep
