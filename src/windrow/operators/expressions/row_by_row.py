"""The slow and certain way: a function's row-by-row meaning, applied to each distinct value once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import pyarrow as pa

from windrow.operators.expressions.values import Array, Datum, from_python, is_scalar, python_values
from windrow.semantics.scalars import evaluate as scalar
from windrow.semantics.scalars.expressions import Call, Column


def row_by_row(function: str, arguments: Sequence[Datum], kind: pa.DataType) -> Datum:
    """What `semantics.scalar` gives, its errors included, for a function that is NULL when an argument is."""
    arrays = [argument for argument in arguments if not is_scalar(argument)]
    if len(arrays) != 1:
        result = _rows(function, arguments, kind)
        return result if arrays else result[0]
    encoded = arrays[0].dictionary_encode()  # tells -0.0 from 0.0
    distinct = [argument if is_scalar(argument) else encoded.dictionary for argument in arguments]
    return _rows(function, distinct, kind).take(encoded.indices)


def _rows(function: str, arguments: Sequence[Datum], kind: pa.DataType) -> Array:
    names = [str(place) for place in range(len(arguments))]
    call = Call(function, tuple(map(Column, names)))
    columns = [python_values(argument, exact=function == "cast") for argument in arguments]
    if any(not is_scalar(argument) for argument in arguments):
        columns = [
            repeat(column[0]) if is_scalar(argument) else column  # type: ignore[misc]
            for column, argument in zip(columns, arguments, strict=True)
        ]
    rows = zip(*columns, strict=False)
    return from_python([scalar.evaluate(call, dict(zip(names, row, strict=True))) for row in rows], kind, function)
