"""Between Arrow's types and Spark's: what Spark can hold, batches cast to it, and the schema of a DataFrame.

Every Arrow type has at most one *held* type, the Arrow type that Spark itself uses for the same values. Casting to it
loses nothing: times finer than a microsecond are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute

from windrow.errors import DataError, UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructType

WATERMARK = "spark.watermarkDelayMs"
"""Where Spark notes the delay of a watermark: in the metadata of its column."""

_SAME = (
    *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    *(pa.string(), pa.binary(), pa.date32()),
)
_SIMPLE: dict[pa.DataType, pa.DataType] = {
    **{kind: kind for kind in _SAME},
    pa.null(): pa.string(),  # most sinks refuse a column without a type
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
pc: Any = pyarrow.compute  # the stubs know fewer argument types than the functions take


def held_type(kind: pa.DataType) -> pa.DataType | None:
    """The Arrow type in which Spark holds the values of another; None when it holds no such values.

    >>> held_type(pa.uint32()), held_type(pa.dictionary(pa.int32(), pa.string())), held_type(pa.decimal256(50, 0))
    (DataType(int64), DataType(string), None)
    """
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    return next((held(kind) for holds, held in _FAMILIES if holds(kind)), None)


def _held_list(kind: Any) -> pa.DataType | None:
    inner = held_type(kind.value_type)
    return None if inner is None else pa.list_(inner)


def _held_struct(kind: Any) -> pa.DataType | None:
    fields: list[Any] = [(field.name, held_type(field.type)) for field in kind]
    return pa.struct(fields) if fields and all(inner is not None for _, inner in fields) else None


_FAMILIES: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], pa.DataType | None]], ...] = (
    (pa.types.is_dictionary, lambda kind: held_type(kind.value_type)),
    (pa.types.is_fixed_size_binary, lambda _: pa.binary()),
    (pa.types.is_timestamp, lambda kind: pa.timestamp("us", kind.tz)),
    (pa.types.is_duration, lambda _: pa.duration("us")),
    (pa.types.is_time, lambda _: pa.time64("ns")),
    (pa.types.is_decimal, lambda k: pa.decimal128(k.precision, k.scale) if 0 <= k.scale <= k.precision <= 38 else None),
    (pa.types.is_struct, _held_struct),
    (pa.types.is_list, _held_list),
    (pa.types.is_large_list, _held_list),
    (pa.types.is_fixed_size_list, _held_list),
)


def held_schema(schema: pa.Schema) -> pa.Schema:
    """The columns in the types in which Spark holds them."""
    fields = []
    for field in schema:
        held = held_type(field.type)
        if held is None:
            raise UnsupportedError(
                "has a type that Spark does not hold",
                parameter=field.name,
                value=str(field.type),
                hint="cast the column in the query, leave it out, or run with engine='local'",
            )
        fields.append(pa.field(field.name, held))
    return pa.schema(fields)


def spark_schema(schema: pa.Schema) -> StructType:
    """The columns as a schema of Spark's; each may be NULL."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(held_schema(schema))


def for_spark(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of `schema`, found by name, in the types that `spark_schema(schema)` promises to Spark."""
    held = held_schema(schema)
    if batch.schema.equals(held):
        return batch
    arrays = [_cast(batch.column(field.name), field) for field in held]
    return pa.RecordBatch.from_arrays(arrays, schema=held)


def _cast(array: pa.Array[Any], field: pa.Field[Any]) -> pa.Array[Any]:
    if array.type == field.type:
        return array
    try:
        return _converted(array, field.type)
    except pa.ArrowException as error:
        is_fine = "would lose data" in str(error)  # what Arrow says of a time that is finer than its new unit
        raise DataError(
            f"has a value that does not fit into Spark's {field.type}",
            parameter=field.name,
            value=str(error).partition("\n")[0].rstrip("."),
            hint=f"{'round it to microseconds before the query' if is_fine else 'cast the column in the query'}, "
            "or run with engine='local'",
        ) from error


def _converted(array: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    if isinstance(array, pa.DictionaryArray):  # each distinct value once, in layouts that Arrow cannot decode as well
        return _converted(array.dictionary, kind).take(array.indices)
    return cast("pa.Array[Any]", pc.cast(array, kind))


def arrow_schema(schema: StructType) -> pa.Schema:
    """The columns of a DataFrame that Windrow reads; `refuse_unread` refuses the others once a query names them."""
    known = [(field.name, _read_type(field.dataType)) for field in schema.fields]
    return pa.schema([pa.field(name, kind) for name, kind in known if kind is not None])


def refuse_unread(schema: StructType, columns: Iterable[str]) -> None:
    """Refuse a query that names a column of a DataFrame whose type Windrow does not read."""
    kinds = {field.name: field.dataType for field in schema.fields}
    for name in columns:
        if name in kinds and _read_type(kinds[name]) is None:
            raise UnsupportedError(
                "has a type that Windrow does not read",
                parameter=name,
                value=kinds[name].simpleString(),
                hint="select what the query needs of it first, such as a value of a map",
            )


def _read_type(kind: DataType) -> pa.DataType | None:
    """The Arrow type of a column of Spark's; None for maps, variants and the like, inside lists and structs too."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import ArrayType, MapType, StructType, UserDefinedType, VariantType

    if isinstance(kind, (MapType, VariantType, UserDefinedType)):
        return None
    inner = kind.fields if isinstance(kind, StructType) else ()
    parts = [kind.elementType] if isinstance(kind, ArrayType) else [field.dataType for field in inner]
    if any(_read_type(part) is None for part in parts):
        return None
    try:
        return to_arrow_type(kind, timezone="UTC")
    except PySparkException:
        return None


def watermark_of(schema: StructType, column: str) -> int | None:
    """The delay, in milliseconds, of the watermark that a streaming DataFrame has on a column; None without one."""
    found = next((field.metadata for field in schema.fields if field.name == column), {})
    delay = found.get(WATERMARK)
    return None if delay is None else int(delay)


def named(name: str) -> Column:
    """A column by its exact name, dots and all."""
    from pyspark.sql import functions as sf

    return sf.col("`" + name.replace("`", "``") + "`")
