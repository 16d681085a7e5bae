"""The client, confluent-kafka: loaded when a topic is read or written in process, its faults in plain words."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from importlib import import_module
from time import monotonic
from typing import Any

from windrow.errors import ConfigurationError, SourceError, WindrowError
from windrow.sources.kafka.address import KafkaAddress

ANSWER_SECONDS = 8.0
"""How long a broker may take to answer before a run begins."""
_OURS = ("enable.auto.commit", "enable.auto.offset.store", "auto.offset.reset", "enable.partition.eof")
"""Settings on which being exactly once rests."""


def library() -> Any:
    """The package."""
    try:
        return import_module("confluent_kafka")
    except ImportError:
        raise ConfigurationError(
            "needs the package confluent-kafka in process",
            parameter="kafka",
            hint="pip install 'windrow[kafka]'; Spark needs its connector instead: say --engine spark",
        ) from None


def settings_of(address: KafkaAddress, parameter: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Of a client: ours, then the user's."""
    for name in _OURS:
        if name in address.settings:
            raise ConfigurationError(
                "is not to be set, because checkpoints say what was read",
                parameter=f"{parameter}.{name}",
                value=address.settings[name],
                hint="leave it out",
            )
    common = {
        "bootstrap.servers": address.servers,
        "client.id": "windrow",
        "log_level": 0,  # its faults are told by us
        "logger": logging.getLogger("windrow.librdkafka"),
        "reconnect.backoff.max.ms": 2000,
        "socket.keepalive.enable": True,
        "topic.metadata.refresh.interval.ms": 10_000,
    }
    return {**common, **defaults, **address.settings}


def made(kind: str, settings: Mapping[str, Any], parameter: str, value: str) -> Any:
    """A consumer or a producer; a setting that the client does not take is refused."""
    package = library()
    try:
        return getattr(package, kind)(dict(settings))
    except (package.KafkaException, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"has a setting that the client does not take ({text_of(error)})",
            parameter=parameter,
            value=value,
            hint="names and values are those of librdkafka: its CONFIGURATION.md has them all",
        ) from error


def text_of(error: Any) -> str:
    """What the client says, without what stands around it."""
    inner = error.args[0] if getattr(error, "args", None) else error
    text = inner.str() if hasattr(inner, "str") else str(inner)
    return str(text).strip().rstrip(".").removeprefix("Local: ").removeprefix("Broker: ")


class Faults:
    """What a client reported of its connections, since it was last asked."""

    def __init__(self) -> None:
        self.refused: Any = None
        """The last refusal of who we are."""
        self.away: Any = None
        """The last report that no broker answers."""
        self.reason: Any = None
        """The last fault of one of them."""
        self.fatal: Any = None

    def note(self, error: Any) -> None:
        """The callback of the client."""
        codes = library().KafkaError
        if error.fatal():
            self.fatal = error
        elif error.code() in (codes._AUTHENTICATION, codes.SASL_AUTHENTICATION_FAILED):
            self.refused = error
        elif error.code() == codes._ALL_BROKERS_DOWN:
            self.away = error
        else:
            self.reason = error


Family = Callable[..., WindrowError]


def refused(address: KafkaAddress, parameter: str, error: Any, family: Family = SourceError) -> WindrowError:
    """The error where the brokers do not let us in."""
    return family(
        f"must let us in ({text_of(error)})",
        parameter=parameter,
        value=address.shown,
        hint="see to security.protocol, sasl.mechanism, sasl.username and sasl.password of the address",
    )


def silent(address: KafkaAddress, parameter: str, error: Any, family: Family = SourceError) -> WindrowError:
    """The error where no broker answers as a run begins."""
    said = f" ({text_of(error)})" if error is not None else ""
    return family(
        f"must have a broker that answers{said}",
        parameter=parameter,
        value=address.shown,
        hint="see to its address and that it runs; a broker that wants TLS or a password needs security.protocol=...",
    )


def partitions_of(
    client: Any, address: KafkaAddress, parameter: str, faults: Faults, family: Family = SourceError
) -> list[int]:
    """The partitions of the topic, asked of a broker that must answer; a topic there is not is refused."""
    codes = library().KafkaError
    found = _asked(client, address, parameter, faults, family)
    if found.error is not None and found.error.code() == codes.TOPIC_AUTHORIZATION_FAILED:
        raise refused(address, parameter, found.error, family)
    if found.error is not None or not found.partitions:
        raise _unknown(client, address, parameter, family)
    return sorted(found.partitions)


def _asked(client: Any, address: KafkaAddress, parameter: str, faults: Faults, family: Family) -> Any:
    """What the brokers know of the topic; whoever is refused need not wait for others."""
    until = monotonic() + ANSWER_SECONDS
    while True:
        try:
            return client.list_topics(address.topic, timeout=1.0).topics[address.topic]
        except library().KafkaException as error:
            client.poll(0)  # at which what was reported meanwhile comes
            if faults.refused is not None:
                raise refused(address, parameter, faults.refused, family) from error
            if monotonic() > until:
                raise silent(address, parameter, faults.reason or error, family) from error


def _unknown(client: Any, address: KafkaAddress, parameter: str, family: Family) -> WindrowError:
    try:
        topics = [name for name in client.list_topics(timeout=ANSWER_SECONDS).topics if not name.startswith("__")]
    except library().KafkaException:
        topics = []
    return family(
        f"must be a topic there is; {address.servers} has no {address.topic!r}",
        parameter=parameter,
        value=address.shown,
        allowed=tuple(sorted(topics)[:20]),
        hint="create the topic, or correct its name",
    )
