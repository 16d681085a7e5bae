"""Records as columns: what lies scattered in datagrams is gathered into blocks that Arrow arrays look into.

A block is filled from its beginning to its end, and given piece by piece while it is filled further on: nothing that
was given is written again, and nothing is copied twice. Its memory is Arrow's, which takes it back when the last batch
over it is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.frames.tuples import TupleLayout, WireColumn
from windrow.operators.kernels import datagrams as kernels

Values = npt.NDArray[Any]
_MOST_TEXTS = 1 << 16
"""So many different texts have codes; where there are more, they are numbered anew."""
_INTEGERS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
_WORDS: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def on_the_wire(column: WireColumn) -> Any:
    """The type of numpy that a field has in a record; None where it is so many bytes."""
    kind, width = column.wire.kind, column.wire.width
    if kind == "f":
        return np.dtype(f"f{width}")
    if kind in "ub":
        return np.dtype(_WORDS[width])
    if kind in "idtp":
        return np.dtype(_INTEGERS[width])
    return np.dtype(_WORDS[width]) if kind == "s" and width in _WORDS else None


def in_column(column: WireColumn) -> Any:
    """The type of numpy that its values have in Arrow."""
    if column.wire.kind == "s":
        return np.dtype(np.int32)
    if column.wire.kind in "iuf":
        return np.dtype(column.kind.to_pandas_dtype())
    return np.dtype(np.int64) if column.wire.kind == "t" else on_the_wire(column)


class Texts:
    """Short texts as codes: those that came so far, and where to look them up."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.stored = np.zeros(1024, np.uint64)
        self.index = np.full(2048, -1, np.int32)
        self.words = np.zeros(2048, np.uint64)
        self.count = 0
        self.dictionary: pa.Array[Any] = pa.array([], pa.string())

    def grow(self) -> None:
        """Twice the room."""
        self.stored = np.concatenate([self.stored, np.zeros_like(self.stored)])
        self.index, self.words = np.full(2 * len(self.stored), -1, np.int32), np.zeros(2 * len(self.stored), np.uint64)
        kernels.index_texts(self.stored, self.count, self.index, self.words)

    def spell(self) -> None:
        """The dictionary of all codes there are."""
        if self.count != len(self.dictionary):
            words = self.stored[len(self.dictionary) : self.count].astype("<u8").view(np.uint8).reshape(-1, 8)
            new = spelled(words[:, : self.width])
            self.dictionary = pa.concat_arrays([self.dictionary, new])


def spelled(rows: npt.NDArray[np.uint8]) -> pa.Array[Any]:
    """Each row of bytes as text without the zero bytes behind it; what is no UTF-8 is shown in escapes."""
    return pa.array([row.tobytes().rstrip(b"\0").decode("utf-8", "backslashreplace") for row in rows], pa.string())


class GatheredColumn:
    """Values of one column, in the block that is being filled."""

    def __init__(self, number: int, column: WireColumn, kind: pa.DataType) -> None:
        """`kind` is the column's type in the stream, its text as a dictionary."""
        self.number, self.column, self.kind = number, column, kind
        self.wire = on_the_wire(column)
        self.like = np.zeros(0, self.wire) if self.wire is not None else None
        self.texts = Texts(column.wire.width) if column.wire.kind == "s" and self.wire is not None else None
        self.width = None if self.wire is not None else column.wire.width

    def room(self, rows: int) -> tuple[pa.Buffer, Values]:
        """Memory for so many values, and the same as numbers."""
        each = in_column(self.column).itemsize if self.width is None else self.width
        buffer = pa.allocate_buffer(max(8, rows * each))
        raw: Any = buffer
        if self.width is not None:
            return buffer, np.frombuffer(raw, np.uint8)[: rows * each].reshape(rows, each)
        return buffer, np.frombuffer(raw, in_column(self.column))[:rows]

    def fill(self, data: Values, spans: Values, out: Values, start: int, end: int, big: bool) -> None:
        """Gather this column of the records of spans."""
        place = self.column.place
        if self.width is not None:
            kernels.gather_bytes(data, spans, place, out, start)
            if big and self.column.wire.kind == "n":
                out[start:end] = out[start:end, ::-1].copy()
        elif self.texts is not None:
            self._code(self.texts, data, spans, out, start)
        elif big and self.wire.itemsize > 1:
            values = np.empty(end - start, self.wire)
            kernels.gather(data, spans, place, self.like, values, 0)
            out[start:end] = values.byteswap()
        else:
            kernels.gather(data, spans, place, self.like, out, start)

    def _code(self, texts: Texts, data: Values, spans: Values, out: Values, start: int) -> None:
        cursor = np.array([0, 0, start])
        while True:
            table = texts.index, texts.words, texts.stored, texts.count
            texts.count = kernels.gather_codes(data, spans, self.column.place, self.like, *table, out, cursor)
            if cursor[0] == len(spans):
                break
            texts.grow()
        texts.spell()

    @property
    def is_crowded(self) -> bool:
        """Whether there are so many texts that it is better to begin anew."""
        return self.texts is not None and self.texts.count > _MOST_TEXTS

    @property
    def dictionary(self) -> pa.Array[Any] | None:
        return None if self.texts is None else self.texts.dictionary

    def array(
        self, buffer: pa.Buffer, values: Values, start: int, end: int, valid: Values | None, dictionary: Any
    ) -> pa.Array[Any]:
        """Some values, from the block's memory."""
        rows, kind = end - start, self.kind
        bits = None if valid is None else _bits(valid[start:end], start)
        if dictionary is not None:
            codes = pa.Array.from_buffers(pa.int32(), rows, [bits, buffer], offset=start)
            coded = cast(Any, pa.DictionaryArray).from_arrays(codes, dictionary, safe=False)
            return cast("pa.Array[Any]", coded if kind == coded.type else coded.cast(kind))
        if self.column.wire.kind == "s":
            return _long_texts(values[start:end], valid, start, end).cast(kind)
        if self.column.wire.kind == "b":
            return pa.Array.from_buffers(kind, rows, [bits, _bits(values[start:end] != 0, start)], offset=start)
        if self.column.wire.kind == "t" and self.column.wire.width == 4:
            stored = pa.Array.from_buffers(_coarse(self.column), rows, [bits, buffer], offset=start)
            return cast("pa.Array[Any]", stored.cast(kind, safe=False))
        return pa.Array.from_buffers(kind, rows, [bits, buffer], offset=start)


