"""Brute force: what a circuit for aggregates must answer, from the definitions, with rows kept as they came.

Times are whole numbers that do not wrap; `words` and `results` translate to and from the bits of a circuit, `stream_of`
and `result_words` the other way. A row below the end of the last closed window is late, also where it lies between
windows: to the software it is not, so that what feeds a circuit puts such rows where they are late for none
(`feeding.feed`), and then both count the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from windrow.hardware.answers import result_places
from windrow.hardware.design import COUNTERS, AggregateDesign, BitLayout, CircuitPart, Field, Function, WindowQuery
from windrow.hardware.feeding import Elements
from windrow.hardware.packing import Words, words_for
from windrow.semantics.scalars.evaluate import evaluate

Values = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A row of the stream; values by the names of the layout."""

    time: int
    values: Values


@dataclass(frozen=True)
class Promise:
    """A punctuation; `last` is the end of the stream."""

    time: int = 0
    last: bool = False


Stream = list[Row | Promise]
Result = tuple[int, tuple[Any, ...], tuple[Any, ...]]
"""End of the window, key, values of the parts."""


@dataclass
class Expected:
    """Results of each query, by end and in no order within it, and counters.

    `given` are the results of all queries as they become due: the place of the element, the query, the result.
    """

    results: list[list[Result]]
    counters: dict[str, int]
    given: list[tuple[int, int, Result]]


