"""Addresses, such as `kafka://host:9092/trades`: what one looks like, and who reads which of them.

A source with a scheme of its own is a line in `SCHEMES`. What is not there is refused before anything is started.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa

from windrow.errors import ConfigurationError

if TYPE_CHECKING:
    from windrow.sources.base import Source

FILES = ("parquet", "json", "csv", "delta")
NAMED = ("table", "memory")
BARE = ("console", "rate")
STORES = ("file", "s3", "s3a", "s3n", "gs", "hdfs", "viewfs", "abfs", "abfss", "wasb", "wasbs", "dbfs", "oss")
"""Schemes of file systems: what follows is a path like any other."""

SPARK = "spark"
"""In place of an opener: only that engine reads it."""
SCHEMES: dict[str, str] = {
    **dict.fromkeys((*NAMED, *BARE, *FILES, *STORES), SPARK),
    "follow": "windrow.sources.live.follow:open_follow",
    "kafka": "windrow.sources.kafka.source:open_kafka",
    "tcp": "windrow.sources.live.tcp:open_tcp",
    "udp": "windrow.sources.datagrams.source:open_udp",
}
"""Who opens the addresses of a scheme: `module:function`, which receives the address, the stream's `name` and the
declared `schema` (or None); or `SPARK`."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(.*)", re.S)  # two letters at least: C:\ is a drive


def parts_of(text: str) -> tuple[str, str] | None:
    """The scheme of an address in small letters, and what follows; None for a path.

    >>> parts_of("Kafka://host:9092/trades"), parts_of("trades.csv"), parts_of(r"C:/trades.csv")
    (('kafka', '//host:9092/trades'), None, None)
    """
    found = _ADDRESS.fullmatch(text)
    return None if found is None else (found[1].lower(), found[2])


def scheme_of(text: str) -> str | None:
    """The scheme of an address; None for a path."""
    parts = parts_of(text)
    return None if parts is None else parts[0]


def options_of(address: str) -> tuple[str, dict[str, str]]:
    """An address without its options, and these: `name=value` behind a question mark, with `&` between them.

    >>> options_of("udp://127.0.0.1:9000?frames=json&buffer=64%20MB")
    ('udp://127.0.0.1:9000', {'frames': 'json', 'buffer': '64 MB'})
    """
    plain, _, options = address.partition("?")
    return plain, dict(parse_qsl(options, keep_blank_values=True, separator="&"))


_SECRET = re.compile(r"((?:^|[?&])[^=&?]*(?:password|secret|jaas|\.key)[^=&?]*=)(?!env:)[^&]*", re.IGNORECASE)


def without_secrets(address: str) -> str:
    """An address as it may be shown.

    >>> without_secrets("kafka://h/t?sasl.password=x&start=latest")
    'kafka://h/t?sasl.password=...&start=latest'
    """
    return _SECRET.sub(r"\1...", address)


def known_options(address: str, options: Mapping[str, str], known: Iterable[str], parameter: str) -> None:
    """Refuse an option that whoever opens the address does not have: it would change nothing."""
    for name in options:
        if name not in frozenset(known):
            raise ConfigurationError(
                f"has no option {name!r}",
                parameter=parameter,
                value=address,
                allowed=tuple(known),
                hint="correct the name, or leave it out",
            )


def host_and_port(address: str, parameter: str, *, path: bool = False) -> tuple[str, int]:
    """Of `tcp://host:port`; hosts of IPv6 are in brackets.

    >>> host_and_port("udp://[::1]:9000", "output")
    ('::1', 9000)
    """
    try:
        found = urlsplit(address)
        host, port = found.hostname, found.port
    except ValueError:
        host = port = None
    if not host or port is None or (found.path and not path):
        raise ConfigurationError(
            "must name a host and a port",
            parameter=parameter,
            value=address,
            hint=f"write {scheme_of(address)}://127.0.0.1:9000",
        )
    return host, port


def own_path(text: str | Path) -> Path:
    """A path of this machine as it is meant, the `~` of a user who is known as their folder."""
    return Path(os.path.expanduser(text))  # noqa: PTH111  # that of Path fails where nobody is called so


def refuse_address(target: str | Path, parameter: str, hint: str) -> None:
    """Refuse what only Spark can write to, or nobody: as a path it would be a folder here that nobody looks for."""
    if isinstance(target, str) and scheme_of(target):
        raise ConfigurationError("must be a path on this machine", parameter=parameter, value=target, hint=hint)


def is_pipe(data: object) -> bool:
    """Whether data is standard input, or a pipe that has a name."""
    if not isinstance(data, (str, Path)) or not str(data) or "\0" in str(data):
        return False
    path, _ = options_of(str(data))
    return path == "-" or (not scheme_of(path) and own_path(path).is_fifo())


def opener_of(address: str, name: str) -> str:
    """Who opens an address; `name` is the stream's, for the message that refuses a scheme that nobody knows."""
    scheme = scheme_of(address)
    if scheme not in SCHEMES:
        raise ConfigurationError(
            "must be a path, or an address with a scheme that is known",
            parameter=name,
            value=address,
            allowed=tuple(sorted(SCHEMES)),
            hint="give a file, a folder or a glob pattern; in front of a name with a colon, write ./",
        )
    return SCHEMES[scheme]


def open_address(address: str, *, name: str, schema: pa.Schema | None) -> Source:
    """The source at an address that is read in process; one that only Spark reads is refused."""
    opener = opener_of(address, name)
    if opener == SPARK:
        raise ConfigurationError(
            "must be a path on this machine in process",
            parameter=name,
            value=address,
            hint="Spark reads it: say --engine spark",
        )
    module, _, function = opener.partition(":")
    source: Source = getattr(import_module(module), function)(address, name=name, schema=schema)
    return source
