"""Bring batches to the declared columns and types, or say which value does not fit.

Times written as text may carry a zone or not (then they are UTC) and any number of decimals; one that is finer than
the declared unit is refused. Integers are never taken for times: their unit would be a guess.
"""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
import pyarrow.compute

from windrow.errors import SourceError
from windrow.sources.base import require

TEXT = pa.dictionary(pa.int32(), pa.string())
"""How text columns are read: each distinct value of a batch once, so that group keys are encoded once."""

_ZONE = r":\d{2}.*([zZ]|[+-]\d{2}:?\d{2})$"
pc: Any = pyarrow.compute  # the stubs know fewer argument types than the functions take


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The same type without the large and view layouts, and the short floats, that few kernels know."""
    if pa.types.is_float16(kind):
        return pa.float32()
    if kind in (pa.large_string(), pa.string_view()):
        return pa.string()
    if kind in (pa.large_binary(), pa.binary_view()):
        return pa.binary()
    if isinstance(kind, pa.DictionaryType):
        value: Any = plain_type(kind.value_type)
        return cast(pa.DataType, pa.dictionary(pa.int32(), value))
    return kind


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The same columns in plain layouts, without metadata."""
    return pa.schema([pa.field(f.name, plain_type(f.type), f.nullable) for f in schema])


def encoded_schema(schema: pa.Schema) -> pa.Schema:
    """The same columns with text as dictionaries."""
    fields = [pa.field(f.name, TEXT if plain_type(f.type) == pa.string() else f.type, f.nullable) for f in schema]
    return pa.schema(fields)


def conform(batch: pa.RecordBatch, schema: pa.Schema, where: str, name: str = "stream") -> pa.RecordBatch:
    """The columns of `schema` in its order and types; `where` says in messages which data it was.

    >>> raw = pa.record_batch({"t": ["2024-01-01T02:00:00+02:00", "2024-01-01 00:00"], "x": [1, 2]})
    >>> conform(raw, pa.schema([("t", pa.timestamp("s", "UTC"))]), "an example")["t"].cast(pa.int64()).to_pylist()
    [1704067200, 1704067200]
    """
    if batch.schema.equals(schema, check_metadata=False):
        return batch
    require(batch.schema, schema.names, name, where)
    arrays = [_fit(batch.column(field.name), field, where) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _fit(array: pa.Array[Any], field: pa.Field[Any], where: str) -> pa.Array[Any]:
    try:
        return convert(array, field.type)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SourceError(
            f"must be {field.type} in {where}",
            parameter=field.name,
            value=_first_misfit(array, field.type),
            hint=_way_out(array, field.type),
        ) from error


def _way_out(array: pa.Array[Any], kind: pa.DataType) -> str:
    """Times that are only too fine, else anything."""
    try:
        fine = isinstance(kind, pa.TimestampType) and len(convert(array, pa.timestamp("ns", kind.tz))) > 0
    except (pa.ArrowException, TypeError, ValueError):
        fine = False
    if fine:
        return "round it before the query, for example with pyarrow.compute.floor_temporal or .dt.floor in pandas"
    return "declare the column with another type, or correct the data"


def convert(array: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    """The values as another type, or an Arrow error where one of them has no such form."""
    if array.type == kind:
        return array
    if isinstance(array, pa.DictionaryArray):
        return _recoded(array, kind)
    if isinstance(kind, pa.DictionaryType):
        return convert(array, kind.value_type).dictionary_encode().cast(kind)
    if plain_type(array.type) != array.type:
        return convert(array.cast(plain_type(array.type)), kind)
    if isinstance(kind, pa.TimestampType):
        return _times(array, kind)
    return array.cast(kind)


def _recoded(array: pa.DictionaryArray[Any, Any], kind: pa.DataType) -> pa.Array[Any]:
    """Convert each distinct value once, which also serves layouts that Arrow cannot decode."""
    if not isinstance(kind, pa.DictionaryType):
        return convert(array.dictionary, kind).take(array.indices)
    values = convert(array.dictionary, kind.value_type)
    return pa.DictionaryArray.from_arrays(array.indices.cast(kind.index_type), values)


def _times(array: pa.Array[Any], kind: pa.TimestampType[Any, Any]) -> pa.Array[Any]:
    if pa.types.is_integer(array.type):
        raise TypeError("an integer has no time unit")
    if pa.types.is_string(array.type):
        try:
            array = _read_times(array, kind.unit)
        except pa.ArrowInvalid:  # more decimals than the unit holds
            array = _read_times(array, "ns")
    return cast("pa.Array[Any]", pc.cast(array, kind))


def _read_times(array: pa.Array[Any], unit: Any) -> pa.Array[Any]:
    """Arrow reads text with a zone and text without as two types: read each as its own, then bring them together."""
    utc = pa.timestamp(unit, "UTC")
    zoned = pc.match_substring_regex(array, _ZONE)
    with_zone = pc.cast(pc.if_else(zoned, array, None), utc)
    without = pc.cast(pc.if_else(zoned, None, array), pa.timestamp(unit))
    return cast("pa.Array[Any]", pc.coalesce(with_zone, pc.cast(without, utc)))


def _first_misfit(array: pa.Array[Any], kind: pa.DataType) -> Any:
    """The first value that alone does not convert; a whole column that cannot is named by its type."""
    if isinstance(kind, pa.TimestampType) and pa.types.is_integer(array.type):
        return f"{array.type} (an integer has no time unit)"
    for position in range(len(array)):
        try:
            convert(array.slice(position, 1), kind)
        except (pa.ArrowException, TypeError, ValueError):
            return _shown(array, position)
    return str(array.type)


def _shown(array: pa.Array[Any], position: int) -> str:
    """A value for a message; times with all their digits, which Python's own have not."""
    if isinstance(array.type, pa.TimestampType):
        return str(array.slice(position, 1).cast(pa.timestamp(array.type.unit)).cast(pa.string())[0])
    return repr(array[position].as_py())