@dataclass
class _State:
    query: WindowQuery
    limit: int
    closed: int = 0
    rows: dict[int, list[Values]] = field(default_factory=dict)
    keys: list[tuple[Any, ...]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def close(self, promise: Promise) -> None:
        reached = max(self.closed, promise.time // self.query.slide * self.query.slide)
        for end in sorted(end for end in self.rows if promise.last or end <= reached):
            self.results += _window(self.query, end, self.rows.pop(end))
        self.closed = reached

    def take(self, row: Row, counters: dict[str, int]) -> None:
        slide = self.query.slide
        late, early = row.time < self.closed, row.time - (self.closed + slide) >= self.limit
        counters["late"] += late
        counters["early"] += early
        ends = range(row.time // slide * slide + slide, row.time + self.query.range + 1, slide)
        might_hold = row.time >= self.closed + slide - self.query.range
        if early or not might_hold or (late and not self.query.generous) or not self._has_place(row, counters):
            return
        for end in ends:
            if end > self.closed:
                self.rows.setdefault(end, []).append(row.values)

    def _has_place(self, row: Row, counters: dict[str, int]) -> bool:
        key = _key(self.query, row.values)
        if key not in self.keys and len(self.keys) == self.query.groups:
            counters["overflow"] += 1
            return False
        if key not in self.keys:
            self.keys.append(key)
        return True


def expected(design: AggregateDesign, stream: Stream, queries: tuple[WindowQuery, ...] | None = None) -> Expected:
    """What the circuit of `design` gives, set to `queries` where they are other ones than its own."""
    pairs = zip(design.queries, queries or design.queries, strict=True)
    states = [_State(query, design.limit(query, design.modules(largest))) for largest, query in pairs]
    counters, given = dict.fromkeys(COUNTERS, 0), list[tuple[int, int, Result]]()
    for place, one in enumerate(stream):
        if isinstance(one, Promise):
            for number, state in enumerate(states):
                known = len(state.results)
                state.close(one)
                given += [(place, number, result) for result in state.results[known:]]
            continue
        counters["rows"] += 1
        passing = [state for state in states if all(evaluate(c, one.values) is True for c in state.query.where)]
        counters["filtered"] += not passing
        for state in passing:
            state.take(one, counters)
    return Expected([sorted(state.results, key=repr) for state in states], counters, given)


def _window(query: WindowQuery, end: int, rows: list[Values]) -> list[Result]:
    keys = {_key(query, row) for row in rows}
    groups = [(key, [row for row in rows if _key(query, row) == key]) for key in keys]
    return [(end, key, tuple(_part(part, members) for part in query.parts)) for key, members in groups]


def _key(query: WindowQuery, row: Values) -> tuple[Any, ...]:
    return tuple(row[name] for name in query.keys)


def _part(part: CircuitPart, rows: list[Values]) -> int | None:
    values = [1 if part.argument is None else evaluate(part.argument, row) for row in rows]
    known = [int(value) for value in values if value is not None]
    if part.function is Function.COUNT:
        return len(known)
    if not known:
        return None
    return sum(known) if part.function is Function.SUM else min(known) if part.function is Function.MIN else max(known)


def words(design: AggregateDesign, stream: Stream) -> Words:
    """The stream as the input of the circuit has it."""
    width = design.time_width
    numbers = []
    for one in stream:
        row = isinstance(one, Row)
        data = packed(design.layout, one.values) if isinstance(one, Row) else 0
        last = isinstance(one, Promise) and one.last
        numbers.append((not row) | last << 1 | (one.time % (1 << width)) << 2 | data << 2 + width)
    return as_words(numbers, 2 + width + max(design.layout.bits, 1))


def stream_of(design: AggregateDesign, elements: Elements) -> Stream:
    """Elements as they are fed to a circuit; times go on from the last promise, forth or back by less than half."""
    half, promised, stream = 1 << design.time_width - 1, 0, list[Row | Promise]()
    for place in range(len(elements)):
        at = promised + (int(elements.time[place]) - promised + half) % (2 * half) - half
        if elements.punctuation[place]:
            promised = max(promised, at)
            stream.append(Promise(promised, bool(elements.last[place])))
        else:
            number = sum(int(word) << 64 * limb for limb, word in enumerate(elements.data[place]))
            names = [one.name for one in design.layout.fields]
            stream.append(Row(at, dict(zip(names, unpacked(design.layout, number), strict=True))))
    return stream


def result_words(design: AggregateDesign, given: list[tuple[int, int, Result]]) -> Words:
    """Results as a circuit gives them, with `done` behind them."""
    places = result_places(design)
    numbers = []
    for _, number, (end, key, values) in given:
        members = {
            "nonempty": 1,
            "query": number,
            "end": end % (1 << design.time_width),
            "key": _joined(design.key_layouts[number], key),
            "parts": _joined(design.queries[number].results, values),
        }
        numbers.append(sum(value << places[name][0] for name, value in members.items()))
    return as_words([*numbers, 1], sum(width for _, width in places.values()))


def _joined(layout: BitLayout, values: tuple[Any, ...]) -> int:
    return packed(layout, dict(zip((one.name for one in layout.fields), values, strict=True)))


def as_words(numbers: list[int], bits: int) -> Words:
    """Numbers of so many bits as rows of 64-bit words."""
    mask = (1 << 64) - 1
    rows = [[number >> 64 * place & mask for place in range(words_for(bits))] for number in numbers]
    return np.array(rows, np.uint64).reshape(len(numbers), words_for(bits))


def packed(layout: BitLayout, values: Values) -> int:
    found = 0
    for one in layout.fields:
        value = values[one.name]
        bits = (int(value) if value is not None else 0) & (1 << one.width) - 1
        found |= (bits | (value is None) << one.width) << layout.offsets[one.name]
    return found


def unpacked(layout: BitLayout, number: int) -> tuple[Any, ...]:
    return tuple(_value(one, number >> layout.offsets[one.name]) for one in layout.fields)


def _value(one: Field, bits: int) -> int | None:
    if one.nullable and bits >> one.width & 1:
        return None
    value = bits & (1 << one.width) - 1
    return value - (value >> one.width - 1 << one.width) if one.signed else value


def results(design: AggregateDesign, given: Words) -> list[list[Result]]:
    """The results of each query in the order in which they came, without `done`; times as in the circuit."""
    found: list[list[Result]] = [[] for _ in design.queries]
    query_bits = max(1, (len(design.queries) - 1).bit_length())
    key_bits = max(1, *(layout.bits for layout in design.key_layouts))
    for row in given:
        number = sum(int(word) << 64 * place for place, word in enumerate(row))
        if number & 1:
            continue
        rest = number >> 2
        query = rest & (1 << query_bits) - 1
        end = rest >> query_bits & (1 << design.time_width) - 1
        rest >>= query_bits + design.time_width
        key = unpacked(design.key_layouts[query], rest)
        found[query].append((end, key, unpacked(design.queries[query].results, rest >> key_bits)))
    return found
