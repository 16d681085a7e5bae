"""CAST of columns and the parts of timestamps; see `arithmetic` for what a kernel is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from windrow.operators.expressions.values import Datum, convert, filled, from_numpy, in_calendar, microseconds, pc
from windrow.plan.types.kinds import Family, family_of

_WHOLE = r"^-?[0-9]+$"
_DECIMAL = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def cast(arguments: Sequence[Datum], kind: pa.DataType) -> Datum | None:
    """The value as `kind`, which is the type that the second argument names."""
    values = arguments[0]
    if pa.types.is_timestamp(kind):
        return _to_timestamp(values, kind)
    if pa.types.is_string(kind):
        return _to_string(values)
    if family_of(values.type) is Family.STRING:
        return _read(convert(values, pa.string()), kind)
    if pa.types.is_boolean(kind):
        return values if values.type == kind else pc.not_equal(convert(values, pa.float64()), 0.0)
    return _to_bigint(values) if pa.types.is_integer(kind) else convert(values, kind)


def _to_timestamp(values: Datum, kind: pa.DataType) -> Datum | None:
    family = family_of(values.type)
    if family is Family.STRING:
        return None
    numbers = convert(values, pa.int64()) if family is Family.INTEGER else microseconds(values)
    return numbers.cast(kind) if family is Family.TIMESTAMP or in_calendar(numbers) else None


def _to_string(values: Datum) -> Datum | None:
    family = family_of(values.type)
    if family in (Family.BOOLEAN, Family.INTEGER, Family.STRING, Family.DATE):
        return convert(convert(values, pa.date32()) if family is Family.DATE else values, pa.string())
    if family is Family.TIMESTAMP and in_calendar(microseconds(values)):
        text = microseconds(values).cast(pa.timestamp("us")).cast(pa.string())
        return pc.replace_substring_regex(text, r"\.?0*$", "")
    return None


def _read(text: Datum, kind: pa.DataType) -> Datum | None:
    """Numbers from text that Arrow and Python read alike."""
    if pa.types.is_boolean(kind):
        return None
    pattern = _WHOLE if pa.types.is_integer(kind) else _DECIMAL
    plain = pc.all(pc.match_substring_regex(text, pattern)).as_py() is not False
    return text.cast(kind) if plain else None


def _to_bigint(values: Datum) -> Datum | None:
    family = family_of(values.type)
    if family in (Family.TIMESTAMP, Family.DURATION):
        return microseconds(values)
    if family is Family.DECIMAL:
        return None
    if family is not Family.FLOAT:
        return convert(values, pa.int64())
    numbers = filled(convert(values, pa.float64()), 0)
    fits = np.all((numbers >= -(2.0**63)) & (numbers < 2.0**63))  # not so for NaN
    return from_numpy(numbers.astype(np.int64), values) if fits else None


def part(name: str, arguments: Sequence[Datum], kind: pa.DataType) -> Datum | None:
    """A part of a timestamp, in UTC whatever the zone of the column."""
    numbers = microseconds(arguments[0])
    return pc.call_function(name, [numbers.cast(pa.timestamp("us"))]).cast(kind) if in_calendar(numbers) else None
