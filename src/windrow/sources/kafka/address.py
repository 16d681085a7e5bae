"""What `kafka://host:9092,host2:9092/topic?start=earliest&value=json` says, for reading and for writing.

Names with a dot are settings of the client, passed on: `security.protocol`, `sasl.*`, `ssl.*`; a `kafka.` before them,
which is how Spark spells them, is left out. A value `env:NAME` is what the environment has there, so that no secret
need stand in a query. Spark's own names for where to begin are understood, too.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from windrow.errors import ConfigurationError, DataError
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.semantics.scalars.moments import microseconds, parse_moment
from windrow.sources.addresses import known_options, options_of, without_secrets

EARLIEST, LATEST = "earliest", "latest"
READING = ("start", "until", "value", "format", "schema", "registry", "expired", "patience")
"""Options of an address that is read."""
WRITING = ("key", "value", "delivery", "schema", "patience")
"""Options of an address that is written to."""
SPARK_READING = (
    *("startingOffsets", "startingTimestamp", "endingOffsets", "failOnDataLoss"),
    *("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "minPartitions", "maxRecordsPerPartition"),
    *("groupIdPrefix", "includeHeaders", "kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries"),
    *("fetchOffset.retryIntervalMs",),
)
"""Options of Spark's reader; what they say of the start and the end is heeded in process, too."""
PATIENCE = 600.0
"""Seconds without a broker after which one gives up, unless the address says otherwise."""
_ADDRESS = re.compile(r"kafka://([^/?\s]+)/([A-Za-z0-9._-]+)", re.IGNORECASE)


@dataclass(frozen=True)
class KafkaAddress:
    """Servers, one topic, and what else an address says."""

    text: str
    """Without options."""
    servers: str
    topic: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of Windrow's own, and of Spark's."""
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of the client, as librdkafka spells them."""

    @property
    def shown(self) -> str:
        """For messages: no secret is in it."""
        options = "&".join(f"{name}={value}" for name, value in {**self.options, **self.settings}.items())
        return without_secrets(f"{self.text}?{options}") if options else self.text

    @property
    def start(self) -> str | int | dict[int, int]:
        """Where a first run begins: at the earliest message unless told otherwise, at the latest, at a time in
        microseconds, or at an offset by partition (-2 and -1 are the earliest and the latest).
        """
        if "start" in self.options:
            return _moment_or_end(self.options["start"], "start")
        if "startingTimestamp" in self.options:
            return _number(self.options["startingTimestamp"], "startingTimestamp") * 1000
        spelled = self.options.get("startingOffsets", EARLIEST)
        return spelled if spelled in (EARLIEST, LATEST) else _offsets(spelled, self.topic)

    @property
    def ends(self) -> bool:
        """Whether only what is there when reading begins is read."""
        until = self.options.get("until") or self.options.get("endingOffsets")
        if until in (None, "never"):
            return False
        if until in ("now", LATEST):
            return True
        raise ConfigurationError("must be known", parameter="until", value=until, allowed=("now", "never"))

    @property
    def goes_on_without_expired(self) -> bool:
        """Whether messages that are gone before they were read are counted, and no reason to stop."""
        asked = self.options.get("expired")
        if asked not in (None, EARLIEST, "stop"):
            raise ConfigurationError(
                "must be known", parameter="expired", value=asked, allowed=("stop", EARLIEST), hint="leave it out"
            )
        return asked == EARLIEST or (asked is None and self.options.get("failOnDataLoss", "").lower() == "false")

    @property
    def patience(self) -> float:
        """How many seconds to wait for brokers that do not answer."""
        if "patience" not in self.options:
            return PATIENCE
        amount = Amount.of(self.options["patience"], "patience")
        if not amount.is_time or amount.number <= 0:
            raise ConfigurationError(
                "must be a length of time", parameter="patience", value=str(amount), hint="write it like 10 minutes"
            )
        return amount.resolve(Domain.TIME, "patience") / 1e6


