"""Rows to a topic as they come: at least once, each known to be with the brokers before its checkpoint counts."""

from __future__ import annotations

from time import monotonic
from typing import Any

import pyarrow as pa

from windrow.errors import ConfigurationError, WindrowError
from windrow.sinks.base import Saved, Sink
from windrow.sinks.kafka.rows import RowWriter, row_writer
from windrow.sources.base import Delivery
from windrow.sources.kafka.address import WRITING, KafkaAddress, read_address
from windrow.sources.kafka.client import Faults, library, made, partitions_of, settings_of, text_of

PARAMETER = "output"


DELIVERIES = {"at-least-once": Delivery.AT_LEAST_ONCE, "exactly-once": Delivery.EXACTLY_ONCE}


def described(address: str, schema: pa.Schema) -> tuple[KafkaAddress, RowWriter, Delivery]:
    """What an address asks for, for results of these columns."""
    found = read_address(address, PARAMETER, WRITING)
    options = found.options
    rows = row_writer(schema, options.get("value"), options.get("key"), options.get("schema"), PARAMETER)
    delivery = options.get("delivery", "at-least-once")
    if delivery not in DELIVERIES:
        raise ConfigurationError(
            "must be known", parameter=f"{PARAMETER}.delivery", value=delivery, allowed=tuple(DELIVERIES)
        )
    return found, rows, DELIVERIES[delivery]


def open_kafka(address: str, schema: pa.Schema) -> Sink:
    """The sink at an address; a topic there is not, or brokers that do not answer, are found out now."""
    from windrow.sinks.kafka.transactions import TransactionalSink

    found, rows, delivery = described(address, schema)
    return (TransactionalSink if delivery is Delivery.EXACTLY_ONCE else KafkaSink)(found, rows)


class KafkaSink(Sink):
    """Sends what it gets; a repeat after a crash is the only way in which a row comes twice."""

    delivery = Delivery.AT_LEAST_ONCE

    def __init__(self, address: KafkaAddress, rows: RowWriter) -> None:
        self.address = address
        self.rows = rows
        self.faults = Faults()
        self.failed: Any = None
        """Why a message could not be delivered."""
        self.is_open = True
        self.producer: Any = None
        self.patience = address.patience
        self._begin()

    def _begin(self) -> None:
        self.producer = made("Producer", self.settings(), PARAMETER, self.address.shown)
        partitions_of(self.producer, self.address, PARAMETER, self.faults, ConfigurationError)

    def settings(self) -> dict[str, Any]:
        """Of the producer: no message of one partition overtakes another, or comes twice because it was sent again."""
        defaults = {
            "enable.idempotence": True,
            "linger.ms": 5,
            "message.timeout.ms": max(1000, int(self.patience * 1000)),
            "compression.type": "lz4",
            "partitioner": "murmur2_random",  # as the clients of Java have it: a key's rows stay together
        }
        ours = {"error_cb": self.faults.note}
        return {**settings_of(self.address, PARAMETER, defaults), **ours}

    def write(self, batch: pa.RecordBatch) -> None:
        try:
            self.send(batch)
            self.producer.poll(0)
        except library().KafkaException as error:
            raise self.undelivered(error) from error
        self.check()

    def send(self, batch: pa.RecordBatch) -> None:
        """Hand the rows to the client, which sends them on its own time; waits where it has too many."""
        produce, topic, delivered = self.producer.produce, self.address.topic, self._note
        for key, value in self.rows.messages(batch):
            while True:
                try:
                    produce(topic, value, key, on_delivery=delivered)
                    break
                except BufferError:
                    self.producer.poll(0.1)
                    self.check()

    def _note(self, error: Any, _message: Any) -> None:
        if error is not None:
            self.failed = error

    def check(self) -> None:
        """Raise what went wrong since."""
        if self.failed is not None or self.faults.fatal is not None:
            raise self.undelivered(self.failed or self.faults.fatal)

    def undelivered(self, error: Any) -> WindrowError:
        """The error for messages that did not get to the brokers."""
        return ConfigurationError(
            f"must take what it is given ({text_of(error)})",
            parameter=PARAMETER,
            value=self.address.shown,
            hint="see to the brokers and to what may be written; a run with a checkpoint goes on with --restore",
        )

    def flush(self) -> None:
        """Wait until all of it is with the brokers."""
        until = monotonic() + self.patience + 5.0
        try:
            while self.producer.flush(1.0) and monotonic() < until:
                self.check()
        except (library().KafkaException, SystemError) as error:  # what is fatal
            raise self.undelivered(self.failed or error) from error
        if len(self.producer):
            raise self.undelivered(self.faults.reason or self.faults.away or "no broker took it in time")
        self.check()

    def save(self, number: int) -> Saved:
        self.flush()
        return Saved()

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self.flush()

    def abort(self) -> None:
        if self.is_open:
            self.is_open = False
            self.producer.flush(5.0)

    def left(self) -> str | None:
        return f"{self.address.text} holds what was given up to there."
