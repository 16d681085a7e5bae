"""Messages as rows: what the wire, a pipe or a broker gives one by one, in the declared columns.

A format takes many messages at once, because whole batches are what costs little. It says which of them it could not
read and why; nobody else's message is lost for that. A bad one is found by halving, so that one among many costs little
too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import cast

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.json as pj

from windrow.errors import ConfigurationError, SourceError
from windrow.sources.conform import conform

Bad = tuple[int, str]
"""A message by its number among those given, and why it is no row."""


@dataclass(frozen=True)
class ReadMessages:
    """The rows of some messages, one for each that is not `bad`, in their order."""

    batch: pa.RecordBatch
    bad: tuple[Bad, ...] = ()


class MessageFormat(ABC):
    """How a message is written."""

    @abstractmethod
    def read(self, messages: Sequence[bytes], schema: pa.Schema) -> ReadMessages:
        """Their rows in the columns of a schema."""

    def read_lines(self, block: bytes, schema: pa.Schema) -> tuple[pa.RecordBatch, list[tuple[int, bytes, str]]]:
        """The rows of whole lines; and the lines that are none, by their numbers. Blank lines are passed over."""
        try:
            return self.whole_lines(block, schema), []
        except (pa.ArrowException, SourceError, ValueError):
            pass  # found line by line
        split = (line.rstrip(b"\r") for line in block.split(b"\n"))
        lines = [(number, line) for number, line in enumerate(split) if line.strip()]
        found = self.read([line for _, line in lines], schema)
        return found.batch, [(*lines[place], reason) for place, reason in found.bad]

    def whole_lines(self, block: bytes, schema: pa.Schema) -> pa.RecordBatch:
        """The rows of lines of which each is one, or an error; nothing is done for a single line."""
        raise ValueError("lines are read one by one")


class Halving(MessageFormat):
    """A format that reads many messages at once, or fails as a whole."""

    def read(self, messages: Sequence[bytes], schema: pa.Schema) -> ReadMessages:
        bad: list[Bad] = []
        found = [batch for batch in self._good(messages, 0, schema, bad) if batch.num_rows]
        if len(found) == 1:
            return ReadMessages(found[0], tuple(bad))
        table = pa.Table.from_batches(found, schema=schema).unify_dictionaries().combine_chunks()
        batches = table.to_batches()
        return ReadMessages(batches[0] if batches else empty(schema), tuple(bad))

    def _good(
        self, messages: Sequence[bytes], start: int, schema: pa.Schema, bad: list[Bad]
    ) -> Iterator[pa.RecordBatch]:
        if not messages:
            return
        try:
            yield self.whole(messages, schema)
        except (pa.ArrowException, SourceError, ValueError, TypeError) as error:
            if len(messages) == 1:
                bad.append((start, reason_in(error)))
                return
            middle = len(messages) // 2
            yield from self._good(messages[:middle], start, schema, bad)
            yield from self._good(messages[middle:], start + middle, schema, bad)

    @abstractmethod
    def whole(self, messages: Sequence[bytes], schema: pa.Schema) -> pa.RecordBatch:
        """A row for each message, or an error where one of them is none."""


class JsonMessages(Halving):
    """Each message is one JSON object; fields that are no columns are passed over, those that lack are NULL.

    >>> schema = pa.schema([("t", pa.int64()), ("x", pa.string())])
    >>> found = JsonMessages().read([b'{"t": 1, "x": "a", "y": 0}', b'{"t": "no"}', b'', b'{"t": 2}'], schema)
    >>> found.batch.to_pylist(), [place for place, _ in found.bad]
    ([{'t': 1, 'x': 'a'}, {'t': 2, 'x': None}], [1, 2])
    """

    def whole(self, messages: Sequence[bytes], schema: pa.Schema) -> pa.RecordBatch:
        for message in messages:
            _check_object(message)
        block = b"\n".join(messages)
        if block.count(b"\n") >= len(messages):  # objects over several lines
            block = b"\n".join([message.replace(b"\r", b" ").replace(b"\n", b" ") for message in messages])
        return _parsed(block, len(messages), schema)

    def whole_lines(self, block: bytes, schema: pa.Schema) -> pa.RecordBatch:
        whole = block.rstrip(b"\r\n")
        rows = whole.count(b"\n") + 1
        if whole[:1] != b"{" or whole[-1:] != b"}" or whole.count(b"}\n{") != rows - 1:
            raise ValueError("a line may be no object")
        return _parsed(whole, rows, schema)


def _check_object(message: bytes) -> None:
    """Where each begins with a brace and ends with one, none of them can be read together with its neighbour."""
    if message[:1] != b"{" or message[-1:] != b"}":
        stripped = message.strip()
        if not stripped:
            raise ValueError("it is empty")
        if stripped[:1] != b"{" or stripped[-1:] != b"}":
            raise ValueError("it is no JSON object")


def _parsed(block: bytes, rows: int, schema: pa.Schema) -> pa.RecordBatch:
    """Lines as rows, exactly so many."""
    if not block.isascii():
        block.decode()  # Arrow does not look whether text is UTF-8
    explicit = pa.schema([pa.field(one.name, read_as(one.type)) for one in schema])
    table = pj.read_json(
        BytesIO(block),
        read_options=pj.ReadOptions(block_size=len(block) + 2, use_threads=False),
        parse_options=pj.ParseOptions(
            explicit_schema=explicit, newlines_in_values=False, unexpected_field_behavior="ignore"
        ),
    )
    if table.num_rows != rows:
        raise ValueError("it holds more than one JSON object")
    return conform(_one_batch(table), schema, "a message")


def read_as(kind: pa.DataType) -> pa.DataType:
    """Times come as text, with or without a zone; dictionaries are built afterwards."""
    if isinstance(kind, pa.DictionaryType):
        return cast(pa.DataType, kind.value_type)
    return pa.string() if isinstance(kind, pa.TimestampType) else kind


@dataclass(frozen=True)
class CsvMessages(Halving):
    """Each message is one line of CSV without a header, with a cell for each column in their declared order.

    An empty cell is NULL, a quoted one the empty text.
    """

    names: tuple[str, ...]
    """The columns of a line, read or not."""
    delimiter: str = ","

    def whole(self, messages: Sequence[bytes], schema: pa.Schema) -> pa.RecordBatch:
        for message in messages:
            if not message.strip():
                raise ValueError("it is empty")
        return self._parsed(b"\n".join(messages), len(messages), schema)

    def whole_lines(self, block: bytes, schema: pa.Schema) -> pa.RecordBatch:
        whole = block.strip(b"\r\n")
        return self._parsed(whole, whole.count(b"\n") + 1, schema)

    def _parsed(self, block: bytes, rows: int, schema: pa.Schema) -> pa.RecordBatch:
        table = pv.read_csv(
            BytesIO(block),
            read_options=pv.ReadOptions(
                column_names=list(self.names), block_size=1 << 30, use_threads=False, autogenerate_column_names=False
            ),
            parse_options=pv.ParseOptions(delimiter=self.delimiter, newlines_in_values=False),
            convert_options=self._conversion(schema),
        )
        if table.num_rows != rows:
            raise ValueError("it is not one line of cells")
        return conform(_one_batch(table), schema, "a line")

    def _conversion(self, schema: pa.Schema) -> pv.ConvertOptions:
        return pv.ConvertOptions(
            column_types={one.name: read_as(one.type) for one in schema},
            include_columns=schema.names,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )


@dataclass(frozen=True)
class RawMessages(MessageFormat):
    """Each message is the value of one column, of bytes or of text."""

    def read(self, messages: Sequence[bytes], schema: pa.Schema) -> ReadMessages:
        if schema.types == [pa.binary()]:
            return ReadMessages(pa.record_batch([pa.array(messages, pa.binary())], schema=schema))
        texts, bad = list[str](), list[Bad]()
        for place, message in enumerate(messages):
            try:
                texts.append(message.decode())
            except UnicodeDecodeError:
                bad.append((place, "it is no UTF-8 text"))
        column = pa.record_batch([pa.array(texts, pa.string())], names=schema.names)
        return ReadMessages(conform(column, schema, "a message"), tuple(bad))


FORMATS = ("json", "csv", "tsv", "raw")


def message_format(name: str, columns: pa.Schema | None, parameter: str, source: str) -> MessageFormat:
    """The format of a name, for a stream with these columns; refused where they do not go together."""
    if name not in FORMATS:
        raise ConfigurationError("must be a known format", parameter=parameter, value=name, allowed=FORMATS)
    if columns is None:
        raise ConfigurationError(
            "must have declared columns, because its rows do not name theirs before they come",
            parameter=source,
            hint=f"CREATE STREAM {source} (time TIMESTAMP, ...) in SQL, schema=pa.schema(...) in Python",
        )
    if name == "raw" and (len(columns) != 1 or columns.types[0] not in _PLAIN):
        raise ConfigurationError(
            "must have one column of type STRING or BINARY for raw messages", parameter=source, value=str(columns.names)
        )
    if name == "raw":
        return RawMessages()
    if name == "json":
        return JsonMessages()
    return CsvMessages(tuple(columns.names), "\t" if name == "tsv" else ",")


_PLAIN = (pa.string(), pa.binary(), pa.dictionary(pa.int32(), pa.string()))


def empty(schema: pa.Schema) -> pa.RecordBatch:
    """No rows."""
    return pa.RecordBatch.from_arrays([pa.array([], one.type) for one in schema], schema=schema)


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else empty(table.schema)


def reason_in(error: Exception) -> str:
    """Why a message is no row, in one line."""
    if isinstance(error, UnicodeDecodeError):
        return "it is no UTF-8 text"
    if isinstance(error, SourceError):
        return f"{error.parameter} {error.rule}, got {error.value}" if error.value else str(error)
    text = str(error).strip().splitlines()
    return text[0].rstrip(".") if text else type(error).__name__
