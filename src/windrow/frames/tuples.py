"""How a row lies in a record of fixed width: its columns one behind the other, without gaps.

Each column has a code: a letter for what it is, how many bytes it takes, and for times their unit. Integers and floats
may be narrower on the wire than in the stream; text has a width of its own, filled up with zero bytes.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from windrow.errors import ConfigurationError

_CODE = re.compile(r"([a-z])(\d+)(.*)")
_UNITS = ("s", "ms", "us", "ns")
EXAMPLE = "types=s4,i4,i4,i4 (text of 4 bytes, integers of 4 bytes)"


@dataclass(frozen=True)
class WireType:
    """What a column is on the wire: `kind` letter, bytes, and the unit of times or the digits of decimals.

    >>> WireType.parse("t8us"), WireType.parse("s4").code
    (WireType(kind='t', width=8, unit='us'), 's4')
    """

    kind: str
    width: int
    unit: str = ""

    @property
    def code(self) -> str:
        return f"{self.kind}{self.width}{self.unit}"

    @staticmethod
    def parse(code: str) -> WireType | None:
        found = _CODE.fullmatch(code.strip())
        return None if found is None else WireType(found[1], int(found[2]), found[3])

    @staticmethod
    def of(kind: pa.DataType) -> WireType | None:
        """How values of a type lie on the wire unless somebody says otherwise; None where they have no fixed width."""
        letters = ((pa.types.is_signed_integer, "i"), (pa.types.is_unsigned_integer, "u"), (pa.types.is_floating, "f"))
        for holds, letter in letters:
            if holds(kind) and kind != pa.float16():
                return WireType(letter, kind.bit_width // 8)
        if pa.types.is_boolean(kind):
            return WireType("b", 1)
        if pa.types.is_date32(kind):
            return WireType("d", 4)
        if isinstance(kind, pa.TimestampType):
            return WireType("t", 8, kind.unit)
        if isinstance(kind, pa.DurationType):
            return WireType("p", 8, kind.unit)
        if isinstance(kind, pa.Decimal128Type):
            return WireType("n", 16, f"({kind.precision}.{kind.scale})")
        if isinstance(kind, pa.FixedSizeBinaryType):
            return WireType("x", kind.byte_width)
        return None

    def carries(self, kind: pa.DataType) -> bool:
        """Whether every value on the wire is one of a column of this type."""
        usual = WireType.of(kind)
        if is_text(kind):
            return self.kind == "s" and 1 <= self.width <= 256 and not self.unit
        if usual is None:
            return False
        if self.kind in "iu" and usual.kind in "iu":
            narrow = self.width in (1, 2, 4, 8) and not self.unit
            if self.kind == usual.kind:
                return narrow and self.width <= usual.width
            return narrow and self.kind == "u" and self.width < usual.width
        if self.kind == usual.kind == "f":
            return self.width in (4, 8) and self.width <= usual.width and not self.unit
        if self.kind == usual.kind == "t" and self.width == 4 and self.unit in _UNITS:
            return _UNITS.index(self.unit) <= _UNITS.index(usual.unit)
        return self == usual


def is_text(kind: pa.DataType) -> bool:
    """Whether values are text, coded or not."""
    kind = kind.value_type if isinstance(kind, pa.DictionaryType) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


@dataclass(frozen=True)
class WireColumn:
    """One column in a record: where it begins, and what it is there and in the stream."""

    name: str
    kind: pa.DataType
    wire: WireType
    place: int


@dataclass(frozen=True)
class TupleLayout:
    """The columns of a record, in order.

    >>> layout = TupleLayout.of(pa.schema([("k", pa.string()), ("x", pa.int64())]), "s4,i4")
    >>> layout.text, layout.size, [column.place for column in layout.columns]
    ('k s4;x i4', 8, [0, 4])
    """

    columns: tuple[WireColumn, ...]

    @staticmethod
    def of(schema: pa.Schema, types: str | None = None, parameter: str = "stream") -> TupleLayout:
        """The layout of a stream's columns; `types` has a code for each, where they are not the usual ones."""
        codes = [None] * len(schema) if types is None else list(types.split(","))
        if len(codes) != len(schema):
            raise ConfigurationError(
                f"must have a code for each of the {len(schema)} columns",
                parameter="types",
                value=types,
                hint=f"write {','.join(_usual(field.type) for field in schema)}",
            )
        columns, place = list[WireColumn](), 0
        for field, code in zip(schema, codes, strict=True):
            wire = _wire(field, code, parameter)
            columns.append(WireColumn(field.name, field.type, wire, place))
            place += wire.width
        return TupleLayout(tuple(columns))

    @cached_property
    def size(self) -> int:
        """Bytes of a record without a NULL in it."""
        return sum(column.wire.width for column in self.columns)

    @property
    def null_bytes(self) -> int:
        """Bytes in front of a record that say which of its values are NULL."""
        return -(-len(self.columns) // 8)

    @property
    def text(self) -> str:
        """What the schema id is made of: names and codes."""
        return ";".join(f"{column.name} {column.wire.code}" for column in self.columns)

    @cached_property
    def schema_id(self) -> int:
        """The CRC-32 of `text` in UTF-8."""
        return zlib.crc32(self.text.encode())

    def chosen(self, names: Sequence[str]) -> tuple[tuple[int, WireColumn], ...]:
        """Some columns, in this order, with their numbers in the record."""
        places = {column.name: number for number, column in enumerate(self.columns)}
        return tuple((places[name], self.columns[places[name]]) for name in names)


def _usual(kind: pa.DataType) -> str:
    usual = WireType.of(kind)
    return "s4" if is_text(kind) else usual.code if usual else "?"


def _wire(field: pa.Field[pa.DataType], code: str | None, parameter: str) -> WireType:
    usual = WireType.of(field.type)
    if code is None and usual is not None:
        return usual
    if code is None:
        raise ConfigurationError(
            f"must have columns of fixed width in packed frames; {field.name} is {field.type}",
            parameter=parameter,
            hint=f"say how wide text is, {EXAMPLE}, or send frames=json" if is_text(field.type) else "send frames=json",
        )
    wire = WireType.parse(code)
    if wire is None or not wire.carries(field.type):
        raise ConfigurationError(
            f"must fit {field.name}, which is {field.type}",
            parameter="types",
            value=code,
            hint=f"write {_usual(field.type)}" if _usual(field.type) != "?" else "leave the column out",
        )
    return wire
