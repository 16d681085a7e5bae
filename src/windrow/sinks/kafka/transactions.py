"""Rows to a topic exactly once: those of a checkpoint in one transaction, once the checkpoint is whole.

Until then they lie in the checkpoint. The transaction has a mark in it, the number of the checkpoint, as an offset that
a group of consumers of our own commits: either all of its messages and the mark are there, or none of them. Who goes
on after a crash reads the mark, and so knows whether the rows of the last checkpoint were given.

The name under which this is done is made up by the first run and lies in its checkpoints. Whoever goes on with them
takes the name over, and from then on the brokers refuse all that a run before it still tries to send.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from logging import WARNING
from threading import Thread
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import pyarrow as pa

from windrow.errors import ConfigurationError
from windrow.events import tell
from windrow.sinks.base import Saved
from windrow.sinks.kafka.sink import PARAMETER, KafkaSink
from windrow.sources.base import Delivery
from windrow.sources.kafka.client import library, made, partitions_of, refused, settings_of, text_of

_TRY = 5.0
"""Seconds for one request; what fails for a while is asked again until patience ends."""
NAME = "transactional.id"


class TransactionalSink(KafkaSink):
    """Gives the rows of each checkpoint in one transaction. Readers need `isolation.level=read_committed`."""

    delivery = Delivery.EXACTLY_ONCE
    holds_back = True

    def _begin(self) -> None:
        prefix = self.address.settings.get(NAME, "windrow")
        self.name = f"{prefix}-{uuid4().hex}"
        self.settled: int | None = None
        """The last checkpoint whose rows were given."""
        self.held: list[pa.RecordBatch] = []
        """Rows that no checkpoint has yet."""
        self.saved: dict[int, list[pa.RecordBatch]] = {}
        """Rows of checkpoints that are not whole yet."""
        self.marking = self._marking()
        partitions_of(self.marking, self.address, PARAMETER, self.faults, ConfigurationError)

    def settings(self) -> dict[str, Any]:
        limit = min(900_000, max(10_000, int(self.patience * 1000)))  # brokers allow no more unless told so
        return {**super().settings(), "message.timeout.ms": limit, "transaction.timeout.ms": limit, NAME: self.name}

    def _marking(self) -> Any:
        """The consumer that is our group; it never reads a message."""
        producer_only = {name: value for name, value in self.address.settings.items() if name != NAME}
        plain = type(self.address)(self.address.text, self.address.servers, self.address.topic, {}, producer_only)
        defaults = {"error_cb": self.faults.note, "enable.auto.commit": False, "isolation.level": "read_committed"}
        settings = {**settings_of(plain, PARAMETER, defaults), "group.id": self.name}
        return made("Consumer", settings, PARAMETER, self.address.shown)

    def write(self, batch: pa.RecordBatch) -> None:
        self.held.append(batch)

    def save(self, number: int) -> Saved:
        self.saved[number], self.held = self.held, []
        return Saved({"name": self.name, "settled": self.settled}, self.saved[number])

    def settle(self, number: int) -> None:
        """Give the rows of all checkpoints up to this one."""
        numbers = sorted(one for one in self.saved if one <= number)
        self.give([batch for one in numbers for batch in self.saved.pop(one)], number)

    def go_on(self, number: int, saved: Saved) -> None:
        """Go on in place of the run before, and give what it had not given."""
        mark = self.take(saved.place["name"])
        if mark is None and saved.place["settled"] is not None:
            raise ConfigurationError(
                "must still have the mark of the last transaction, which says what was given; the brokers forgot it "
                "(offsets.retention.minutes)",
                parameter=PARAMETER,
                value=self.address.shown,
                hint="look which results of the last checkpoint are in the topic, and begin anew in an empty folder",
            )
        self.settled = mark
        if mark is None or mark < number:
            self.give(saved.pending, number)

    def take(self, name: str) -> int | None:
        """Go on under the name of the run before, so that it can send nothing more; the mark of what was given."""
        self.name = name
        self.marking.close()
        self.marking = self._marking()
        self._producing()
        return self._mark()

    def close(self) -> None:
        """Rows behind the last checkpoint, or all where there is none, are given in a last transaction."""
        if self.is_open:
            if self.held or self.saved:
                rest = [batch for _, batches in sorted(self.saved.items()) for batch in batches]
                self.give([*rest, *self.held], (self.settled or 0) + 1)
            self.held, self.saved = [], {}
            self.is_open = False
            self.marking.close()

    def abort(self) -> None:
        """Rows of no checkpoint are made anew by a run that goes on."""
        if self.is_open:
            self.is_open = False
            self.marking.close()

    def check(self) -> None:
        """What was not delivered makes the transaction fail as a whole."""

    def _producing(self) -> Any:
        """The producer, under our name: from now on no other sends under it."""
        if self.producer is None:
            self.producer = made("Producer", self.settings(), PARAMETER, self.address.shown)
            self._patiently(lambda: self.producer.init_transactions(_TRY))
        return self.producer

    def _mark(self) -> int | None:
        asked = [library().TopicPartition(self.address.topic, 0)]
        found: list[Any] = []
        self._patiently(lambda: found.extend(self.marking.committed(asked, timeout=_TRY)))
        return None if found[0].offset < 0 else int(found[0].offset)

    def give(self, batches: Sequence[pa.RecordBatch], number: int) -> None:
        """Rows and the mark, in one transaction, made again where brokers gave it up; without rows there is none."""
        package, until = library(), monotonic() + self.patience
        rows = [batch for batch in batches if batch.num_rows]
        while rows:
            try:
                self._transact(self._producing(), rows, number)
                break
            except _Hangs as error:
                if monotonic() > until:
                    raise self.undelivered(error) from error
                _abandoned.append(self.producer)  # which may never come back, and must not be waited for
                self.producer = None
            except package.KafkaException as error:
                fault = error.args[0]
                if fault.fatal() or self.faults.fatal is not None or monotonic() > until:
                    raise self._lost(error) from error
                told = f"{self.address.text}: a transaction is made again ({text_of(error)})"
                tell("output.transaction_again", told, level=WARNING, checkpoint=number)
                self._patiently(lambda: self.producer.abort_transaction(_TRY))
        if rows:
            self.settled = number

    def _transact(self, producer: Any, batches: Sequence[pa.RecordBatch], number: int) -> None:
        mark = [library().TopicPartition(self.address.topic, 0, number)]
        until = monotonic() + self.patience
        producer.begin_transaction()
        for batch in batches:
            self.send(batch)
        # So that the coordinator is known to be there: behind a broker that started again the client may else not come
        # back from what follows, whatever time it was given; where it does not all the same, another one is taken.
        try:
            while producer.flush(1.0) and monotonic() < until:
                pass
        except SystemError:  # where something is fatal while it has deliveries to report, the client loses its words
            producer.commit_transaction(_TRY)  # which raises it
            raise
        group = self.marking.consumer_group_metadata()
        self._asked_again(lambda: _in_time(lambda: producer.send_offsets_to_transaction(mark, group, _TRY)))
        self._asked_again(lambda: _in_time(lambda: producer.commit_transaction(_TRY)))

    def _patiently(self, ask: Callable[[], object]) -> None:
        """The same as `_asked_again`, whose failure is the end."""
        try:
            self._asked_again(ask)
        except library().KafkaException as error:
            raise self._lost(error) from error

    def _asked_again(self, ask: Callable[[], object]) -> None:
        """Ask again while what fails may be over soon."""
        package, until = library(), monotonic() + self.patience
        while True:
            try:
                ask()
                return
            except package.KafkaException as error:
                fault, codes = error.args[0], package.KafkaError
                of_the_moment = (codes._TRANSPORT, codes._ALL_BROKERS_DOWN, codes._TIMED_OUT)
                passing = fault.retriable() or fault.code() in of_the_moment
                is_over = self.faults.refused is not None or monotonic() > until
                if is_over or fault.fatal() or fault.txn_requires_abort() or not passing:
                    raise
                sleep(0.2)

    def _lost(self, error: Any) -> Exception:
        if self.producer is not None:
            with suppress(library().KafkaException, SystemError):
                self.producer.poll(0)  # at which it says what was fatal, if anything was
        codes, code = library().KafkaError, (self.faults.fatal or error.args[0]).code()
        if self.faults.refused is not None:
            return refused(self.address, PARAMETER, self.faults.refused, ConfigurationError)
        if code in (codes._FENCED, codes.PRODUCER_FENCED, codes.INVALID_PRODUCER_EPOCH):
            return ConfigurationError(
                f"is written by another run of this query, which went on from the same checkpoint ({text_of(error)})",
                parameter=PARAMETER,
                value=self.address.shown,
                hint="run each query once; give a copy of it a checkpoint folder of its own",
            )
        return self.undelivered(error)


class _Hangs(Exception):
    """The client did not come back in the time that it was given."""


_abandoned: list[Any] = []


def _in_time(ask: Callable[[], object]) -> None:
    """Ask in a thread of its own, and no longer than twice the time that the client has for it."""
    raised: list[BaseException] = []

    def work() -> None:
        try:
            ask()
        except BaseException as error:
            raised.append(error)

    thread = Thread(target=work, daemon=True, name="windrow-transaction")
    thread.start()
    thread.join(2 * _TRY)
    if thread.is_alive():
        raise _Hangs("the client does not come back")
    if raised:
        raise raised[0]