def read_address(text: str, parameter: str, known: tuple[str, ...]) -> KafkaAddress:
    """What an address says; an option that is not `known` is refused.

    >>> found = read_address("kafka://a:1,b/trades?start=latest&kafka.sasl.mechanism=PLAIN", "trades", READING)
    >>> found.servers, found.topic, found.start, dict(found.settings)
    ('a:1,b:9092', 'trades', 'latest', {'sasl.mechanism': 'PLAIN'})
    """
    plain, given = options_of(text)
    found = _ADDRESS.fullmatch(plain)
    if found is None:
        raise ConfigurationError(
            "must name the servers and one topic",
            parameter=parameter,
            value=plain,
            hint="write kafka://host:9092/topic, with commas between several servers",
        )
    settings = {_plain_name(name): _resolved(name, value) for name, value in given.items() if _is_setting(name)}
    options = {name: value for name, value in given.items() if not _is_setting(name)}
    unknown = {name: value for name, value in options.items() if name not in known}
    known_options(plain, unknown, [name for name in known if name not in SPARK_READING], parameter)
    servers = ",".join(one if _has_port(one) else f"{one}:9092" for one in found[1].split(","))
    return KafkaAddress(plain, servers, found[2], options, _client_settings(settings))


def _has_port(server: str) -> bool:
    return bool(re.search(r":\d+$", server))


def _is_setting(name: str) -> bool:
    return "." in name and name not in SPARK_READING


def _plain_name(name: str) -> str:
    return name.removeprefix("kafka.")


def _resolved(name: str, value: str) -> str:
    """A value, or the one that it names in the environment."""
    if not value.startswith("env:"):
        return value
    found = os.environ.get(value[4:])
    if found is None:
        raise ConfigurationError(
            "must name a variable of the environment", parameter=name, value=value, hint=f"export {value[4:]}=..."
        )
    return found


_JAAS = re.compile(r"""(username|password)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


def _client_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as librdkafka spells them; what the client of Java calls otherwise, and is simple, is translated."""
    found = dict(settings)
    jaas = found.pop("sasl.jaas.config", None)
    if jaas is not None:
        for name, double, single in _JAAS.findall(jaas):
            found.setdefault(f"sasl.{name}", double or single)
    if found.get("ssl.truststore.type", "").upper() == "PEM" and "ssl.truststore.location" in found:
        del found["ssl.truststore.type"]
        found.setdefault("ssl.ca.location", found.pop("ssl.truststore.location"))
    return found


def java_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The same settings as the client of Java spells them.

    >>> java_settings({"sasl.mechanisms": "PLAIN", "sasl.username": "a", "sasl.password": "b"})["sasl.mechanism"]
    'PLAIN'
    """
    found = dict(settings)
    mechanism = found.pop("sasl.mechanisms", None) or found.get("sasl.mechanism")
    if mechanism is not None:
        found["sasl.mechanism"] = mechanism
    user, password = found.pop("sasl.username", None), found.pop("sasl.password", None)
    if user is not None and "sasl.jaas.config" not in found:
        module = "scram.ScramLoginModule" if (mechanism or "").startswith("SCRAM") else "plain.PlainLoginModule"
        secret = (password or "").replace("\\", "\\\\").replace('"', '\\"')
        found["sasl.jaas.config"] = (
            f'org.apache.kafka.common.security.{module} required username="{user}" password="{secret}";'
        )
    if "ssl.ca.location" in found:
        found["ssl.truststore.type"], found["ssl.truststore.location"] = "PEM", found.pop("ssl.ca.location")
    return found


def _moment_or_end(text: str, parameter: str) -> str | int:
    if text in (EARLIEST, LATEST):
        return text
    try:
        return microseconds(parse_moment(text))
    except DataError as error:
        raise ConfigurationError(
            "must be earliest, latest or a time",
            parameter=parameter,
            value=text,
            hint="write a time as 2024-08-09T00:00:00Z; messages from then on are read",
        ) from error


def _number(text: str, parameter: str) -> int:
    if not re.fullmatch(r"-?\d+", text):
        raise ConfigurationError("must be a whole number", parameter=parameter, value=text)
    return int(text)


def _offsets(text: str, topic: str) -> dict[int, int]:
    """Offsets as Spark spells them: `{"trades": {"0": 23, "1": -2}}`."""
    found: Any = None
    try:
        found = json.loads(text)[topic]
        return {int(partition): int(place) for partition, place in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigurationError(
            "must be earliest, latest or offsets by topic and partition",
            parameter="startingOffsets",
            value=text,
            hint=f'write {{"{topic}": {{"0": 23, "1": -2}}}}',
        ) from None
