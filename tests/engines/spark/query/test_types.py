"""What Arrow holds and Spark holds, there and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from windrow.engines.spark.query.types import (
    arrow_schema,
    for_spark,
    held_schema,
    held_type,
    refuse_unread,
    spark_schema,
    watermark_of,
)
from windrow.errors import DataError, UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime(2024, 1, 1, 12, 0, 0, 5)
UTC_NOON = NOON.replace(tzinfo=timezone.utc)
TEXT = pa.dictionary(pa.int32(), pa.string())

# Name, Arrow type, values, the type in Spark's own words.
CASES: list[tuple[str, pa.DataType, list[Any], str]] = [
    ("flag", pa.bool_(), [True, None], "boolean"),
    ("tiny", pa.int8(), [-128, None], "tinyint"),
    ("byte", pa.uint8(), [255, None], "smallint"),
    ("short", pa.int16(), [-(1 << 15), None], "smallint"),
    ("word", pa.uint16(), [(1 << 16) - 1, None], "int"),
    ("int", pa.int32(), [-(1 << 31), None], "int"),
    ("unsigned", pa.uint32(), [(1 << 32) - 1, None], "bigint"),
    ("long", pa.int64(), [-(1 << 63), None], "bigint"),
    ("huge", pa.uint64(), [(1 << 64) - 1, None], "decimal(20,0)"),
    ("half", pa.float16(), [0.5, None], "float"),
    ("single", pa.float32(), [0.25, None], "float"),
    ("double", pa.float64(), [1e300, None], "double"),
    ("price", pa.decimal128(10, 2), [Decimal("1.25"), None], "decimal(10,2)"),
    ("wide price", pa.decimal256(30, 2), [Decimal("1.25"), None], "decimal(30,2)"),
    ("text", pa.string(), ["é", None], "string"),
    ("large text", pa.large_string(), ["a", None], "string"),
    ("text view", pa.string_view(), ["a", None], "string"),
    ("symbol", TEXT, ["UBSN", None], "string"),
    ("bytes", pa.binary(), [b"\x00\xff", None], "binary"),
    ("large bytes", pa.large_binary(), [b"a", None], "binary"),
    ("two bytes", pa.binary(2), [b"ab", None], "binary"),
    ("day", pa.date32(), [date(2024, 2, 29), None], "date"),
    ("day in ms", pa.date64(), [date(2024, 2, 29), None], "date"),
    ("clock", pa.time64("us"), [time(12, 30, 0, 5), None], "time(6)"),
    ("seconds", pa.timestamp("s", "UTC"), [UTC_NOON.replace(microsecond=0), None], "timestamp"),
    ("time", pa.timestamp("us", "UTC"), [UTC_NOON, None], "timestamp"),
    ("nanos", pa.timestamp("ns", "UTC"), [UTC_NOON, None], "timestamp"),
    ("zoned", pa.timestamp("us", "Europe/Zurich"), [UTC_NOON, None], "timestamp"),
    ("naive", pa.timestamp("us"), [NOON, None], "timestamp_ntz"),
    ("naive ms", pa.timestamp("ms"), [NOON.replace(microsecond=0), None], "timestamp_ntz"),
    ("gap", pa.duration("ns"), [timedelta(seconds=1, microseconds=5), None], "interval day to second"),
    ("nothing", pa.null(), [None, None], "string"),
    ("list", pa.list_(pa.uint8()), [[1, None], None], "array<smallint>"),
    ("large list", pa.large_list(TEXT), [["a", None], None], "array<string>"),
    ("pair", pa.list_(pa.int64(), 2), [[1, 2], None], "array<bigint>"),
    ("top", pa.list_(pa.struct([("v", TEXT), ("n", pa.uint32())])), [[{"v": "a", "n": 1}], None],
     "array<struct<v:string,n:bigint>>"),
    ("struct", pa.struct([("t", pa.timestamp("ms"))]), [{"t": datetime(2024, 1, 1)}, None], "struct<t:timestamp_ntz>"),
]  # fmt: skip
SCHEMA = pa.schema([(name, kind) for name, kind, _, _ in CASES])
BATCH = pa.RecordBatch.from_arrays([pa.array(values, kind) for _, kind, values, _ in CASES], schema=SCHEMA)
NAMES = [name for name, *_ in CASES]


def test_every_type_has_its_own_in_spark() -> None:
    found = {field.name: field.dataType.simpleString() for field in spark_schema(SCHEMA).fields}
    assert {name: words for name, _, _, words in CASES} == found


def test_every_value_goes_to_spark_and_comes_back(spark: SparkSession) -> None:
    schema, batch = SCHEMA, BATCH

    def give(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield for_spark(batch, schema)

    found = spark.range(1, numPartitions=1).mapInArrow(give, spark_schema(SCHEMA)).toArrow()
    assert {name: values for name, _, values, _ in CASES} == found.to_pydict()


@pytest.mark.parametrize("name", NAMES)
def test_held_columns_are_held_as_they_are(name: str) -> None:
    """Except that Arrow gives every time in UTC when it comes from Spark, and NULL has become text."""
    held = held_schema(SCHEMA).field(name)
    assert held.type == held_type(held.type)
    back = arrow_schema(spark_schema(pa.schema([held]))).field(name).type
    zoned = pa.types.is_timestamp(held.type) and held.type.tz is not None
    assert (pa.timestamp("us", "UTC") if zoned else str(held.type).replace("item:", "element:")) == (
        back if zoned else str(back)
    )


def test_a_batch_that_fits_is_not_touched() -> None:
    fits = pa.record_batch({"x": pa.array([1], pa.int64())})
    assert fits is for_spark(fits, fits.schema)


def test_columns_are_found_by_name() -> None:
    batch = pa.record_batch([pa.array([1]), pa.array(["x"]), pa.array([2])], names=["b", "a", "c"])
    assert {"a": ["x"], "b": [1]} == for_spark(batch, pa.schema([("a", TEXT), ("b", pa.int64())])).to_pydict()


def test_slices_and_nulls_in_dictionaries() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None], pa.int8()), pa.array(["a", None]))
    batch = pa.record_batch({"k": array}).slice(1)
    assert [None, "a", None] == for_spark(batch, batch.schema).column("k").to_pylist()


@pytest.mark.parametrize(("kind", "held"), [(pa.timestamp("ns"), "timestamp"), (pa.duration("ns"), "duration")])
def test_what_is_finer_than_a_microsecond_is_refused(kind: pa.DataType, held: str) -> None:
    batch = pa.record_batch({"t": pa.array([2000, None], kind)})
    assert [2, None] == for_spark(batch, batch.schema).column("t").cast(pa.int64()).to_pylist()
    fine = pa.record_batch({"t": pa.array([2000, 1999], kind)})
    pattern = (
        rf"^`t` has a value that does not fit into Spark's {held}\[us\], got Casting from {held}\[ns\] to {held}\[us\] "
        r"would lose data: 1999\. Hint: round it to microseconds before the query, or run with engine='local'\.$"
    )
    with pytest.raises(DataError, match=pattern):
        for_spark(fine, fine.schema)


REFUSED: list[pa.DataType] = [
    pa.decimal256(50, 2),
    pa.decimal128(5, -2),
    pa.month_day_nano_interval(),
    pa.map_(pa.string(), pa.int64()),
    pa.list_view(pa.int64()),
    pa.list_(pa.decimal256(50, 2)),
    pa.struct([("x", pa.month_day_nano_interval())]),
    pa.struct([]),
]


@pytest.mark.parametrize("kind", REFUSED, ids=str)
def test_what_spark_does_not_hold_is_refused_by_name(kind: pa.DataType) -> None:
    pattern = (
        rf"^`odd` has a type that Spark does not hold, got {re.escape(str(kind))}. "
        r"Hint: cast the column in the query, leave it out, or run with engine='local'.$"
    )
    with pytest.raises(UnsupportedError, match=pattern):
        spark_schema(pa.schema([("fine", pa.int64()), ("odd", kind)]))


def test_a_time_beyond_sparks_times() -> None:
    batch = pa.record_batch({"t": pa.array([1 << 60], pa.timestamp("s"))})
    pattern = (
        r"^`t` has a value that does not fit into Spark's timestamp\[us\], got Casting from timestamp\[s\] to "
        r"timestamp\[us\] would result in out of bounds timestamp: 1152921504606846976. Hint: cast the column in the "
        r"query, or run with engine='local'.$"
    )
    with pytest.raises(DataError, match=pattern):
        for_spark(batch, batch.schema)


FRAME = "k string, m map<string,int>, t timestamp, v variant, l array<map<int,int>>, s struct<a:int>, y interval year"


def frame_schema(text: str) -> Any:
    from pyspark.sql.types import StructType

    return StructType.fromDDL(text)


def test_columns_that_windrow_does_not_read_are_left_out(spark: SparkSession) -> None:
    kinds: list[tuple[str, pa.DataType]] = [
        ("k", pa.string()),
        ("t", pa.timestamp("us", "UTC")),
        ("s", pa.struct([("a", pa.int32())])),
    ]
    assert pa.schema(kinds) == arrow_schema(frame_schema(FRAME))


@pytest.mark.parametrize(("name", "words"), [("m", "map<string,int>"), ("v", "variant"), ("l", "array<map<int,int>>")])
def test_columns_that_windrow_does_not_read_are_refused_when_used(spark: SparkSession, name: str, words: str) -> None:
    pattern = (
        rf"^`{name}` has a type that Windrow does not read, got {re.escape(words)}. "
        r"Hint: select what the query needs of it first, such as a value of a map.$"
    )
    refuse_unread(frame_schema(FRAME), ["k", "t", "s", "not there"])
    with pytest.raises(UnsupportedError, match=pattern):
        refuse_unread(frame_schema(FRAME), ["k", name])


def test_the_users_own_watermark(spark: SparkSession) -> None:
    frame = spark.readStream.format("rate").load()
    delayed = frame.withWatermark("timestamp", "90 seconds").selectExpr("timestamp AS t", "value")
    found = [watermark_of(delayed.schema, "t"), watermark_of(delayed.schema, "value"), watermark_of(frame.schema, "t")]
    assert [90_000, None, None] == found
