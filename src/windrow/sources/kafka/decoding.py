"""Messages as rows: their values in the declared columns, and what Kafka knows of each in columns of its own names.

`_key`, `_headers`, `_partition`, `_offset`, `_timestamp` and `_topic` are there for whoever declares them. A message
that is no row - without a value, malformed, with a value or a key that does not fit - is told by its place, with the
reason. Both engines use this.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
import pyarrow as pa

from windrow.errors import ConfigurationError
from windrow.sources.conform import convert, plain_type
from windrow.sources.messages import Bad, MessageFormat

Kinds = tuple[str, tuple[pa.DataType, ...]]
_TIMES = tuple(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC"))
METADATA: dict[str, Kinds] = {
    "_key": ("STRING, or pa.binary()", (pa.string(), pa.binary())),
    "_headers": ("STRING, which holds a JSON object", (pa.string(),)),
    "_partition": ("INT or BIGINT", (pa.int32(), pa.int64())),
    "_offset": ("BIGINT", (pa.int64(),)),
    "_timestamp": ("TIMESTAMP", _TIMES),
    "_topic": ("STRING", (pa.string(),)),
}
"""Columns that are not in the value of a message, and the types they may be declared as."""


class KafkaMessages(Protocol):
    """Some messages: their values, and on demand what else is known of them, one array a column of `METADATA`.

    Keys are binary, headers lists of names and values.
    """

    @property
    def values(self) -> Sequence[bytes | None]: ...

    def column(self, name: str) -> pa.Array[Any]: ...


@dataclass(frozen=True)
class DecodedMessages:
    """The rows of some messages, and those that are none; `good` are the places of the rows' messages, None: all."""

    batch: pa.RecordBatch
    bad: tuple[Bad, ...] = ()
    good: np.ndarray[Any, np.dtype[np.int64]] | None = None


@dataclass(frozen=True)
class Decoder:
    """How messages become rows; travels to other processes."""

    schema: pa.Schema
    """The columns of a row, in this order."""
    format: MessageFormat
    checked: pa.Field[Any] | None
    """A column of the value that is read although nobody asks for one, so that what is no row is found all the same."""

    def select(self, schema: pa.Schema) -> Decoder:
        """For these of the columns."""
        return replace(self, schema=schema)

    @property
    def payload(self) -> pa.Schema:
        """What is read out of a value."""
        own = [field for field in self.schema if field.name not in METADATA]
        return pa.schema(own or ([] if self.checked is None else [self.checked]))

    def decode(self, messages: KafkaMessages) -> DecodedMessages:
        """Rows, and what is none."""
        values = messages.values
        bad: dict[int, str] = {}
        places: list[int] | None = None
        if None in values:
            places = [place for place, value in enumerate(values) if value is not None]
            bad = {place: "it has no value: a tombstone" for place, value in enumerate(values) if value is None}
            values = [value for value in values if value is not None]
        present = cast("Sequence[bytes]", values)
        if len(self.payload):
            read = self.format.read(present, self.payload)
            batch, wrong = read.batch, read.bad
        else:
            batch, wrong = pa.table({}).to_batches(), ()  # type: ignore[assignment]
        for place, reason in wrong:
            bad[place if places is None else places[place]] = reason
        return self._joined(messages, batch, bad)

    def _joined(self, messages: KafkaMessages, batch: pa.RecordBatch, bad: dict[int, str]) -> DecodedMessages:
        """The columns of the values with those of Kafka's own; a key that is no text makes a message bad, too."""
        total = len(messages.values)
        was_bad = sorted(bad)
        own: dict[str, pa.Array[Any]] = {}
        for field in self.schema:
            if field.name in METADATA:
                own[field.name], wrong = metadata(messages.column(field.name), field)
                bad.update({place: reason for place, reason in wrong if place not in bad})
        good = np.delete(np.arange(total), sorted(bad)) if bad else None
        if good is not None and len(bad) > len(was_bad):
            rows = np.delete(np.arange(total), was_bad)
            keep = pa.array(np.isin(rows, good))
            batch = batch.filter(keep) if len(self.payload) else batch
        columns = []
        for field in self.schema:
            if field.name not in METADATA:
                columns.append(batch.column(field.name))
            else:
                array = own[field.name]
                columns.append(array if good is None else array.take(pa.array(good, pa.int64())))
        made = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        return DecodedMessages(made, tuple(sorted(bad.items())), good)


def decoder(schema: pa.Schema, form: MessageFormat, source: str) -> Decoder:
    """For the declared columns of a stream; types that Kafka's own cannot have are refused."""
    for field in schema:
        if field.name in METADATA:
            spelled, kinds = METADATA[field.name]
            kind = plain_type(field.type)
            kind = kind.value_type if isinstance(kind, pa.DictionaryType) else kind
            if kind not in kinds:
                raise ConfigurationError(
                    f"must be {spelled}", parameter=f"{source}.{field.name}", value=str(field.type)
                )
    return Decoder(schema, form, next((field for field in schema if field.name not in METADATA), None))


def payload_of(schema: pa.Schema | None) -> pa.Schema | None:
    """The declared columns that are in the value of a message."""
    return None if schema is None else pa.schema([field for field in schema if field.name not in METADATA])


def metadata(array: pa.Array[Any], field: pa.Field[Any]) -> tuple[pa.Array[Any], list[Bad]]:
    """A column of Kafka's own in its declared type; NULL, and told, where it has no such form."""
    if field.name == "_headers":
        array = pa.array([_headers_text(headers) for headers in array.to_pylist()], pa.string())
    try:
        return convert(array, field.type), []
    except (pa.ArrowException, TypeError, ValueError):
        good, bad = list[bool](), list[Bad]()
        for place in range(len(array)):
            try:
                convert(array.slice(place, 1), field.type)
                good.append(True)
            except (pa.ArrowException, TypeError, ValueError):
                good.append(False)
                kind = "UTF-8 text" if field.name == "_key" else field.type
                bad.append((place, f"its {field.name[1:]} is no {kind}"))
        import pyarrow.compute as pc

        return convert(pc.if_else(pa.array(good), array, None), field.type), bad


def _headers_text(headers: Sequence[dict[str, Any]] | None) -> str | None:
    """Headers as a JSON object; a name that is there several times has a list of its values."""
    if headers is None:
        return None
    found: dict[str, Any] = {}
    for one in headers:
        name, value = one["key"], one["value"]
        text = None if value is None else value.decode("utf-8", "backslashreplace")
        if name in found:
            before = found[name]
            found[name] = [*(before if isinstance(before, list) else [before]), text]
        else:
            found[name] = text
    return json.dumps(found, ensure_ascii=False)


HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
"""Headers, in an array."""
