"""Where rows come from: files, Arrow data, data frames and Python iterables, behind one contract.

`open_source` finds the source for what a user calls data, by its type or by the scheme of its address (`addresses`).
A source opens readers (`base`), which poll elements and know the position from where to go on: of `files`, of data in
`memory`, of `iterables`. `replayed` reads spans in several processes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.errors import ConfigurationError
from windrow.sources.addresses import is_pipe, open_address, scheme_of
from windrow.sources.base import BATCH_ROWS, Element, Position, Reader, Sign, Source, elements_of

__all__ = ["BATCH_ROWS", "Element", "Position", "Reader", "Sign", "Source", "elements_of", "open_source"]


def open_source(data: Any, *, name: str = "stream", schema: pa.Schema | None = None, dictionary: bool = True) -> Source:
    """The source for whatever a user calls data; `name` is the stream's name, for messages.

    A declared `schema` says which columns there are, in which order and of which types. With `dictionary`, text
    columns of files come as dictionaries; data in memory keeps the types it has.

    >>> source = open_source([{"time": 3, "symbol": "UBSN"}, {"time": 1, "symbol": "NESN"}])
    >>> reader = source.select(["time"]).open(batch_rows=1)
    >>> reader.poll()["time"].to_pylist(), reader.poll()["time"].to_pylist(), reader.poll()
    ([3], [1], <Sign.END: 'nothing more comes'>)
    """
    if data is None:
        from windrow.sources.live.pushed import open_pushed

        return open_pushed(name=name, schema=schema)
    if is_pipe(data):
        from windrow.sources.live.standard_input import open_pipe

        return open_pipe(str(data), name=name, schema=schema)
    if isinstance(data, str) and scheme_of(data):
        return open_address(data, name=name, schema=schema)
    if isinstance(data, (str, Path)):
        from windrow.sources.files.file_source import open_files

        return open_files(data, name=name, schema=schema, dictionary=dictionary)
    return _open_object(data, name, schema)


def _open_object(data: Any, name: str, schema: pa.Schema | None) -> Source:
    """The source for data that is an object of Python's."""
    from windrow.sources import memory
    from windrow.sources.iterables import elements as iterables

    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return memory.open_table(data, name=name, schema=schema)
    if isinstance(data, pa.RecordBatchReader):
        return memory.open_reader(data, name=name, schema=schema)
    if type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns"):
        return memory.open_pandas(data, name=name, schema=schema)
    if hasattr(data, "__arrow_c_stream__"):
        return memory.open_exporter(data, name=name, schema=schema)
    if hasattr(data, "__aiter__"):
        from windrow.sources.iterables.asynchronous import waited_for

        data = waited_for(data)
    if isinstance(data, Iterable) and not isinstance(data, (bytes, dict)):
        return iterables.open_iterable(data, name=name, schema=schema)
    raise ConfigurationError(
        "must be a path, an Arrow table or reader, a pandas or polars frame, or an iterable of elements",
        parameter=name,
        value=f"an object of type {type(data).__name__}",
        hint="collect lazy frames first; wrap columns in pa.table(...)",
    )
