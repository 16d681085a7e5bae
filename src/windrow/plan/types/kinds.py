"""Families of Arrow types: which values compare, add up or merge into one column, what users call them; shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

import pyarrow as pa

from windrow.aggregates.kinds.base import is_plain, value_type
from windrow.errors import DataError
from windrow.plan.compression import WITHIN, Loss
from windrow.semantics.scalars.amounts import Domain
from windrow.semantics.scalars.moments import TOO_FINE, parse_moment


class Family(Enum):
    """Types that behave alike in expressions; the value is the name that users read and write."""

    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "bigint"
    FLOAT = "double"
    DECIMAL = "decimal"
    STRING = "string"
    TIMESTAMP = "timestamp"
    DATE = "date"
    DURATION = "interval"
    OTHER = "other"


NUMBERS = frozenset({Family.INTEGER, Family.FLOAT, Family.DECIMAL})

TIMESTAMP = pa.timestamp("us", tz="UTC")
DURATION = pa.duration("us")

_TESTS: tuple[tuple[Family, Callable[[pa.DataType], bool]], ...] = (
    (Family.NULL, pa.types.is_null),
    (Family.BOOLEAN, pa.types.is_boolean),
    (Family.INTEGER, pa.types.is_integer),
    (Family.FLOAT, pa.types.is_floating),
    (Family.DECIMAL, pa.types.is_decimal),
    (Family.STRING, pa.types.is_string),
    (Family.STRING, pa.types.is_large_string),
    (Family.STRING, pa.types.is_string_view),
    (Family.TIMESTAMP, pa.types.is_timestamp),
    (Family.DATE, pa.types.is_date),
    (Family.DURATION, pa.types.is_duration),
)


def family_of(kind: pa.DataType) -> Family:
    """The family of a type; a dictionary belongs to its values' family."""
    kind = value_type(kind)
    return next((family for family, holds in _TESTS if holds(kind)), Family.OTHER)


def name_of(kind: pa.DataType) -> str:
    """What users call a type.

    >>> name_of(pa.int32()), name_of(pa.list_(pa.int32()))
    ('bigint', 'list<item: int32>')
    """
    family = family_of(kind)
    return str(kind) if family is Family.OTHER else family.value


def normal_time(kind: pa.DataType) -> pa.DataType:
    """The type in which a progressing attribute is reported: microseconds in its own time zone, or int64."""
    return pa.timestamp("us", tz=kind.tz) if isinstance(kind, pa.TimestampType) else pa.int64()


def common(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The one type that holds the values of both, or None when they do not mix."""
    left, right = value_type(left), value_type(right)
    families = family_of(left), family_of(right)
    if left == right or families[1] is Family.NULL:
        return left
    if families[0] is Family.NULL:
        return right
    if families[0] is families[1]:
        return _widest(families[0], left, right)
    return pa.float64() if NUMBERS.issuperset(families) else None


def _widest(family: Family, left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    if isinstance(left, pa.TimestampType) and isinstance(right, pa.TimestampType):
        return pa.timestamp("us", tz=_zone(left.tz, right.tz))
    widest: dict[Family, pa.DataType] = {
        Family.INTEGER: pa.int64(),
        Family.FLOAT: pa.float64(),
        Family.DECIMAL: pa.float64(),
        Family.STRING: pa.string(),
        Family.DATE: pa.date32(),
        Family.DURATION: DURATION,
    }
    return widest.get(family)


def _zone(left: str | None, right: str | None) -> str | None:
    return left if left == right or right is None else right if left is None else "UTC"


def parse_timestamp(text: str) -> datetime | None:
    """The moment an ISO 8601 text names (UTC unless it says otherwise), or None. One that is too fine is refused.

    >>> parse_timestamp("2024-01-01 12:30").isoformat()
    '2024-01-01T12:30:00+00:00'
    """
    try:
        return parse_moment(text)
    except DataError as error:
        if error.rule == TOO_FINE:
            raise
        return None


@dataclass(frozen=True)
class Shape:
    """The schema of a node's rows, and its progressing attribute (None once it was projected away)."""

    schema: pa.Schema
    time: str | None
    lossy: Mapping[str, Loss] = field(default_factory=dict, compare=False)
    """The columns that are only near the exact ones."""

    @property
    def domain(self) -> Domain:
        assert self.time is not None
        return domain_of(self.schema.field(self.time).type)

    @property
    def answer(self) -> pa.Schema:
        """The columns as users get them: plain values where dictionaries served inside."""
        return pa.schema([(field.name, value_type(field.type)) for field in self.schema])

    @property
    def bounded_answer(self) -> pa.Schema:
        """The same, where each field that is only near the exact one says how near."""
        schema = self.answer
        for place, name in enumerate(schema.names):
            if name in self.lossy:
                schema = schema.set(place, schema.field(place).with_metadata({WITHIN: self.lossy[name].text}))
        return schema


def in_order(table: pa.Table, time: str | None) -> pa.Table:
    """The rows sorted by `time`, then by every column from left to right, so that equal answers are equal tables."""
    names = sorted(table.column_names, key=lambda name: name != time)
    keys = [(name, "ascending") for name in names if is_plain(table.schema.field(name).type)]
    return table.sort_by(keys) if keys else table  # type: ignore[arg-type]


def domain_of(kind: pa.DataType) -> Domain:
    return Domain.TIME if pa.types.is_timestamp(kind) else Domain.INTEGER
