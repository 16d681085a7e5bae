"""The streams that the tests of joins ask about: links of a network, with timestamps and with integers."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.errors import WindrowError
from windrow.language import parse
from windrow.plan.nodes import Join, Node, Stream, inputs_of
from windrow.semantics.scalars.expressions import Call, Column

_LINK: dict[str, pa.DataType] = {
    "srcIP": pa.string(),
    "destIP": pa.string(),
    "srcPort": pa.int64(),
    "destPort": pa.int64(),
    "ts": pa.timestamp("us", tz="UTC"),
}
_FLOW: dict[str, pa.DataType] = {"k": pa.int64(), "x": pa.float64(), "ts": pa.int64()}
NAMES = ("M1", "M2", "A", "B", "C", "D")
LINKS = {name: Stream(name, pa.schema(_LINK), "ts") for name in NAMES}
LEFT_FLOW, RIGHT_FLOW = (Stream(name, pa.schema(_FLOW), "ts") for name in ("l", "r"))
_USERS: dict[str, pa.DataType] = {"id": pa.int64(), "name": pa.string(), "seen": pa.int64()}
USERS = Stream("users", pa.schema(_USERS), "seen")
STREAMS = {**LINKS, "l": LEFT_FLOW, "r": RIGHT_FLOW, "users": USERS}


def plan(text: str) -> Node:
    """The plan of the one query in a text."""
    (node,) = parse(text, STREAMS).queries
    return node


def the_join(text: str) -> Join:
    """The topmost join of a query."""
    node = plan(text)
    while not isinstance(node, Join):
        (node,) = inputs_of(node)
    return node


def equal(one: str, other: str) -> Call:
    return Call("=", (Column(one), Column(other)))


def complaint(text: str) -> tuple[str, str]:
    """The message about a text, without the picture, and the part of the text the caret is under."""
    with pytest.raises(WindrowError) as caught:
        parse(text, STREAMS)
    where = caught.value.position
    assert where is not None
    return str(caught.value).removesuffix("\n" + where.render()), where.text[where.start : where.end]
