"""Meld: union of several inputs. Rows pass at once; progress is the minimum over the inputs. Nothing is sorted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from windrow.operators.base import Batch, Counters, Element
from windrow.operators.expressions.values import settled
from windrow.semantics.progress import END, START, Punctuation, check_advance


class Meld:
    """Progress of port i is its own bound, or that of the furthest other input less `idle[i]` when it lags.

    With a wall-clock idle time, a silent input is left out of the minimum until it speaks again.
    """

    def __init__(
        self,
        ports: int,
        schema: pa.Schema,
        *,
        idle: Sequence[int | None] | None = None,
        silence: Sequence[float | None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.schema = schema
        self.bounds = [START] * ports
        self.idle = list(idle or [None] * ports)
        self.silence = list(silence or [None] * ports)
        self.clock = clock
        self.heard = [clock()] * ports
        self.bound = START
        self.counters = Counters()

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        self.counters.rows_in += len(batch)
        self.heard[port] = self.clock()
        data = batch.data
        if data.schema != self.schema:
            arrays = [settled(column, field.type) for column, field in zip(data.columns, self.schema, strict=True)]
            data = pa.record_batch(arrays, schema=self.schema)
        yield Batch(data, batch.times, batch.selected, batch.source)

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        self.heard[port] = self.clock()
        self.bounds[port] = check_advance(self.bounds[port], punctuation.value)
        bound = min(self._progress())
        if bound > self.bound:
            self.bound = bound
            yield Punctuation(bound)

    def _progress(self) -> list[int]:
        """The bound each input counts with; the slowest one holds back the rest."""
        now = self.clock()
        counted = []
        for port, bound in enumerate(self.bounds):
            others = [b for i, b in enumerate(self.bounds) if i != port and b not in (START, END)]
            allowed, silence = self.idle[port], self.silence[port]
            if allowed is not None and others:
                bound = max(bound, max(others) - allowed)
            if silence is not None and others and now - self.heard[port] >= silence:
                bound = max(bound, min(others))
            counted.append(bound)
        return counted

    def state(self) -> dict[str, pa.Table]:
        now = self.clock()
        return {
            "bounds": pa.table({"bound": pa.array([*self.bounds, self.bound], pa.int64())}),
            "silent": pa.table({"seconds": pa.array([now - heard for heard in self.heard], pa.float64())}),
        }

    def restore(self, tables: dict[str, pa.Table]) -> None:
        bounds: list[Any] = tables["bounds"]["bound"].to_pylist()
        *self.bounds, self.bound = bounds
        now = self.clock()
        silent: list[Any] = tables["silent"]["seconds"].to_pylist()
        self.heard = [now - seconds for seconds in silent]
