"""What a circuit for aggregates gives, element by element, as its contract says: slow, and with no circuit in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.hardware.answers import result_places
from windrow.hardware.design import AggregateDesign, CircuitPart, Field, Function, WindowQuery
from windrow.hardware.feeding import Elements
from windrow.hardware.packing import Words, pack, unpack, with_sign
from windrow.semantics.scalars.evaluate import evaluate

Row = dict[str, Any]


def modelled(design: AggregateDesign, elements: Elements) -> tuple[Words, Integers, dict[str, int]]:
    """The results of a circuit, packed as it gives them, the element that each came after, and its counters."""
    models = [_Query(design, query) for query in design.queries]
    counters = {"rows": 0, "filtered": 0, "late": 0, "early": 0, "overflow": 0, "lost": 0}
    promised, results, causes = 0, list[Any](), list[int]()
    for i in range(len(elements)):
        ahead = int(elements.time[i]) - promised & (1 << design.time_width) - 1
        at = promised + (ahead - (1 << design.time_width) if ahead >> design.time_width - 1 else ahead)
        if elements.punctuation[i]:
            promised = max(promised, at)
            for place, model in enumerate(models):
                results += [(place, *one) for one in model.close(promised, bool(elements.last[i]))]
            causes += [i] * (len(results) - len(causes))
            continue
        row = _row(design, elements.data[i : i + 1])
        counters["rows"] += 1
        passing = [model for model in models if model.passes(row)]
        counters["filtered"] += not passing
        counters["late"] += sum(model.take(at, row) for model in passing)
    return _packed(design, results), np.array([*causes, len(elements) - 1]), counters


class _Query:
    def __init__(self, design: AggregateDesign, query: WindowQuery) -> None:
        self.design = design
        self.query = query
        self.closed = 0
        self.windows: dict[int, dict[tuple[Any, ...], list[Row]]] = {}

    def passes(self, row: Row) -> bool:
        return all(evaluate(one, row) is True for one in self.query.where)

    def take(self, at: int, row: Row) -> bool:
        """Into every open window that holds it; whether it is late for one."""
        slide, first = self.query.slide, at // self.query.slide + 1
        ends = [k * slide for k in range(first, (at + self.query.range) // slide + 1)]
        late = any(end <= self.closed for end in ends)
        for end in ends:
            if end > self.closed and (self.query.generous or not late):
                key = tuple(row[name] for name in self.query.keys)
                self.windows.setdefault(end, {}).setdefault(key, []).append(row)
        return late

    def close(self, promised: int, last: bool) -> Iterable[tuple[int, tuple[Any, ...], list[Row]]]:
        for end in sorted(end for end in self.windows if last or end <= promised):
            yield from ((end, key, rows) for key, rows in self.windows.pop(end).items())
        self.closed = max(self.closed, promised // self.query.slide * self.query.slide)


def _row(design: AggregateDesign, data: Words) -> Row:
    return {one.name: _value(one, data, design.layout.offsets[one.name]) for one in design.layout.fields}


def _value(field: Field, data: Words, place: int) -> int | bool | None:
    if field.nullable and unpack(data, place + field.width, 1)[0]:
        return None
    found = unpack(data, place, field.width)
    number = int((with_sign(found, field.width) if field.signed else found)[0])
    return bool(number) if field.width == 1 and not field.signed and field.name.startswith("is_") else number


def _part(part: CircuitPart, rows: list[Row]) -> int | None:
    values = [1 if part.argument is None else evaluate(part.argument, row) for row in rows]
    known = [value for value in values if value is not None]
    if part.function is Function.COUNT:
        return len(known)
    functions: dict[Function, Any] = {Function.SUM: sum, Function.MIN: min, Function.MAX: max}
    return int(functions[part.function](known)) if known else None


def _packed(design: AggregateDesign, results: list[tuple[int, int, tuple[Any, ...], list[Row]]]) -> Words:
    places = result_places(design)
    made = []
    for place, end, key, rows in results:
        query, keys = design.queries[place], design.key_layouts[place]
        parts = [_part(part, rows) for part in query.parts]
        columns = [
            *((0, 1), (1, 1), (place, places["query"][1]), (end, places["end"][1])),
            *_fields(keys.fields, key, places["key"][1]),
            *_fields(query.results.fields, parts, places["parts"][1]),
        ]
        made.append(pack(1, [(np.array([v & (1 << min(w, 64)) - 1], np.uint64), w) for v, w in columns if w])[0])
    last = pack(1, [(np.array([1], np.uint64), 1), (np.zeros(1, np.uint64), sum(w for _, w in places.values()) - 1)])
    return np.stack([*made, last[0]])


def _fields(fields: Iterable[Field], values: Iterable[Any], width: int) -> Iterable[tuple[int, int]]:
    for field, value in zip(fields, values, strict=True):
        yield value or 0, field.width
        width -= field.bits
        if field.nullable:
            yield int(value is None), 1
    yield 0, width
