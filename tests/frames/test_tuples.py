"""Layouts: codes of columns, what fits into what, and what is refused."""

from __future__ import annotations

import re
import zlib

import pyarrow as pa
import pytest

from windrow.errors import ConfigurationError
from windrow.frames.tuples import TupleLayout, WireType

KINDS: dict[str, pa.DataType] = {"symbol": pa.string(), "price": pa.int64(), "volume": pa.int64(), "time": pa.int64()}
TRADES = pa.schema(KINDS)


def test_the_tuples_of_the_papers() -> None:
    layout = TupleLayout.of(TRADES, "s4,i4,i4,i4")
    assert 16 == layout.size
    assert [0, 4, 8, 12] == [column.place for column in layout.columns]
    assert zlib.crc32(b"symbol s4;price i4;volume i4;time i4") == layout.schema_id


def test_the_usual_code_of_every_type() -> None:
    kinds: list[pa.DataType] = [
        *(pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(), pa.date32()),
        *(pa.timestamp("ms", "UTC"), pa.duration("s"), pa.decimal128(9, 2), pa.binary(3)),
    ]
    codes = [code.code if (code := WireType.of(kind)) else None for kind in kinds]
    assert ["i1", "u2", "i4", "u8", "f4", "f8", "b1", "d4", "t8ms", "p8s", "n16(9.2)", "x3"] == codes
    odd: list[pa.DataType] = [pa.string(), pa.list_(pa.int8()), pa.float16()]
    assert [None] * 3 == [WireType.of(kind) for kind in odd]


@pytest.mark.parametrize(
    ("kind", "code", "fits"),
    [
        (pa.int64(), "i4", True),
        (pa.int64(), "u4", True),
        (pa.int64(), "u8", False),
        (pa.int32(), "i8", False),
        (pa.uint32(), "i2", False),
        (pa.int64(), "i3", False),
        (pa.float64(), "f4", True),
        (pa.float32(), "f8", False),
        (pa.timestamp("us"), "t4s", True),
        (pa.timestamp("us"), "t8us", True),
        (pa.timestamp("us"), "t8s", False),
        (pa.timestamp("s"), "t4us", False),
        (pa.string(), "s12", True),
        (pa.string(), "s0", False),
        (pa.string(), "x4", False),
        (pa.bool_(), "i1", False),
    ],
)
def test_what_fits(kind: pa.DataType, code: str, fits: bool) -> None:
    wire = WireType.parse(code)
    assert wire is not None
    assert fits == wire.carries(kind)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        (None, r"\A`trades` must have columns of fixed width in packed frames; symbol is string\. Hint: say how wide"),
        ("s4,i4", r"\A`types` must have a code for each of the 4 columns, got s4,i4\. Hint: write s4,i8,i8,i8\.\Z"),
        ("s4,f4,i4,i4", r"\A`types` must fit price, which is int64, got f4\. Hint: write i8\.\Z"),
        ("s4,rubbish,i4,i4", r"\A`types` must fit price, which is int64, got rubbish\. Hint: write i8\.\Z"),
    ],
)
def test_what_is_refused(types: str | None, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        TupleLayout.of(TRADES, types, "trades")
    assert re.search(message, str(caught.value)), str(caught.value)


def test_types_that_have_no_fixed_width_are_refused_with_a_way_out() -> None:
    with pytest.raises(ConfigurationError, match=r"x is list<item: int8>\. Hint: send frames=json\.\Z"):
        TupleLayout.of(pa.schema([("x", pa.list_(pa.int8()))]))
