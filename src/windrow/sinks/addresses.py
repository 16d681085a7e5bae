"""Addresses that results are written to in process, such as `tcp://host:9000`; a sink with one is a line in `SINKS`."""

from __future__ import annotations

from importlib import import_module

import pyarrow as pa

from windrow.sinks.base import Sink
from windrow.sources.addresses import scheme_of

SINKS: dict[str, str] = {
    **dict.fromkeys(("parquet", "json", "csv"), "windrow.sinks.rolling:open_rolling"),
    "kafka": "windrow.sinks.kafka.sink:open_kafka",
    "tcp": "windrow.sinks.lines:open_tcp",
    "udp": "windrow.sinks.datagrams.sink:open_udp",
}
"""Who opens the addresses of a scheme: `module:function`, which receives the address and the columns of the answer."""


def open_address(address: str, schema: pa.Schema) -> Sink | None:
    """The sink at an address; None where nobody in process writes to such a one."""
    opener = SINKS.get(scheme_of(address) or "")
    if opener is None:
        return None
    module, _, function = opener.partition(":")
    sink: Sink = getattr(import_module(module), function)(address, schema)
    return sink
