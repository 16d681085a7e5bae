"""Rows as messages: a value in JSON or Avro, or one column as it is; a key where a column is named for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from typing import Any

import pyarrow as pa

from windrow.aggregates.kinds.base import value_type
from windrow.errors import ConfigurationError
from windrow.sinks.text import cells, encode, plain

VALUES = ("json", "avro", "raw")


@dataclass(frozen=True)
class RowWriter:
    """How rows become messages."""

    value: str = "json"
    """`json`, `avro`, or the name of the one column that is the value."""
    keys: tuple[str, ...] = ()
    """The columns of the key: one as it is, several as JSON."""
    schema: str | None = None
    """Of Avro, where it is not made of the columns."""

    def messages(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, Any]]:
        """Keys and values, in the order of the rows."""
        keys = self._keys(batch) if self.keys else [None] * batch.num_rows
        yield from zip(keys, self._values(batch), strict=True)

    def _values(self, batch: pa.RecordBatch) -> list[Any]:
        if self.value == "json":
            return json_of(batch)
        if self.value == "avro":
            return _avro_of(batch, self.schema or avro_schema(batch.schema))
        return _as_it_is(batch.column(self.value))

    def _keys(self, batch: pa.RecordBatch) -> list[Any]:
        if len(self.keys) == 1:
            return _as_it_is(batch.column(self.keys[0]))
        return json_of(batch.select(list(self.keys)))


def json_of(batch: pa.RecordBatch) -> list[bytes]:
    """A JSON object a row, as in files of JSON lines."""
    names = batch.schema.names
    columns = [plain(column).to_pylist() for column in batch.columns]
    return [encode(dict(zip(names, row, strict=True))).encode() for row in zip(*columns, strict=True)]


def _as_it_is(array: pa.Array[Any]) -> list[Any]:
    """Bytes as bytes, all else as text; NULL is no key, and as a value a tombstone."""
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    if pa.types.is_binary(array.type):
        return array.to_pylist()
    if pa.types.is_string(array.type):
        return [None if text is None else text.encode() for text in array.to_pylist()]
    pairs = zip(cells(array, "\0").to_pylist(), array.is_null().to_pylist(), strict=True)
    return [None if missing or text is None else text.encode() for text, missing in pairs]


def row_writer(schema: pa.Schema, value: str | None, key: str | None, avro: str | None, parameter: str) -> RowWriter:
    """For an address; a column that it names must be there."""
    keys = tuple(key.split(",")) if key else ()
    value = value or "json"
    named = (*(("key", one) for one in keys), *((("value", value),) if value not in VALUES else ()))
    for option, name in named:
        if name not in schema.names:
            raise ConfigurationError(
                "must be a column of the result",
                parameter=f"{parameter}.{option}",
                value=name,
                allowed=(*VALUES[:2], *schema.names) if option == "value" else tuple(schema.names),
            )
    if value == "raw":
        if len(schema) != 1:
            raise ConfigurationError(
                "needs a result of one column",
                parameter=f"{parameter}.value",
                value="raw",
                hint="name the column instead: value=symbol",
            )
        value = schema.names[0]
    if value == "avro":
        from windrow.sources.avro import schema_text

        try:
            import_module("fastavro")
        except ImportError:
            raise ConfigurationError(
                "needs the package fastavro for Avro", parameter=parameter, hint="pip install 'windrow[kafka]'"
            ) from None
        return RowWriter(value, keys, schema_text(avro, parameter) if avro else None)
    return RowWriter(value, keys)


def avro_schema(schema: pa.Schema) -> str:
    """The Avro schema of columns: each may be null; times are microseconds.

    >>> avro_schema(pa.schema([("n", pa.int64())]))
    '{"type": "record", "name": "row", "fields": [{"name": "n", "type": ["null", "long"], "default": null}]}'
    """
    import json

    fields = [{"name": f.name, "type": ["null", _avro_type(f)], "default": None} for f in schema]
    return json.dumps({"type": "record", "name": "row", "fields": fields})


def _avro_type(field: pa.Field[Any]) -> Any:
    kind: Any = value_type(field.type)
    if isinstance(kind, pa.TimestampType):
        return {"type": "long", "logicalType": "timestamp-micros" if kind.tz else "local-timestamp-micros"}
    if isinstance(kind, pa.Decimal128Type):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if pa.types.is_date32(kind):
        return {"type": "int", "logicalType": "date"}
    if pa.types.is_list(kind):
        return {"type": "array", "items": ["null", _avro_type(kind.value_field)]}
    for is_kind, name in _AVRO:
        if is_kind(kind):
            return name
    raise ConfigurationError(
        "has no form in Avro", parameter=field.name, value=str(kind), hint="cast it in the query, or write JSON"
    )


_AVRO = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "long"),
    (pa.types.is_floating, "double"),
    (pa.types.is_string, "string"),
    (pa.types.is_binary, "bytes"),
)


def _avro_of(batch: pa.RecordBatch, schema: str) -> list[bytes]:
    import json

    fastavro = import_module("fastavro")
    parsed, found = fastavro.parse_schema(json.loads(schema)), list[bytes]()
    for row in batch.to_pylist():
        out = BytesIO()
        fastavro.schemaless_writer(out, parsed, row)
        found.append(out.getvalue())
    return found
