"""Offsets: where reading begins, where it ends if it does, and what is there no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from windrow.errors import SourceError, WindrowError
from windrow.sources.kafka.address import EARLIEST, LATEST, KafkaAddress
from windrow.sources.kafka.client import ANSWER_SECONDS, library, text_of


@dataclass(frozen=True)
class Extent:
    """What a topic holds: by partition, the offset of its first message and the one behind its last."""

    low: Mapping[int, int]
    high: Mapping[int, int]

    @property
    def filled(self) -> list[int]:
        """The partitions that have messages."""
        return [partition for partition, low in self.low.items() if self.high[partition] > low]


def extent_of(consumer: Any, address: KafkaAddress, partitions: Iterable[int], name: str) -> Extent:
    """As the brokers tell it now."""
    package = library()
    low, high = dict[int, int](), dict[int, int]()
    try:
        for partition in partitions:
            asked = package.TopicPartition(address.topic, partition)
            low[partition], high[partition] = consumer.get_watermark_offsets(asked, timeout=ANSWER_SECONDS)
    except package.KafkaException as error:
        raise _untold(address, name, error) from error
    return Extent(low, high)


def _untold(address: KafkaAddress, name: str, error: Exception) -> SourceError:
    return SourceError(
        f"must tell what it holds ({text_of(error)})", parameter=name, value=address.shown, hint="see to its brokers"
    )


def asking(address: KafkaAddress) -> Any:
    """A client that asks `committed_extent`."""
    settings = {"bootstrap.servers": address.servers, "log_level": 0, **_connecting(address)}
    return import_module("confluent_kafka.admin").AdminClient(settings)


def committed_extent(client: Any, address: KafkaAddress, partitions: Iterable[int], name: str) -> Extent:
    """The same, where a message counts once its transaction is committed and all before it are."""
    package, admin = library(), import_module("confluent_kafka.admin")
    asked = [package.TopicPartition(address.topic, partition) for partition in partitions]
    level = package.IsolationLevel
    is_committed = address.settings.get("isolation.level", "read_committed") == "read_committed"
    levels = level.READ_COMMITTED if is_committed else level.READ_UNCOMMITTED
    found: list[dict[int, int]] = []
    try:
        for spec in (admin.OffsetSpec.earliest(), admin.OffsetSpec.latest()):
            wanted = dict.fromkeys(asked, spec)
            answers = client.list_offsets(wanted, isolation_level=levels, request_timeout=ANSWER_SECONDS)
            found.append({one.partition: answer.result(ANSWER_SECONDS).offset for one, answer in answers.items()})
    except (package.KafkaException, TimeoutError) as error:
        raise _untold(address, name, error) from error
    return Extent(*found)


def _connecting(address: KafkaAddress) -> dict[str, str]:
    """Settings of the connection alone."""
    kept = ("security.", "sasl.", "ssl.", "enable.ssl", "client.", "socket.", "broker.")
    return {name: value for name, value in address.settings.items() if name.startswith(kept)}


def first_offsets(consumer: Any, address: KafkaAddress, extent: Extent, name: str) -> dict[int, int]:
    """Where a first run begins."""
    start = address.start
    if start == EARLIEST:
        return dict(extent.low)
    if start == LATEST:
        return dict(extent.high)
    if isinstance(start, dict):
        return {partition: _spelled(start.get(partition, -2), partition, extent) for partition in extent.low}
    package = library()
    wanted = [package.TopicPartition(address.topic, partition, int(start) // 1000) for partition in extent.low]
    try:
        found = consumer.offsets_for_times(wanted, timeout=ANSWER_SECONDS)
    except package.KafkaException as error:
        raise SourceError(
            f"must tell where a time begins ({text_of(error)})", parameter=name, value=address.shown
        ) from error
    return {one.partition: one.offset if one.offset >= 0 else extent.high[one.partition] for one in found}


def _spelled(offset: int, partition: int, extent: Extent) -> int:
    return {-2: extent.low[partition], -1: extent.high[partition]}.get(offset, offset)


def check_offsets(address: KafkaAddress, name: str, offsets: Mapping[int, int], extent: Extent) -> None:
    """Refuse a topic that is not the one that was read before: it has fewer partitions, or less in one of them."""
    for partition, offset in offsets.items():
        if offset > extent.high.get(partition, 0):
            there = f"ends at {extent.high[partition]}" if partition in extent.high else "is not there"
            raise SourceError(
                "must be the topic that was read before, with all that came since",
                parameter=name,
                value=f"partition {partition} of {address.shown}, which {there}; the run goes on at {offset}",
                hint="a topic that was made anew needs a run in a new folder, without --restore",
            )


def expired(address: KafkaAddress, name: str, lost: Mapping[int, tuple[int, int]]) -> WindrowError:
    """The error for messages that are gone: by partition, the first of them and the one behind the last."""
    listed = "; ".join(f"partition {p}: offsets {first} to {last - 1}" for p, (first, last) in sorted(lost.items()))
    return SourceError(
        "must still have the messages that come next; they expired before they were read",
        parameter=name,
        value=f"{address.shown} ({listed})",
        hint="add expired=earliest to the address to count them as rejected and go on behind them; raise the "
        "topic's retention.ms",
    )


def ended_before(name: str, address: KafkaAddress, offsets: Mapping[int, int], extent: Extent) -> SourceError | None:
    """The error for a run that came to its end, where there is more now; its windows are closed."""
    more = sum(max(0, high - offsets.get(partition, 0)) for partition, high in extent.high.items())
    if not more:
        return None
    return SourceError(
        "must hold what it held when the run came to its end",
        parameter=name,
        value=f"{more} messages more in {address.shown}",
        hint="no window is open any more for them: run the query from the start in an empty folder, or follow the "
        "topic, which never ends",
    )
