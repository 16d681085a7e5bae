"""Random streams and queries, and a circuit compared with the brute force."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from tests.hardware.reference import Promise, Row, Stream, as_words, expected, results, words
from windrow.hardware.circuits.configuration import write_of, writes_for
from windrow.hardware.design import AggregateDesign, BitLayout, CircuitPart, Field, Function, WindowQuery
from windrow.hardware.packing import Words
from windrow.hardware.simulate.simulation import Simulation
from windrow.hardware.simulate.trace import Ended
from windrow.semantics.scalars.expressions import Call, Column, Literal

X, Y = Column("x"), Column("y")
LAYOUT = BitLayout(
    (Field("x", 9), Field("y", 6, signed=False, nullable=True), Field("k", 2, signed=False, nullable=True))
)
PARTS = (
    CircuitPart(Function.COUNT),
    CircuitPart(Function.COUNT, Y),
    CircuitPart(Function.SUM, Call("*", (X, Y)), 50, signed=True),
    CircuitPart(Function.MIN, Y, 6),
    CircuitPart(Function.MAX, Call("-", (X, Y)), 12, signed=True),
)
"""Every function, with and without values that are NULL."""
NOT_SEVEN = Call("<>", (Y, Literal(7)))


def assert_equal(
    simulation: Simulation,
    design: AggregateDesign,
    stream: Stream,
    queries: tuple[WindowQuery, ...] | None = None,
    **patterns: Any,
) -> None:
    """The circuit, set to `queries` where they are given, gives what the brute force gives, in order of window ends."""
    settings = None if queries is None else configured(design, queries)
    trace = simulation.run(words(design, stream), configure=settings, **patterns)
    truth = expected(design, stream, queries)
    assert Ended.DONE is trace.ended
    wrapped = [[(end % (1 << design.time_width), *rest) for end, *rest in one] for one in truth.results]
    found = results(design, trace.results)
    assert [sorted(map(repr, map(tuple, one))) for one in wrapped] == [sorted(map(repr, one)) for one in found]
    for mine, theirs in zip(truth.results, found, strict=True):
        ends = sorted(end for end, *_ in mine)
        assert [end % (1 << design.time_width) for end in ends] == [end for end, *_ in theirs]
    assert truth.counters == {name: trace.counters[name] for name in truth.counters}


def configured(design: AggregateDesign, queries: tuple[WindowQuery, ...]) -> Words:
    """Writes as the port `configure` takes them."""
    layout = write_of(design)
    address, value = layout["address"].width, layout["value"].width
    numbers = [place | (number & (1 << value) - 1) << address for place, number in writes_for(design, queries)]
    return as_words(numbers, address + value)


def random_values(random: Random, fields: tuple[Field, ...]) -> dict[str, Any]:
    return {one.name: _random_value(random, one) for one in fields}


def _random_value(random: Random, one: Field) -> int | None:
    if one.nullable and random.random() < 0.2:
        return None
    low = -(1 << one.width - 1) if one.signed else 0
    return random.choice([low, low + (1 << one.width) - 1, *(random.randrange(low, low + (1 << one.width)),) * 6])


def random_stream(random: Random, design: AggregateDesign, query: WindowQuery, rows: int = 60) -> Stream:
    """Rows out of order by up to the slack, sometimes by more; promises before they are due, merged, or far ahead."""
    most = (1 << design.time_width) // 5
    pace = random.choice([0.2, 1, 3, 20]) * query.slide
    gaps, strays, skips = random.choice([0, 0.1]), random.choice([0, 0.05]), random.choice([0, 0.5, 0.9])
    at, promised, stream = 0.0, 0, list[Row | Promise]()
    arrivals = []
    for _ in range(rows):
        at += min(most, random.expovariate(1 / pace) * (50 if random.random() < gaps else 1))
        arrivals.append((int(at) + random.uniform(0, query.slack), int(at)))
    for _, time in sorted(arrivals):
        reached = max(promised, time - query.slack)
        if random.random() >= skips or time - promised > query.slack + most or time >= promised + query.slack:
            promised = reached + (random.randrange(3 * query.slide) if random.random() < strays else 0)
            stream.append(Promise(promised))
        stray = random.choice([-3, 2]) * (query.range + query.slide) if random.random() < strays else 0
        stream.append(Row(max(time + stray, promised - 2 * most), random_values(random, design.layout.fields)))
    return [*stream, Promise(promised, last=True)]


def random_query(random: Random, largest: WindowQuery, greatest: int) -> WindowQuery:
    """Another range, slide and slack, for which the modules of the largest suffice."""
    unit = random.choice([1, 2, 5])
    while True:
        length, slide = random.randint(1, greatest) * unit, random.randint(1, greatest) * unit
        slack = random.choice([0, random.randint(0, 2 * slide)])
        query = replace(largest, range=length, slide=slide, slack=slack)
        if query.window_modules <= largest.window_modules:
            return query


def random_pattern(random: Random) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Always, half of the time, seldom, or in bursts."""
    kinds = ([1], [random.random() < 0.5 for _ in range(37)], [0, 0, 0, 0, 0, 1], [1] * 40 + [0] * 90)
    return np.array([int(bit) for bit in random.choice(kinds)], np.uint8)
