"""Messages in Avro: written with a schema that is given, or with one that a registry has by the number in front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.errors import ConfigurationError, SourceError, reason_of
from windrow.sources.addresses import own_path
from windrow.sources.conform import conform
from windrow.sources.messages import Halving, ReadMessages

_MAGIC = 0
_HEAD = 5
"""Bytes before a body: a zero, then the number of its schema."""


@dataclass(frozen=True)
class AvroMessages(Halving):
    """Each message is one Avro record; fields that are no columns are passed over, those that lack are NULL.

    Travels to other processes: the schema is text, and what a registry has is fetched there.
    """

    text: str | None
    """The schema of all messages, as JSON; None: the registry has them."""
    registry: str | None = None

    def read(self, messages: Sequence[bytes], schema: pa.Schema) -> ReadMessages:
        if self.registry is not None:
            numbers = {number for message in messages if (number := _number_of(message)) is not None}
            for number in numbers:  # so that a registry that does not answer is told as that
                _registered(self.registry, number)
        return super().read(messages, schema)

    def whole(self, messages: Sequence[bytes], schema: pa.Schema) -> pa.RecordBatch:
        records = [self._record(message) for message in messages]
        columns = [pa.array([record.get(name) for record in records]) for name in schema.names]
        return conform(pa.RecordBatch.from_arrays(columns, names=schema.names), schema, "a message")

    def _record(self, message: bytes) -> dict[str, Any]:
        if not message:
            raise ValueError("it is empty")
        body, parsed = BytesIO(message), None
        if self.registry is None:
            assert self.text is not None
            parsed = _parsed(self.text)
        else:
            number = _number_of(message)
            found = None if number is None else _registered(self.registry, number)
            if found is None:
                raise ValueError("it does not begin with the number of a schema that the registry has")
            parsed = _parsed(found)
            body.seek(_HEAD)
        try:
            record = import_module("fastavro").schemaless_reader(body, parsed, None)
        except Exception as error:  # whatever bytes that are no Avro lead to
            raise ValueError(f"it is no Avro of its schema ({type(error).__name__})") from error
        if not isinstance(record, dict):
            raise ValueError("it is no Avro record")
        if body.tell() != len(message):
            raise ValueError("it has bytes behind its Avro record")
        return record


def _number_of(message: bytes) -> int | None:
    return int.from_bytes(message[1:_HEAD], "big") if len(message) >= _HEAD and message[0] == _MAGIC else None


@lru_cache(maxsize=1000)
def _parsed(text: str) -> Any:
    import json

    return import_module("fastavro").parse_schema(json.loads(text))


@lru_cache(maxsize=16)
def _client(registry: str) -> Any:
    return import_module("confluent_kafka.schema_registry").SchemaRegistryClient({"url": registry})


@lru_cache(maxsize=10_000)
def _registered(registry: str, number: int) -> str | None:
    """The schema of a number; None where the registry has none."""
    try:
        return str(_client(registry).get_schema(number).schema_str)
    except Exception as error:  # its own errors, and those of the network below it
        if getattr(error, "http_status_code", None) == 404:
            return None
        raise SourceError(
            f"must answer ({reason_of(error)})",
            parameter="registry",
            value=registry,
            hint="see to the schema registry; a run with a checkpoint goes on where it was",
        ) from error


def avro_messages(schema: str | None, registry: str | None, parameter: str) -> AvroMessages:
    """The format for a file with a schema, or for a registry; what is missing for it is told."""
    _require("fastavro", "pip install 'windrow[kafka]'", parameter)
    if (schema is None) == (registry is None):
        raise ConfigurationError(
            "needs the schema of its messages, or the registry that has them; one of the two",
            parameter=parameter,
            value="value=avro",
            hint="add schema=trades.avsc or registry=http://host:8081",
        )
    if registry is not None:
        _require("confluent_kafka.schema_registry", "pip install 'confluent-kafka[schemaregistry]'", parameter)
        return AvroMessages(None, registry)
    assert schema is not None
    return AvroMessages(schema_text(schema, parameter))


def schema_text(schema: str, parameter: str) -> str:
    """The schema in a file, or given as it is, once it is known to be one."""
    text = schema if schema.lstrip()[:1] in ("{", "[", '"') else _content(own_path(schema))
    try:
        _parsed(text)
    except Exception as error:  # JSON's own errors and fastavro's
        raise ConfigurationError(
            f"must be an Avro schema ({reason_of(error)})", parameter=f"{parameter}.schema", value=schema[:200]
        ) from error
    return text


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"must be a file with an Avro schema ({reason_of(error)})", parameter="schema", value=str(path)
        ) from error


def _require(module: str, hint: str, parameter: str, load: Callable[[str], Any] = import_module) -> None:
    try:
        load(module)
    except ImportError:
        package = "fastavro" if module == "fastavro" else "confluent-kafka[schemaregistry]"
        raise ConfigurationError(f"needs the package {package} for Avro", parameter=parameter, hint=hint) from None
