"""The ports of every circuit: streams with valid and ready, punctuations in band, results, counters."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from windrow.hardware.circuits.configuration import write_of
from windrow.hardware.design import COUNTERS, AggregateDesign, JoinDesign

COUNTER_BITS = 32


def element_of(design: AggregateDesign) -> data.StructLayout:
    """A row, or with `punctuation` the promise that no later row is below `time`; with `last` too, that none comes."""
    return data.StructLayout(
        {"punctuation": 1, "last": 1, "time": design.time_width, "data": max(design.layout.bits, 1)}
    )


def result_of(design: AggregateDesign) -> data.StructLayout:
    """A window of a query and a group: `end`, the fields of its key, the fields of its parts.

    `nonempty` is not there in the papers: without it a window without rows looks like one of zeros. Narrower keys and
    results of one of several queries lie in the lowest bits. `done` says that the stream has ended and nothing follows.
    """
    return data.StructLayout(
        {
            "done": 1,
            "nonempty": 1,
            "query": Shape.cast(range(len(design.queries))).width or 1,
            "end": design.time_width,
            "key": max(1, *(layout.bits for layout in design.key_layouts)),
            "parts": max(query.results.bits for query in design.queries),
        }
    )


class AggregatePorts(wiring.Signature):
    """`input` takes rows and punctuations, `output` gives results; and what was counted so far.

    A circuit that is configurable has `configure` too: writes to the registers of `configuration.registers_of`.
    """

    def __init__(self, design: AggregateDesign) -> None:
        members: dict[str, Any] = {
            "input": In(stream.Signature(element_of(design))),
            "output": Out(stream.Signature(result_of(design))),
            **{name: Out(COUNTER_BITS) for name in COUNTERS},
        }
        if design.configurable:
            members |= {"configure": In(stream.Signature(write_of(design)))}
        super().__init__(members)


class JoinPorts(wiring.Signature):
    """One stream of rows in, of which `right` says the side, in order of arrival; pairs out; results that were lost.

    `last` comes with a row that is none: when everything before it has met, a pair with `done` follows.
    """

    def __init__(self, design: JoinDesign) -> None:
        widest = max(design.left.bits, design.right.bits, 1)
        row = data.StructLayout({"last": 1, "right": 1, "data": widest})
        pair = data.StructLayout({"done": 1, "left": max(design.left.bits, 1), "right": max(design.right.bits, 1)})
        super().__init__(
            {
                "input": In(stream.Signature(row)),
                "output": Out(stream.Signature(pair)),
                "lost": Out(COUNTER_BITS),
            }
        )
