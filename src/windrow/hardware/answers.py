"""Results of a circuit as rows of an answer: window bounds, keys and aggregates, in the types of the software."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Array, Integers, Numbers
from windrow.errors import SumOverflowError
from windrow.hardware.design import AggregateDesign, BitLayout, Field
from windrow.hardware.feeding import Fed
from windrow.hardware.packing import Words, unpack, with_sign
from windrow.hardware.planning.aggregates import AnswerColumn
from windrow.hardware.planning.columns import CircuitColumn
from windrow.hardware.planning.joins import JoinPlan
from windrow.hardware.planning.plan import AggregatePlan
from windrow.hardware.planning.windows import ResultColumns
from windrow.plan.types.kinds import Family, family_of, normal_time


def result_places(design: AggregateDesign) -> dict[str, tuple[int, int]]:
    """Where the members of a result lie: the lowest bit of each, and its width."""
    widths = {
        "done": 1,
        "nonempty": 1,
        "query": max(1, (len(design.queries) - 1).bit_length()),
        "end": design.time_width,
        "key": max(1, *(layout.bits for layout in design.key_layouts)),
        "parts": max(query.results.bits for query in design.queries),
    }
    places, place = {}, 0
    for name, width in widths.items():
        places[name] = place, width
        place += width
    return places


def answer_of(plan: AggregatePlan, fed: Fed, results: Words, causes: Integers, query: int = 0) -> pa.RecordBatch:
    """The rows of one query of a circuit, from all results that the circuit gave, in their order.

    `causes` is for each result the last element that had been taken when it was given.
    """
    places = result_places(plan.design)
    own = unpack(results, *places["nonempty"]) & (unpack(results, *places["query"]) == query)
    chosen, causes = results[own.astype(np.bool_)], causes[own.astype(np.bool_)]
    reading = plan.queries[query]
    ends = window_ends(unpack(chosen, *places["end"]), fed.reach[causes], plan.clock.width)
    bounds = fed.start + ends * plan.clock.unit
    arrays = [
        *_keys(reading, plan.design.key_layouts[query], chosen, places["key"][0]),
        _moments(bounds - reading.rows.window.range, reading.schema.field("window_start").type),
        _moments(bounds, reading.schema.field("window_end").type),
        *_aggregates(reading, plan.design.queries[query].results, chosen, places["parts"][0]),
    ]
    return pa.record_batch(arrays, schema=reading.schema)


def window_ends(kept: Words, reach: Integers, width: int) -> Integers:
    """Window ends from the bits that are kept of them: of those that have these bits, the last within reach.

    >>> window_ends(np.array([7, 1], np.uint64), np.array([40, 40]), 4).tolist()
    [39, 33]
    """
    if width == 64:
        return kept.astype(np.int64)
    return reach - ((reach - kept.astype(np.int64)) & ((1 << width) - 1))


def _moments(units: Integers, kind: pa.DataType) -> Array:
    return pa.array(units, pa.int64()).cast(kind)


def _keys(reading: ResultColumns, layout: BitLayout, results: Words, place: int) -> Iterator[Array]:
    named = {field.name: field for field in layout.fields}
    for _, column in reading.keys:
        yield decoded(column, named[column.name], results, place + layout.offsets[column.name])


def decoded(column: CircuitColumn, field: Field, words: Words, place: int) -> Array:
    """A field of rows as the column that it was; NULL where its bit says so."""
    values, nulls = _read(words, field, place)
    if column.dictionary is not None:
        codes = np.minimum(values.astype(np.int64), len(column.dictionary) - 1)
        places: Array = pa.array(codes, mask=nulls)
        return pa.array(column.dictionary, pa.string()).take(places).cast(column.kind)
    return _typed(values, nulls, column.kind)


def _read(words: Words, field: Field, place: int) -> tuple[Numbers, Numbers]:
    found = unpack(words, place, field.width)
    nulls = unpack(words, place + field.width, 1).astype(np.bool_) if field.nullable else np.zeros(len(words), np.bool_)
    return (with_sign(found, field.width) if field.signed else found), nulls


def _typed(values: Numbers, nulls: Numbers, kind: pa.DataType) -> Array:
    family = family_of(kind)
    plain = pa.array(np.where(nulls, 0, values).astype(values.dtype), mask=nulls)
    if family is Family.BOOLEAN:
        return plain.cast(pa.int8()).cast(kind)
    if family is Family.TIMESTAMP:
        return plain.cast(pa.int64()).cast(normal_time(kind)).cast(kind)
    if family is Family.DURATION:
        return plain.cast(pa.int64()).cast(pa.duration("us")).cast(kind)
    if family is Family.DATE:
        return plain.cast(pa.int32()).cast(pa.date32()).cast(kind)
    return plain.cast(kind)


def _aggregates(reading: ResultColumns, layout: BitLayout, results: Words, place: int) -> Iterator[Array]:
    parts = [_read(results, field, place + layout.offsets[field.name]) for field in layout.fields]
    for column in reading.answers:
        values = [parts[one] for one in column.parts]
        yield _mean(values, column) if column.function == "avg" else _one(values[0], column)


def _one(part: tuple[Numbers, Numbers], column: AnswerColumn) -> Array:
    values, nulls = part
    if column.function in ("count", "sum") and values.dtype == np.uint64:
        if len(values) and int(values.max()) >> 63:
            raise SumOverflowError("does not fit into 64 bits", parameter=column.name, value=int(values.max()))
        values = values.astype(np.int64)
    return _typed(values, nulls, column.kind)


def _mean(parts: Sequence[tuple[Numbers, Numbers]], column: AnswerColumn) -> Array:
    (sums, nulls), (counts, _) = parts
    return pa.array(sums / np.maximum(counts.astype(np.int64), 1), mask=nulls).cast(column.kind)


def pairs_of(plan: JoinPlan, pairs: Words) -> pa.RecordBatch:
    """The pairs of a join as rows of its answer."""
    widths = 1, max(plan.design.left.bits, 1)
    chosen = pairs[unpack(pairs, 0, 1) == 0]
    offsets = 1, sum(widths)
    layouts = plan.design.left, plan.design.right
    arrays = []
    for column in plan.rows.node.columns:
        one, layout = plan.columns[column.side][column.name], layouts[column.side]
        arrays.append(decoded(one, one.field, chosen, offsets[column.side] + layout.offsets[column.name]))
    names = [column.name for column in plan.rows.node.columns]
    made = pa.record_batch(arrays, names=names)
    return made.select(plan.schema.names).cast(plan.schema)
