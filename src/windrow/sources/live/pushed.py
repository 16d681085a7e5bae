"""Rows that a program pushes into a run: it waits while the run has enough, and learns at once what is wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Condition
from time import monotonic
from typing import Any

import pyarrow as pa

from windrow.errors import ConfigurationError, SourceError
from windrow.semantics.progress.policies import Punctuation
from windrow.sources.base import (
    BATCH_ROWS,
    Element,
    Position,
    Reader,
    Sign,
    Source,
    counts_of,
    cut,
    position_of,
)
from windrow.sources.conform import conform, plain_schema
from windrow.sources.iterables.dict_rows import refuse_unknown, rows_table
from windrow.sources.iterables.elements import as_table
from windrow.sources.live.endless import EndlessSource

ROOM = 1 << 20
"""Rows that wait for the run at most."""


class PushChannel:
    """What was pushed and not read yet. Any number of threads push, one reads."""

    def __init__(self, name: str, schema: pa.Schema) -> None:
        self.name = name
        self.schema = schema
        self._changed = Condition()
        self._waiting: deque[Element] = deque()
        self._rows = self._pushed = 0
        self._is_over = False

    def push(self, rows: Any, timeout: float | None = None) -> None:
        """Rows: a dict, a list of dicts, or anything that holds Arrow data. Waits while the run has enough."""
        table = self._table(rows)
        batches = [conform(batch, self.schema, "what was pushed", self.name) for batch in table.to_batches()]
        self._pushed += table.num_rows
        for batch in batches:
            for piece in cut(batch, ROOM):
                self._put(piece, timeout)

    def punctuate(self, value: Any, group: tuple[Any, ...] | None, timeout: float | None = None) -> None:
        """No later row has a lower time."""
        self._put(Punctuation(value, group), timeout)

    def _table(self, rows: Any) -> pa.Table:
        if isinstance(rows, Mapping):
            rows = [rows]
        if isinstance(rows, Sequence) and all(isinstance(row, Mapping) for row in rows):
            refuse_unknown(rows, frozenset(self.schema.names), self._pushed, self.name)
            return rows_table(rows, self.schema)
        return as_table(rows, self.name)

    def _put(self, element: Element, timeout: float | None) -> None:
        size = element.num_rows if isinstance(element, pa.RecordBatch) else 1
        with self._changed:
            has_room = self._changed.wait_for(lambda: self._is_over or self._rows < ROOM, timeout)
            if self._is_over:
                raise ConfigurationError(
                    "takes no more rows, because its run has ended", parameter=self.name, hint="start another run"
                )
            if not has_room:
                raise TimeoutError(f"the run took no rows of {self.name} for {timeout} s")
            self._waiting.append(element)
            self._rows += size
            self._changed.notify_all()

    def take(self, timeout: float | None) -> Element | Sign:
        """The next element, in order."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_over, timeout)
            if not self._waiting:
                return Sign.END if self._is_over else Sign.TICK
            element = self._waiting.popleft()
            self._rows -= element.num_rows if isinstance(element, pa.RecordBatch) else 1
            self._changed.notify_all()
            return element

    def end(self) -> None:
        """Nothing more is pushed, or taken."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()


@dataclass(frozen=True)
class PushedSource(EndlessSource):
    """Rows that are yet to be pushed."""

    channel: PushChannel | None = field(default=None, compare=False)

    @property
    def is_read_up(self) -> bool:
        return True

    def describe(self) -> str:
        return "what is pushed"

    def for_one_run(self) -> PushedSource:
        """The same with a channel of its own."""
        return replace(self, channel=PushChannel(self.name, self.schema))

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        if self.channel is None:
            raise SourceError(
                "has no rows of its own",
                parameter=self.name,
                hint="say run = query.start(), then run.push(rows)",
            )
        return _PushedReader(self.channel, self.schema, position, batch_rows)


class _PushedReader:
    """What comes, with the columns that are read, in batches of at most so many rows."""

    def __init__(self, channel: PushChannel, schema: pa.Schema, position: Position | None, batch_rows: int) -> None:
        self.channel, self.schema, self.batch_rows = channel, schema, batch_rows
        self.rows, _ = counts_of(position)
        self.pieces: deque[pa.RecordBatch] = deque()

    @property
    def position(self) -> Position:
        return position_of(self.rows)

    def poll(self, timeout: float | None = None) -> Element | Sign:
        until = None if timeout is None else monotonic() + timeout
        while not self.pieces:
            element = self.channel.take(None if until is None else max(0.0, until - monotonic()))
            if not isinstance(element, pa.RecordBatch):
                return element
            self.pieces.extend(cut(element.select(self.schema.names), self.batch_rows))
        piece = self.pieces.popleft()
        self.rows += piece.num_rows
        return piece

    def close(self) -> None:
        self.channel.end()


def open_pushed(*, name: str, schema: pa.Schema | None) -> Source:
    """The source of a stream that has no data but what is pushed."""
    if schema is None:
        raise ConfigurationError(
            "must have declared columns, because its rows are yet to be pushed",
            parameter=name,
            hint="give schema=pa.schema([('time', pa.timestamp('us')), ...])",
        )
    return PushedSource(name, plain_schema(schema))
