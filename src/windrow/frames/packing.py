"""Batches as frames: records beside one another in one array, of which each stretch is a datagram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from windrow.errors import DataError
from windrow.frames.header import (
    BIG,
    ENDS,
    HEADER,
    MAGIC,
    MOST_BYTES,
    MOST_RECORDS,
    NULLS,
    PUNCTUATES,
    UNNUMBERED,
    VERSION,
)
from windrow.frames.tuples import TupleLayout, WireColumn

Bytes = npt.NDArray[np.uint8]
pc: Any = pyarrow.compute
_HEADER = np.dtype(
    [("magic", "S4"), ("version", "u1"), ("flags", "u1"), ("count", "<u2"), ("schema", "<u4"), ("number", "<u8")]
)


@dataclass(frozen=True)
class Datagrams:
    """Datagrams one behind the other: all are of `size` bytes but the last, which may have fewer.

    Of size 0 there is one, which is empty.
    """

    data: Bytes
    size: int
    rows: int = 0
    """How many rows they hold."""

    @staticmethod
    def of(datagram: bytes) -> Datagrams:
        """A single one."""
        return Datagrams(np.frombuffer(datagram, np.uint8), len(datagram))

    def __len__(self) -> int:
        return -(-len(self.data) // self.size) if self.size else 1

    def each(self) -> list[bytes]:
        """One by one."""
        if not self.size:
            return [b""]
        return [self.data[at : at + self.size].tobytes() for at in range(0, len(self.data), self.size)]


class Packer:
    """Rows of one stream as datagrams; it counts the frames it makes."""

    def __init__(
        self,
        layout: TupleLayout,
        *,
        header: bool = True,
        big: bool = False,
        numbered: bool = True,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.layout, self.header, self.big, self.most_bytes = layout, header, big, most_bytes
        self.flags = (BIG if big else 0) | (0 if numbered else UNNUMBERED)
        self.number = 0
        """Of the next frame."""

    @property
    def rows_each(self) -> int:
        """How many rows of no NULL are in a whole datagram."""
        head = HEADER.size if self.header else 0
        return max(1, min((self.most_bytes - head) // self.layout.size, MOST_RECORDS))

    def rows(self, batch: pa.RecordBatch) -> Datagrams:
        """The rows of a batch, as many in a datagram as fit."""
        nulls = any(batch.column(column.name).null_count for column in self.layout.columns)
        if nulls and not self.header:
            raise DataError(
                "must have no NULL in bare rows, which have no place for it",
                parameter=next(c.name for c in self.layout.columns if batch.column(c.name).null_count),
                hint="send frames=packed or json",
            )
        return self._framed(self._records(batch, nulls), self.flags | (NULLS if nulls else 0), batch.num_rows)

    def punctuation(self, *values: int) -> Datagrams:
        """Promises: no row below comes any more."""
        records = np.array(values, ">i8" if self.big else "<i8").view(np.uint8).reshape(-1, 8)
        return self._framed(records, self.flags | PUNCTUATES, 0)

    def probe(self) -> bytes:
        """A frame that says nothing, to find out whether somebody listens."""
        return HEADER.pack(MAGIC, VERSION, UNNUMBERED, 0, self.layout.schema_id, 0)

    def end(self) -> Datagrams:
        """A frame without rows that says that nothing more comes; bare, an empty datagram."""
        if not self.header:
            return Datagrams.of(b"")
        head = HEADER.pack(MAGIC, VERSION, self.flags | ENDS, 0, self.layout.schema_id, self.number)
        self.number += 1
        return Datagrams.of(head)

    def _records(self, batch: pa.RecordBatch, nulls: bool) -> Bytes:
        layout, rows = self.layout, batch.num_rows
        before = layout.null_bytes if nulls else 0
        records = np.zeros((rows, before + layout.size), np.uint8)
        for number, column in enumerate(layout.columns):
            values = batch.column(column.name)
            if values.null_count:
                missing = np.asarray(values.is_null()).astype(np.uint8)
                records[:, number // 8] |= missing << np.uint8(number % 8)
            start = before + column.place
            records[:, start : start + column.wire.width] = self._field(values, column)
        return records

    def _field(self, values: pa.Array[Any], column: WireColumn) -> Bytes:
        kind, width = column.wire.kind, column.wire.width
        if kind == "s":
            return _texts(values, column)
        if kind in "xn":
            return _fixed(values, column, reverse=self.big and kind == "n")
        if kind == "t" and isinstance(values.type, pa.TimestampType):
            values = values.cast(pa.timestamp(column.wire.unit, values.type.tz))
        if kind in "tp":
            values = values.cast(pa.int64())
        elif kind == "d":
            values = values.cast(pa.int32())
        numbers = np.asarray(values.fill_null(0 if kind != "b" else False))
        letter = {"f": "f", "u": "u", "b": "u"}.get(kind, "i")
        target = np.dtype(f"{'>' if self.big else '<'}{letter}{width}")
        if letter != "f":
            _refuse_large(numbers, target, column)
        return np.ascontiguousarray(numbers.astype(target)).view(np.uint8).reshape(-1, width)

    def _framed(self, records: Bytes, flags: int, rows: int) -> Datagrams:
        head = HEADER.size if self.header else 0
        count, each = records.shape
        most = max(1, min((self.most_bytes - head) // each, MOST_RECORDS))
        if not self.header:
            return Datagrams(records.reshape(-1), most * each, rows)
        frames = -(-count // most)
        size = head + most * each
        out = np.zeros(frames * size, np.uint8)
        whole = count // most
        if whole:
            out[: whole * size].reshape(whole, size)[:, head:] = records[: whole * most].reshape(whole, most * each)
        if whole < frames:
            rest = records[whole * most :].reshape(-1)
            out[whole * size + head : whole * size + head + len(rest)] = rest
            out = out[: whole * size + head + len(rest)]
        self._put_headers(out, size, flags, [most] * whole + [count - whole * most] * (frames - whole))
        return Datagrams(out, size, rows)

    def _put_headers(self, out: Bytes, size: int, flags: int, counts: Sequence[int]) -> None:
        heads = np.zeros(len(counts), _HEADER)
        heads["magic"], heads["version"], heads["flags"] = MAGIC, VERSION, flags
        heads["count"], heads["schema"] = counts, self.layout.schema_id
        heads["number"] = self.number + np.arange(len(counts))
        self.number += len(counts)
        raw = heads.view(np.uint8).reshape(-1, HEADER.size)
        whole = len(out) // size
        out[: whole * size].reshape(whole, size)[:, : HEADER.size] = raw[:whole]
        if whole < len(counts):
            out[whole * size : whole * size + HEADER.size] = raw[whole]


def _refuse_large(numbers: npt.NDArray[Any], target: np.dtype[Any], column: WireColumn) -> None:
    if not len(numbers) or numbers.dtype == np.bool_:
        return
    bounds = np.iinfo(target)
    worst = next((int(n) for n in (numbers.min(), numbers.max()) if not bounds.min <= int(n) <= bounds.max), None)
    if worst is not None:
        raise DataError(
            f"must fit into {target.itemsize} bytes on the wire",
            parameter=column.name,
            value=worst,
            hint=f"give it more in types=..., where it is {column.wire.code}",
        )


def _texts(values: pa.Array[Any], column: WireColumn) -> Bytes:
    """Text filled up with zero bytes."""
    coded: Any = values if isinstance(values, pa.DictionaryArray) else values.dictionary_encode()
    words = [b"" if word is None else word.encode() for word in coded.dictionary.to_pylist()]
    width = column.wire.width
    for word in words:
        if len(word) > width:
            raise DataError(
                f"must have at most {width} bytes on the wire",
                parameter=column.name,
                value=word.decode(),
                hint=f"give it more in types=..., where it is {column.wire.code}",
            )
    table = np.array([word.ljust(width, b"\0") for word in [*words, b""]], f"S{width}").view(np.uint8)
    codes = np.asarray(coded.indices.fill_null(len(words)))
    return cast(Bytes, table.reshape(-1, width)[codes])


def _fixed(values: pa.Array[Any], column: WireColumn, *, reverse: bool) -> Bytes:
    """Decimals, and bytes of a fixed number."""
    width, buffer = column.wire.width, cast(Any, values.buffers()[1])
    if buffer is None or not len(values):
        return np.zeros((len(values), width), np.uint8)
    rows = np.frombuffer(buffer, np.uint8)[values.offset * width : (values.offset + len(values)) * width]
    rows = rows.reshape(-1, width)
    if values.null_count:
        rows = np.where(np.asarray(values.is_null())[:, None], np.uint8(0), rows)
    return rows[:, ::-1] if reverse else rows
