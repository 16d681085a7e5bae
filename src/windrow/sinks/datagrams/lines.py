"""Rows as lines of text, and lines as datagrams: as many in each as fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute

from windrow.errors import DataError
from windrow.frames.header import MOST_BYTES
from windrow.sinks.text import cells, encode, plain

pc: Any = pyarrow.compute
_LARGEST = 65507


def lines_of(batch: pa.RecordBatch, format: str) -> list[bytes]:
    """A line for each row, without its end: an object of JSON, or cells with commas between them."""
    if format == "json":
        names = batch.schema.names
        columns = [plain(column).to_pylist() for column in batch.columns]
        return [encode(dict(zip(names, row, strict=True))).encode() for row in zip(*columns, strict=True)]
    texts = [cells(column, ",") for column in batch.columns]
    return [line.encode() for line in pc.binary_join_element_wise(*texts, ",").to_pylist()]


def packed_lines(lines: Sequence[bytes], most_bytes: int = MOST_BYTES) -> Iterator[bytes]:
    """Datagrams of whole lines; one that is longer is a datagram of its own.

    >>> list(packed_lines([b"a" * 700, b"b" * 700, b"c"])) == [b"a" * 700 + b"\\n" + b"b" * 700 + b"\\nc"]
    True
    """
    held, size = list[bytes](), 0
    for line in lines:
        if len(line) > _LARGEST:
            raise DataError(
                f"must fit into a datagram of {_LARGEST:,} bytes",
                parameter="a row",
                value=f"{len(line):,} bytes",
                hint="select fewer columns, or send it to tcp://",
            )
        if held and size + len(line) > most_bytes:
            yield b"\n".join(held)
            held, size = [], 0
        held.append(line)
        size += len(line) + 1
    if held:
        yield b"\n".join(held)
