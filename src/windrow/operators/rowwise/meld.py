"""Meld: union of several inputs. Rows pass at once; progress is the minimum over the inputs. Nothing is sorted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled
from windrow.operators.base import Batch, Counters, EarlyRows, Element, GroupPunctuations, Operator
from windrow.operators.expressions.values import in_types_of
from windrow.operators.state.groups import Codes
from windrow.operators.state.promises import Promises, restored, saved
from windrow.semantics.progress.policies import END, START, Punctuation, check_advance


class MeldOperator(Operator):
    """Progress of port i is its own bound, or that of the furthest other input less `idle[i]` when it lags.

    With a wall-clock idle time, a silent input is left out of the minimum until something comes again.
    """

    def __init__(
        self,
        ports: int,
        schema: pa.Schema,
        *,
        idle: Sequence[int | None] | None = None,
        silence: Sequence[float | None] | None = None,
    ) -> None:
        self.schema = schema
        self.bounds = [START] * ports
        self.idle = list(idle or [None] * ports)
        self.silence = list(silence or [None] * ports)
        self.bound = START
        self.singles: dict[tuple[str, ...], Promises] = {}
        """Promises for single groups by the columns that name them: those of each input, and what was passed on."""
        self.counters = Counters()
        self.go_by(time.monotonic)

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        self.counters.rows_in += len(batch)
        self.last_seen[port] = self.clock()
        yield replace(batch, data=in_types_of(self.schema, batch.data), bounds=None)

    def set_aside(self, early: EarlyRows, port: int = 0) -> Iterable[Element]:
        """They pass; an input that sends no others is as good as silent."""
        yield EarlyRows(replace(early.batch, data=in_types_of(self.schema, early.batch.data)))

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        self.last_seen[port] = self.clock()
        self.bounds[port] = check_advance(self.bounds[port], punctuation.value)
        yield from self._advance()

    def pass_time(self) -> Iterable[Element]:
        """Time has passed and nothing came: inputs that are silent for too long no longer hold back the others."""
        if any(silence is not None for silence in self.silence):
            yield from self._advance()

    def hear(self, port: int) -> None:
        """Something came from an input now, although it may not have passed here: an input that sends is not silent."""
        self.last_seen[port] = self.clock()

    def go_by(self, clock: Callable[[], float]) -> None:
        """Measure silence by this clock, from now on."""
        self.clock = clock
        self.last_seen = [clock()] * len(self.bounds)

    def _advance(self) -> Iterator[Element]:
        progress = self._progress()
        if min(progress) > self.bound:
            self.bound = min(progress)
            yield Punctuation(self.bound)
            for promises in self.singles.values():
                promises.forget_below(self.bound)
        for promises in self.singles.values():
            yield from self._reached(promises, np.arange(len(promises), dtype=np.int32), progress)

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        """A group has come as far as the slowest input has for it: its own promise, or that for all rows."""
        self.last_seen[port] = self.clock()
        columns = tuple(punctuations.groups.schema.names)
        if columns not in self.singles:
            known = pa.schema([self.schema.field(name) for name in columns])
            self.singles[columns] = Promises(known, len(self.bounds) + 1)
        promises = self.singles[columns]
        yield from self._reached(promises, promises.note(punctuations, port), self._progress())

    def _reached(self, promises: Promises, codes: Codes, progress: list[int]) -> Iterator[GroupPunctuations]:
        """What now holds of these groups and did not before; the last column of bounds keeps what did."""
        reached = np.maximum(promises.bounds[codes, :-1], np.array(progress)).min(axis=1)
        news = reached > np.maximum(promises.bounds[codes, -1], self.bound)
        if news.any():
            codes, reached = codes[news], reached[news]
            promises.bounds[codes, -1] = reached
            yield GroupPunctuations(promises.named(codes), reached)

    def _progress(self) -> list[int]:
        """The bound each input counts with; the slowest one holds back the rest."""
        silent = self._silent()
        awake = [b for b, is_silent in zip(self.bounds, silent, strict=True) if not is_silent and b not in (START, END)]
        counted = []
        for port, bound in enumerate(self.bounds):
            others = [b for i, b in enumerate(self.bounds) if i != port and b not in (START, END)]
            allowed = self.idle[port]
            if allowed is not None and others:
                bound = max(bound, max(others) - allowed)
            if silent[port] and others:
                bound = max(bound, min(awake) if awake else max(others))
            counted.append(bound)
        return counted

    def _silent(self) -> list[bool]:
        """Which inputs are left out because nothing came from them for too long."""
        now = self.clock()
        timed = zip(self.silence, self.last_seen, strict=True)
        return [silence is not None and now - seen >= silence for silence, seen in timed]

    def state(self) -> dict[str, pa.Table]:
        now = self.clock()
        return {
            "bounds": tabled(bound=np.array([*self.bounds, self.bound])),
            "silent": tabled(seconds=np.array([now - seen for seen in self.last_seen], np.float64)),
            **saved(self.singles.values()),
        }

    def restore(self, tables: dict[str, pa.Table]) -> None:
        *self.bounds, self.bound = tables["bounds"]["bound"].to_numpy().tolist()
        self.last_seen = (self.clock() - tables["silent"]["seconds"].to_numpy()).tolist()
        self.singles = {tuple(promises.schema.names): promises for promises in restored(tables)}
