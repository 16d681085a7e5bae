"""A topic as a source of either engine: read here, or by Spark with the same decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from windrow.errors import ConfigurationError
from windrow.sources.avro import avro_messages
from windrow.sources.base import BATCH_ROWS, Position, Reader, Source, narrow
from windrow.sources.kafka.address import EARLIEST, LATEST, READING, SPARK_READING, KafkaAddress, read_address
from windrow.sources.kafka.client import library
from windrow.sources.kafka.decoding import Decoder, decoder, payload_of
from windrow.sources.kafka.reader import KafkaReader
from windrow.sources.messages import FORMATS, MessageFormat, message_format

PARTITION = "_partition"


@dataclass(frozen=True, eq=False)
class KafkaSource(Source):
    """The messages of a topic, from a start that the address names; it ends only where `ends` is asked for."""

    address: KafkaAddress
    decoder: Decoder
    ends: bool = False
    """Whether it ends with what is there when reading begins."""
    announces: bool = False
    """Whether partitions are told of by punctuations of their own."""

    is_live = True
    is_endless = True
    can_seek = True
    is_streaming = True
    """On Spark it is followed like a streaming DataFrame."""

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.address.text,)

    def describe(self) -> str:
        start = self.address.start
        since = f"from the {start} message on" if start in (EARLIEST, LATEST) else "from where the address says on"
        return f"topic {self.address.topic} of Kafka at {self.address.servers}, {since}"

    def select(self, columns: Sequence[str]) -> KafkaSource:
        schema = narrow(self.schema, columns, self.name)
        return replace(self, schema=schema, decoder=self.decoder.select(schema))

    @property
    def partition_column(self) -> str:
        return PARTITION

    def by_partition(self) -> KafkaSource:
        """With `_partition`, declared or not."""
        own = pa.field(PARTITION, pa.int32())
        schema = self.schema if PARTITION in self.schema.names else self.schema.append(own)
        return replace(self, schema=schema, decoder=self.decoder.select(schema), announces=True)

    def until_now(self) -> KafkaSource:
        """With an end behind what is there when reading begins."""
        return replace(self, ends=True)

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        """Rows that are there are given at once: none waits for others."""
        return KafkaReader(self, position, batch_rows)


def open_kafka(address: str, *, name: str, schema: pa.Schema | None) -> KafkaSource:
    """The source at an address; brokers are asked nothing before it is read."""
    found = read_address(address, name, (*READING, *SPARK_READING))
    form = _format(found, name, payload_of(schema))
    assert schema is not None
    found.start, found.patience, found.goes_on_without_expired  # noqa: B018 - what is wrong there is told now
    return KafkaSource(name, schema, found, decoder(schema, form, name), found.ends)


def _format(address: KafkaAddress, name: str, payload: pa.Schema | None) -> MessageFormat:
    """How values are written: JSON unless the address says otherwise."""
    asked = address.options.get("value") or address.options.get("format", "json")
    if asked == "avro" and payload is not None:
        return avro_messages(address.options.get("schema"), address.options.get("registry"), name)
    if asked not in (*FORMATS, "avro"):
        raise ConfigurationError(
            "must be a known format", parameter=f"{name}.value", value=asked, allowed=(*FORMATS, "avro")
        )
    return message_format(asked, payload, f"{name}.value", name)


def check_client() -> None:
    """Refuse to begin where the package is missing."""
    library()
