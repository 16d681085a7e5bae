"""Results of Spark to a topic of Kafka, by the same client and in the same messages as in process.

At least once, tasks send what they have. Exactly once, what they have goes to the driver, which sends the rows of a
micro-batch in one transaction with its number in it, and so knows which micro-batches were given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from windrow.engines.spark.session.loaded_later import LoadedLater
from windrow.sharded.wire import batches_of, pack
from windrow.sinks.kafka.rows import RowWriter
from windrow.sinks.kafka.sink import KafkaSink
from windrow.sinks.kafka.transactions import TransactionalSink
from windrow.sources.base import Delivery
from windrow.sources.kafka.address import KafkaAddress

NAME = "transaction"
"""The option that has the name under which transactions are made: that of the query, whoever runs it."""


@dataclass(frozen=True)
class TopicSending:
    """Where results go and how."""

    address: KafkaAddress
    rows: RowWriter
    delivery: Delivery


@dataclass
class Sent(WriterCommitMessage):
    """What a task sent, or has for the driver to send."""

    body: bytes | None = None


class TopicWriter(DataSourceStreamArrowWriter):
    """Takes the rows of a query, micro-batch by micro-batch."""

    def __init__(self, sending: TopicSending, name: str) -> None:
        self.sending = sending
        self.name = name

    def write(self, iterator: Iterator[Any]) -> Sent:
        batches = [batch for batch in iterator if batch.num_rows]
        if not batches:
            return Sent()
        if self.sending.delivery is Delivery.EXACTLY_ONCE:
            return Sent(pack(batches, batches[0].schema))
        with KafkaSink(self.sending.address, self.sending.rows) as sink:
            for batch in batches:
                sink.write(batch)
        return Sent()

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803
        bodies = [message.body for message in messages if message is not None and message.body is not None]
        if bodies:
            _giver(self.sending, self.name).give(bodies, batchId + 1)

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803
        """Nothing was given that a new try does not give again."""


class _Giver:
    """Gives micro-batches in transactions under one name."""

    def __init__(self, sending: TopicSending, name: str) -> None:
        self.sink = TransactionalSink(sending.address, sending.rows)
        self.mark = self.sink.take(name)

    def give(self, bodies: list[bytes], number: int) -> None:
        """Unless they were given: a micro-batch whose end was not noted is run again."""
        if self.mark is None or self.mark < number:
            self.sink.give([batch for body in bodies for batch in batches_of(body)], number)
            self.mark = number


_givers: dict[str, _Giver] = {}


def _giver(sending: TopicSending, name: str) -> _Giver:
    """That of this process, which may commit many micro-batches."""
    if name not in _givers:
        _givers[name] = _Giver(sending, name)
    return _givers[name]


def writer_class(name: str, sending: TopicSending) -> type[DataSource]:
    """The format `name` that writes to a topic: register it, then `writeStream.format(name)`."""
    sent = LoadedLater(sending)

    class TopicSink(DataSource):  # defined in here so that it travels by value
        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> StructType | str:
            return ""

        def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802
            options: Mapping[str, str] = self.options
            return TopicWriter(sent.value, options.get(NAME, name))

    return TopicSink