def _coarse(column: WireColumn) -> pa.DataType:
    return pa.timestamp(cast(Any, column.wire.unit), cast(Any, column.kind).tz)


def _bits(flags: Values, start: int) -> pa.Buffer:
    """Flags as Arrow keeps them, such that the first of them is at `start`."""
    bits: Any = np.packbits(np.concatenate([np.zeros(start, np.bool_), flags]), bitorder="little")
    return pa.py_buffer(bits)


def _long_texts(rows: Values, valid: Values | None, start: int, end: int) -> pa.Array[Any]:
    """Texts of any width, coded by Arrow."""
    data: Any = np.ascontiguousarray(rows)
    raw = pa.Array.from_buffers(pa.binary(rows.shape[1]), len(rows), [None, pa.py_buffer(data)])
    coded: Any = raw.dictionary_encode()
    words = [word.as_py() for word in coded.dictionary]
    texts = pa.array([word.rstrip(b"\0").decode("utf-8", "backslashreplace") for word in words], pa.string())
    mask = None if valid is None else ~valid[start:end].astype(np.bool_)
    codes = pa.array(np.asarray(coded.indices), pa.int32(), mask=mask)
    return pa.DictionaryArray.from_arrays(codes, texts)


@dataclass
class ColumnBlock:
    """Memory for so many rows, filled up to `rows`."""

    columns: Sequence[GatheredColumn]
    capacity: int
    rows: int = 0
    room: list[tuple[pa.Buffer, Values]] = field(default_factory=list)
    valid: list[Values] | None = None
    """Whether each value is there, once one may be NULL."""

    def __post_init__(self) -> None:
        self.room = [column.room(self.capacity) for column in self.columns]


@dataclass
class Piece:
    """Rows of a block that are given together."""

    block: ColumnBlock
    start: int
    end: int
    dictionaries: list[Any]

    def batch(self, schema: pa.Schema) -> pa.RecordBatch:
        block = self.block
        arrays = [
            column.array(
                *block.room[i], self.start, self.end, block.valid[i] if block.valid else None, self.dictionaries[i]
            )
            for i, column in enumerate(block.columns)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


class Gatherer:
    """Puts the records of spans into blocks, column by column."""

    def __init__(self, layout: TupleLayout, schema: pa.Schema, capacity: int, big: bool) -> None:
        """Of the columns of a layout those of `schema` are wanted."""
        self.layout, self.schema, self.capacity, self.big = layout, schema, capacity, big
        self.row_bytes = 1
        self._begin()

    def _begin(self) -> None:
        chosen = self.layout.chosen(self.schema.names)
        self.columns = [
            GatheredColumn(number, column, field.type)
            for (number, column), field in zip(chosen, self.schema, strict=True)
        ]
        self.row_bytes = max(1, sum(c.width or in_column(c.column).itemsize for c in self.columns))
        self.block = ColumnBlock(self.columns, self.capacity)

    def gather(self, data: Values, spans: Values, rows: int) -> Piece:
        """All records of the spans, which are so many."""
        if any(column.is_crowded for column in self.columns):
            self._begin()
        if self.block.rows + rows > self.block.capacity:
            self.block = ColumnBlock(self.columns, max(self.capacity, rows))
        block, start = self.block, self.block.rows
        end = start + rows
        for column, (_, out) in zip(self.columns, block.room, strict=True):
            column.fill(data, spans, out, start, end, self.big)
        if block.valid is not None or (spans[:, kernels.SHIFT][spans[:, kernels.KIND] == kernels.ROWS]).any():
            self._note_nulls(data, spans)
        block.rows = end
        return Piece(block, start, end, [column.dictionary for column in self.columns])

    def _note_nulls(self, data: Values, spans: Values) -> None:
        block = self.block
        if block.valid is None:
            block.valid = [np.ones(block.capacity, np.bool_) for _ in self.columns]
        for column, valid in zip(self.columns, block.valid, strict=True):
            kernels.gather_nulls(data, spans, column.number, valid, block.rows)
