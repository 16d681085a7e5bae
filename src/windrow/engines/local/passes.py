"""Which queries go through their sources together.

What is late in a union depends on which of its sources is read first, and that on the windows of the query. So queries
over several sources share a pass only where they would read these in the same order alone; queries over one source
share it with any others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from windrow.physical.make import make
from windrow.physical.nodes import Read, each
from windrow.physical.rules.place_rowwise import silence_of
from windrow.plan.nodes import Node, Stream, walk


def passes(plans: Sequence[Node]) -> list[list[int]]:
    """The plans, by their places, that are run together; every one of them once."""
    if len(plans) == 1:
        return [[0]]
    orders: dict[Hashable, list[int]] = {}
    alone = [place for place, plan in enumerate(plans) if len(streams_of(plan)) == 1]
    for place, plan in enumerate(plans):
        if place not in alone:
            orders.setdefault(_order(plan), []).append(place)
    made = list(orders.values()) or [[]]
    for place in alone:
        name = streams_of(plans[place])[0]
        fitting = (one for one in made if any(name in streams_of(plans[other]) for other in one))
        next(fitting, made[0]).append(place)
    return sorted(sorted(one) for one in made)


def reading_order(plans: Sequence[Node]) -> list[str]:
    """The sources of one pass: those of a query that reads several come first, in its order."""
    names = [streams_of(plan) for plan in plans]
    return list(dict.fromkeys(name for one in sorted(names, key=lambda one: len(one) == 1) for name in one))


def streams_of(plan: Node) -> list[str]:
    """The names of the streams of a plan, each once, left to right."""
    return list(dict.fromkeys(node.name for node in walk(plan) if isinstance(node, Stream)))


def shortest_silence(plans: Sequence[Node], name: str) -> float | None:
    """After how many seconds of silence a stream is passed by, where it has an idle time by the clock."""
    streams = (node for plan in plans for node in walk(plan) if isinstance(node, Stream) and node.name == name)
    silences = (silence_of(stream.idle) for stream in streams)
    return min((silence for silence in silences if silence is not None), default=None)


def _order(plan: Node) -> Hashable:
    """All that decides in which order the sources of a plan are read."""
    reads: dict[str, Read] = {}
    for node in each(make([plan])):
        if isinstance(node, Read):
            reads.setdefault(node.asked.name, node)
    return tuple((name, read.first.paced, read.first.rows, read.is_patient) for name, read in reads.items())
