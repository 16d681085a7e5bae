"""The streams the language tests ask about, and short ways to ask."""

from __future__ import annotations

from typing import TypeVar

import pyarrow as pa
import pytest

from windrow.errors import WindrowError
from windrow.language import ParsedScript, parse
from windrow.plan.nodes import Node, Stream, WindowAggregate, walk
from windrow.semantics.progress.policies import Ordered, Slack
from windrow.semantics.scalars.amounts import Amount

SECOND = 1_000_000
MINUTE = 60 * SECOND

_TRADES: dict[str, pa.DataType] = {
    "symbol": pa.string(),
    "price": pa.int64(),
    "volume": pa.int64(),
    "bid-price": pa.float64(),
    "time": pa.timestamp("us", tz="UTC"),
}
_PACKETS: dict[str, pa.DataType] = {
    "srcIP": pa.string(),
    "destIP": pa.string(),
    "len": pa.int64(),
    "ts": pa.int64(),
}
TRADES = Stream("trades", pa.schema(_TRADES), "time", Slack(Amount.of("60 s")))
PACKETS = Stream("packets", pa.schema(_PACKETS), "ts", Ordered())
CONTROL = Stream("control", pa.schema(_PACKETS), "ts", Ordered())
STREAMS = {stream.name: stream for stream in (TRADES, PACKETS, CONTROL)}

_Kind = TypeVar("_Kind")


def names_read(script: ParsedScript) -> tuple[str, ...]:
    """The streams that the queries read, each once, in order of use."""
    used = (node.name for query in script.queries for node in walk(query) if isinstance(node, Stream))
    return tuple(dict.fromkeys(used))


def plan(text: str) -> Node:
    """The plan of the one query in a text."""
    (node,) = parse(text, STREAMS).queries
    return node


def the(kind: type[_Kind], node: object) -> _Kind:
    """The node, known to be of a kind."""
    assert isinstance(node, kind)
    return node


def aggregate(text: str) -> WindowAggregate:
    """The aggregation in a query, below HAVING and the select list."""
    node: object = plan(text)
    while not isinstance(node, WindowAggregate):
        node = node.input  # type: ignore[attr-defined]
    return node


def complaint(text: str, kind: type[WindrowError] = WindrowError) -> tuple[str, str]:
    """The message about a text, without the picture, and the part of the text the caret is under."""
    with pytest.raises(kind) as caught:
        parse(text, STREAMS)
    where = caught.value.position
    assert where is not None
    return str(caught.value).removesuffix("\n" + where.render()), where.text[where.start : where.end]
