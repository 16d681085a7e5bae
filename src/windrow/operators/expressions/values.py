"""What flows through an expression: an array, or a scalar that stands for every row of the batch.

`row_by_row` is the slow and certain way: a function's row-by-row meaning, applied to each distinct value once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from windrow.errors import DataError
from windrow.semantics.scalars import evaluate as scalar
from windrow.semantics.scalars import moments
from windrow.semantics.scalars.expressions import Call, Column

pc: Any = pyarrow.compute  # the stubs know fewer argument types than the functions take

Array: TypeAlias = "pa.Array[Any]"
Datum: TypeAlias = Any
"""`pa.Array | pa.Scalar`; a scalar is expanded only at the end."""

_PER_MICROSECOND = {"s": 1_000_000, "ms": 1_000, "us": 1}
_FIRST = moments.microseconds(datetime(1, 1, 1, tzinfo=timezone.utc))
_LAST = moments.microseconds(datetime.max.replace(tzinfo=timezone.utc))


def is_scalar(datum: Datum) -> bool:
    return isinstance(datum, pa.Scalar)


def nothing(kind: pa.DataType) -> Datum:
    return pa.scalar(None, kind)


def expanded(datum: Datum, rows: int) -> Array:
    """One value a row."""
    if not is_scalar(datum):
        return datum  # type: ignore[no-any-return]
    return pa.repeat(datum, rows) if datum.is_valid else pa.nulls(rows, datum.type)


def decoded(array: Array) -> Array:
    """The values of a dictionary-encoded column; other columns as they are."""
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def convert(datum: Datum, kind: pa.DataType) -> Datum:
    """The values in another type that holds them; ArrowInvalid when one does not fit.

    Integers and decimals round to the nearest double.
    """
    if datum.type == kind:
        return datum
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return microseconds(datum).cast(kind)
    return datum.cast(kind, safe=not pa.types.is_floating(kind))


def settled(datum: Datum, kind: pa.DataType) -> Datum:
    """The values in the type of the result, or an error that a user can act on."""
    try:
        return convert(datum, kind)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"must fit the type {kind}", parameter="value", value=str(error), hint="CAST it to DOUBLE first"
        ) from None


def in_types_of(schema: pa.Schema, data: pa.RecordBatch) -> pa.RecordBatch:
    """Rows under the names of a schema, and in its types: dictionaries as values."""
    if data.schema == schema:
        return data
    columns = [settled(column, field.type) for column, field in zip(data.columns, schema, strict=True)]
    return pa.record_batch(columns, schema=schema)


def microseconds(datum: Datum) -> Datum:
    """Whole microseconds as int64 of a timestamp (since the epoch), a date or a duration; nothing finer than that."""
    kind = datum.type
    if pa.types.is_null(kind):
        return datum.cast(pa.int64())
    if pa.types.is_date(kind):
        return datum.cast(pa.timestamp("us")).cast(pa.int64())
    stored = datum.cast(pa.int64())
    if kind.unit == "ns":
        whole = pc.divide(stored, 1000)
        _refuse_finer(stored, pc.not_equal(pc.multiply(whole, 1000), stored), kind)
        return whole
    return stored if kind.unit == "us" else pc.multiply_checked(stored, _PER_MICROSECOND[kind.unit])


def _refuse_finer(stored: Datum, finer: Datum, kind: pa.DataType) -> None:
    if is_scalar(finer):
        stored, finer = expanded(stored, 1), expanded(finer, 1)
    if pc.any(finer).as_py():
        nanoseconds = stored.filter(finer)[0].as_py()
        raise moments.too_fine(
            f"{nanoseconds} ns" if pa.types.is_duration(kind) else moments.with_nanoseconds(nanoseconds)
        )


def in_calendar(numbers: Datum) -> bool:
    """Whether all these microseconds since the epoch lie in the years 1 to 9999."""
    bounds = pc.min_max(numbers).as_py()
    return bounds["min"] is None or (bounds["min"] >= _FIRST and bounds["max"] <= _LAST)


def filled(datum: Datum, fill: Any) -> Any:
    """The values for numpy, with `fill` where NULL; a scalar stays one value."""
    return datum.as_py() if is_scalar(datum) else pc.fill_null(datum, fill).to_numpy(zero_copy_only=False)


def from_numpy(values: npt.NDArray[Any], *arguments: Datum, null: npt.NDArray[np.bool_] | None = None) -> Array:
    """An array that is NULL where an argument is, and where `null` says so."""
    for argument in arguments:
        if not is_scalar(argument) and argument.null_count:
            missing = np.asarray(argument.is_null())
            null = missing if null is None else null | missing
    result: Array = pa.array(values, mask=null)
    return result


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
    columns: list[Any] = [_python_values(argument, exact=function == "cast") for argument in arguments]
    if not all(map(is_scalar, arguments)):
        columns = [repeat(column[0]) if is_scalar(a) else column for column, a in zip(columns, arguments, strict=True)]
    rows = zip(*columns, strict=False)
    return _from_python([scalar.evaluate(call, dict(zip(names, row, strict=True))) for row in rows], kind, function)


def _python_values(datum: Datum, *, exact: bool) -> list[Any]:
    """Plain Python values as the row-by-row meaning takes them; decimals are doubles unless `exact`.

    Timestamps beyond the calendar are whole microseconds.
    """
    array = expanded(datum, 1)
    kind: Any = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        stored = microseconds(array) if kind.unit == "ns" else array.cast(pa.int64())
        return [_time(value, kind) for value in stored.to_pylist()]
    if pa.types.is_date(kind):
        return [_time(value, pa.timestamp("us")) for value in microseconds(array).to_pylist()]
    if pa.types.is_decimal(kind) and not exact:
        array = convert(array, pa.float64())
    return array.to_pylist()


def _time(stored: int | None, kind: Any) -> Any:
    if stored is None:
        return None
    value = stored * _PER_MICROSECOND.get(kind.unit, 1)
    if pa.types.is_duration(kind):
        return timedelta(microseconds=value)
    return moments.moment(value) if _FIRST <= value <= _LAST else value


def _from_python(values: list[Any], kind: pa.DataType, function: str) -> Array:
    """An array of `kind` from what the row-by-row meaning gave."""
    try:
        if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
            numbers = [None if value is None else moments.microseconds(value) for value in values]
            return pa.array(numbers, pa.int64()).cast(kind)
        if pa.types.is_floating(kind):
            values = [None if value is None else float(value) for value in values]
        return pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid):
        raise DataError(
            "must give a value that fits into 64 bits",
            parameter=function,
            value=str(max((v for v in values if v is not None), key=abs)),
            hint="cast one side to DOUBLE first",
        ) from None
