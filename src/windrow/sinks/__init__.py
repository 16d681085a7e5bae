"""Where answers go: files and the terminal, behind one contract."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

import pyarrow as pa

from windrow.errors import ConfigurationError
from windrow.sinks.addresses import open_address
from windrow.sinks.base import Sink, only_appends
from windrow.sinks.lines import CallbackSink
from windrow.sinks.terminal import LIMIT, LiveTerminalSink, TerminalSink
from windrow.sinks.text import DelimitedSink, JsonLinesSink
from windrow.sources.addresses import refuse_address

__all__ = ["LiveTerminalSink", "Sink", "TerminalSink", "open_sink"]

ENDINGS = (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", "-")


def open_sink(
    target: str | Path | Callable[[pa.RecordBatch], object],
    schema: pa.Schema,
    *,
    limit: int | None = LIMIT,
    stream: IO[str] | None = None,
    early: bool = False,
    live: bool = False,
) -> Sink:
    """The sink for a file by its ending, an address, a function that takes batches, or the terminal (`-`).

    `limit` and `stream` are for the terminal: how many rows it shows (None: all), and where instead of stdout. A `live`
    answer is shown row by row as it comes. With `early`, results come that are taken back later: files do not take
    them.
    """
    if str(target) == "-":
        return (LiveTerminalSink if live else TerminalSink)(schema, limit=limit, stream=stream)
    if callable(target):
        return CallbackSink(target)
    if isinstance(target, str) and (sink := open_address(target, schema)) is not None:
        if early and sink.only_appends:
            sink.abort()
            raise only_appends(target)
        return sink
    if early:
        raise only_appends(str(target))
    hint = "Spark writes to addresses: windrow run --engine spark --output, or to_spark().writeStream"
    refuse_address(target, "output", hint)
    return _file_sink(Path(target), schema)


def _file_sink(path: Path, schema: pa.Schema) -> Sink:
    ending = path.suffix.lower()
    if ending == ".parquet":
        from windrow.sinks.files import ParquetSink

        return ParquetSink(path, schema)
    if ending in (".csv", ".tsv"):
        return DelimitedSink(path, schema, "\t" if ending == ".tsv" else ",")
    if ending in (".jsonl", ".ndjson", ".json"):
        return JsonLinesSink(path, schema)
    raise ConfigurationError(
        "must end in a known way",
        parameter="output",
        value=str(path),
        allowed=ENDINGS,
        hint="name a file such as answer.parquet, or - for the terminal",
    )
