"""A whole expression over a batch. What is not needed for a row cannot fail for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.errors import DataError
from windrow.operators.expressions.masks import places
from windrow.operators.expressions.strict import apply
from windrow.operators.expressions.values import Array, Datum, decoded, expanded, nothing, pc, settled
from windrow.plan.types.expressions import type_of
from windrow.plan.types.functions import RULES
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal, columns_of
from windrow.semantics.scalars.moments import TOO_FINE, microseconds


def evaluate(expression: Expression, batch: pa.RecordBatch) -> Array:
    """The value of an expression on each row: what `semantics.scalar.evaluate` gives, with the type of `type_of`.

    A bare column is given as it is, dictionary and all.

    >>> batch = pa.record_batch({"x": [1, None, 3]})
    >>> evaluate(Call("/", (Column("x"), Literal(2))), batch).to_pylist()
    [0.5, None, 1.5]
    """
    kind = type_of(expression, batch.schema)
    if isinstance(expression, Column):
        return batch.column(expression.name)
    return expanded(compute(expression, batch) if batch.num_rows else nothing(kind), batch.num_rows)


def compute(expression: Expression, batch: pa.RecordBatch) -> Datum:
    """As `evaluate`, for a checked expression and a batch that has rows; a scalar stands for all of them."""
    if isinstance(expression, Literal):
        return _constant(expression)
    if isinstance(expression, Column):
        return decoded(batch.column(expression.name))
    encoded = _through_dictionary(expression, batch)
    if encoded is not None:
        return encoded
    if expression.function in _LAZY:
        return _LAZY[expression.function](expression, batch)
    arguments = [compute(argument, batch) for argument in expression.arguments]
    try:
        return apply(expression.function, arguments, _type(expression, arguments))
    except DataError as error:
        if error.rule == TOO_FINE and error.parameter is None:
            error.parameter = next((one.name for one in expression.arguments if isinstance(one, Column)), None)
        raise


def _constant(literal: Literal) -> Datum:
    kind = type_of(literal, pa.schema([]))
    if pa.types.is_timestamp(kind):
        return pa.scalar(microseconds(literal.value)).cast(kind)
    return pa.scalar(literal.value, kind)


def _type(call: Call, arguments: list[Datum]) -> pa.DataType:
    return RULES[call.function](call, [argument.type for argument in arguments])


def entries(column: Any, name: str) -> pa.RecordBatch:
    """The dictionary as rows, and a last one with NULL."""
    values = column.dictionary
    return pa.record_batch([pa.concat_arrays([values, pa.nulls(1, values.type)])], names=[name])


def _through_dictionary(call: Call, batch: pa.RecordBatch) -> Datum | None:
    """A call that reads one dictionary-encoded column, once per entry; None where that is no gain or fails.

    An entry that no row has may fail: then the rows decide.
    """
    names = set(columns_of(call))
    column = batch.column(names.pop()) if len(names) == 1 else None
    if not isinstance(column, pa.DictionaryArray) or len(column.dictionary) >= batch.num_rows:
        return None
    try:
        values = evaluate(call, entries(column, next(columns_of(call))))
    except DataError:
        return None
    return values.take(pa.array(places(column)))


def _guarded(expression: Expression, batch: pa.RecordBatch, needed: Datum) -> Datum:
    """The value on all rows if it can be had, otherwise on those that need it."""
    try:
        return compute(expression, batch)
    except DataError:
        keep = expanded(needed, batch.num_rows)
        values = evaluate(expression, batch.filter(keep))
        chosen = np.asarray(keep)
        return values.take(pa.array(np.cumsum(chosen) - 1, mask=~chosen))


def _kleene(call: Call, batch: pa.RecordBatch, *, operation: str, settles: bool) -> Datum:
    left = compute(call.arguments[0], batch)
    open_ = pc.fill_null(pc.not_equal(settled(left, pa.bool_()), settles), True)
    right = _guarded(call.arguments[1], batch, open_)
    kind = _type(call, [left, right])
    return pc.call_function(operation, [settled(left, kind), settled(right, kind)])


def _case(call: Call, batch: pa.RecordBatch) -> Datum:
    open_: Datum = pa.scalar(True)
    hits, arguments = [], []
    for place in range(0, len(call.arguments) - 1, 2):
        condition = _guarded(call.arguments[place], batch, open_)
        hit = pc.and_(open_, pc.fill_null(settled(condition, pa.bool_()), False))
        value = _guarded(call.arguments[place + 1], batch, hit)
        open_ = pc.and_not(open_, hit)
        hits.append(hit)
        arguments += [condition, value]
    if len(call.arguments) % 2:
        arguments.append(_guarded(call.arguments[-1], batch, open_))
    kind = _type(call, arguments)
    result = settled(arguments[-1], kind) if len(call.arguments) % 2 else nothing(kind)
    for hit, value in zip(hits, arguments[1::2], strict=True):
        result = pc.if_else(hit, settled(value, kind), result)
    return result


def _coalesce(call: Call, batch: pa.RecordBatch) -> Datum:
    open_: Datum = pa.scalar(True)
    arguments = []
    for argument in call.arguments:
        value = _guarded(argument, batch, open_)
        open_ = pc.and_(open_, pc.is_null(value))
        arguments.append(value)
    kind = _type(call, arguments)
    return pc.coalesce(*(settled(argument, kind) for argument in arguments))


_LAZY: dict[str, Callable[[Call, pa.RecordBatch], Datum]] = {
    "and": partial(_kleene, operation="and_kleene", settles=False),
    "or": partial(_kleene, operation="or_kleene", settles=True),
    "case": _case,
    "coalesce": _coalesce,
}
"""Functions that read their arguments from left to right and stop when the answer is known."""
