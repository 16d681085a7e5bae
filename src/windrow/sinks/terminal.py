"""An answer as a table for people: in colour on a terminal, plain aligned text elsewhere; or one that grows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EBADF
from typing import IO, Any

import pyarrow as pa

from windrow.errors import ConfigurationError, reason_of
from windrow.sinks.base import Sink, fitted
from windrow.sinks.text import encode, iso, plain

LIMIT = 50
"""Rows shown unless the caller asks for more."""


@contextmanager
def writable() -> Iterator[None]:
    """An error for a standard output that is closed or full; a reader who has seen enough is none."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ConfigurationError(
            f"must be a place that can be written ({reason_of(error)})",
            parameter="output",
            value="standard output",
            hint="give the command an output that is open and has room, or name a file with --output",
        ) from error


def _standard_output() -> IO[str]:
    if sys.stdout is None:
        raise OSError(EBADF, "it is closed")
    return sys.stdout


class TerminalSink(Sink):
    """Keeps the first `limit` rows (None: all) and prints them on close, with how many more there were."""

    def __init__(self, schema: pa.Schema, *, limit: int | None = LIMIT, stream: IO[str] | None = None) -> None:
        self.schema = schema
        self.numeric = [is_number(field.type) for field in schema]
        self.limit = limit
        with writable():
            self.stream = stream or _standard_output()
        self.kept: list[pa.RecordBatch] = []
        self.rows = self.shown = 0
        self.is_open = True

    def write(self, batch: pa.RecordBatch) -> None:
        room = batch.num_rows if self.limit is None else max(0, self.limit - self.rows)
        self.rows += batch.num_rows
        if room and batch.num_rows:
            with writable():
                self.take(fitted(batch.slice(0, room), self.schema))
            self.shown += min(room, batch.num_rows)

    def take(self, batch: pa.RecordBatch) -> None:
        """Rows that are to be shown."""
        self.kept.append(batch)

    def finish(self) -> None:
        """All rows came."""
        table = pa.Table.from_batches(self.kept, schema=self.schema)
        columns = [cells(column.combine_chunks()) for column in table.columns]
        if self.stream.isatty():
            _show_rich(self.schema.names, columns, self.numeric, self.stream)
        else:
            self.stream.write(aligned(self.schema.names, columns, self.numeric))

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            with writable():
                self.finish()
                self.stream.write(more_rows(self.rows, self.shown))
                self.stream.flush()

    def abort(self) -> None:
        """What was printed stays."""
        self.is_open = False


class LiveTerminalSink(TerminalSink):
    """Prints rows as they come, for streams that may never end, up to `limit` of them (None: all).

    Columns are as wide as the first rows need, and grow when later ones need more: what was printed stays as it is.
    """

    def __init__(self, schema: pa.Schema, *, limit: int | None = None, stream: IO[str] | None = None) -> None:
        super().__init__(schema, limit=limit, stream=stream)
        self.widths = [len(name) for name in schema.names]

    def take(self, batch: pa.RecordBatch) -> None:
        columns = [cells(column) for column in batch.columns]
        self.widths = [max(width, *map(len, column)) for width, column in zip(self.widths, columns, strict=True)]
        self._print(list(zip(*columns, strict=True)))
        self.stream.flush()

    def finish(self) -> None:
        self._print([])

    def _print(self, rows: list[tuple[str, ...]]) -> None:
        """Below the header, which comes before the first rows."""
        head = [] if self.shown else [tuple(self.schema.names), tuple("-" * width for width in self.widths)]
        self.stream.write(lines([*head, *rows], self.widths, self.numeric))


def more_rows(rows: int, shown: int) -> str:
    """The last line of a table that does not show all rows, or has none."""
    more = rows - shown
    if rows and not more:
        return ""
    return f"... {more} more row{'s' if more > 1 else ''}\n" if rows else "(no rows)\n"


def is_number(kind: pa.DataType) -> bool:
    """Numbers stand at the right, everything else at the left."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def cells(array: pa.Array[Any]) -> list[str]:
    """What a person reads for each value; null is NULL."""
    if isinstance(array.type, pa.TimestampType):
        return _times(array)
    if pa.types.is_floating(array.type):
        return ["NULL" if value is None else f"{value:.10g}" for value in array.to_pylist()]
    return ["NULL" if value is None else _printable(value) for value in plain(array).to_pylist()]


def _printable(value: Any) -> str:
    text = value if isinstance(value, str) else encode(value) if isinstance(value, (list, dict)) else str(value)
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def _times(array: pa.Array[Any]) -> list[str]:
    """Times with as many decimals as the column needs, so that they stand in line."""
    texts = [text and text.rstrip("Z").replace("T", " ") for text in iso(array).to_pylist()]
    decimals = max((len(text.partition(".")[2]) for text in texts if text), default=0)
    return ["NULL" if text is None else _with_decimals(text, decimals) for text in texts]


def _with_decimals(text: str, decimals: int) -> str:
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.ljust(decimals, '0')}" if decimals else whole


def aligned(names: list[str], columns: list[list[str]], numeric: list[bool]) -> str:
    """Plain text: a header, a rule, and rows with two spaces between columns.

    >>> print(aligned(["symbol", "n"], [["UBSN", "NESN"], ["9", "10"]], [False, True]), end="")
    symbol   n
    ------  --
    UBSN     9
    NESN    10
    """
    widths = [max(map(len, (name, *column))) for name, column in zip(names, columns, strict=True)]
    rows = [tuple(names), tuple("-" * width for width in widths), *zip(*columns, strict=True)]
    return lines(rows, widths, numeric)


def lines(rows: list[tuple[str, ...]], widths: list[int], numeric: list[bool]) -> str:
    """A line for each row: numbers at the right of their column, everything else at the left."""
    columns = [(width, str.rjust if right else str.ljust) for width, right in zip(widths, numeric, strict=True)]
    padded = ([pad(text, width) for text, (width, pad) in zip(row, columns, strict=True)] for row in rows)
    return "".join("  ".join(row).rstrip() + "\n" for row in padded)


def _show_rich(names: list[str], columns: list[list[str]], numeric: list[bool], stream: IO[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name, right in zip(names, numeric, strict=True):
        table.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for row in zip(*columns, strict=True):
        table.add_row(*(Text(cell, style="dim" if cell == "NULL" else "") for cell in row))
    Console(file=stream, highlight=False).print(table)
