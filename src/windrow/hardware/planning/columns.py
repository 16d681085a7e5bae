"""Columns as fields of so many bits: widths from their types, dictionaries for strings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from windrow.aggregates.kinds.base import value_type
from windrow.errors import UnsupportedError
from windrow.hardware.design import BitLayout, Field
from windrow.hardware.planning.options import CircuitOptions
from windrow.plan.types.kinds import Family, family_of, name_of

_TEMPORAL = {Family.TIMESTAMP: 64, Family.DATE: 32, Family.DURATION: 64}


@dataclass(frozen=True)
class CircuitColumn:
    """A column of a stream in a circuit: its field, its type, and for strings the values that the codes stand for.

    Timestamps and durations are microseconds, dates are days. The code of a string is its place in the dictionary.
    """

    name: str
    field: Field
    kind: pa.DataType
    dictionary: tuple[str, ...] | None = None

    def code(self, text: str) -> int:
        """The code of a string; of one that is not in the dictionary, a number that no row has."""
        assert self.dictionary is not None
        return self.dictionary.index(text) if text in self.dictionary else len(self.dictionary)


def circuit_columns(schema: pa.Schema, names: Iterable[str], options: CircuitOptions) -> dict[str, CircuitColumn]:
    """The columns that are read, in the order of the schema; one that does not fit into a circuit is refused."""
    wanted = set(names)
    return {one.name: _column(one, options) for one in schema if one.name in wanted}


def layout_of(columns: Iterable[CircuitColumn]) -> BitLayout:
    return BitLayout(tuple(column.field for column in columns))


def string_columns(schema: pa.Schema, names: Iterable[str]) -> list[str]:
    """Those of the columns that need a dictionary."""
    return [name for name in names if family_of(schema.field(name).type) is Family.STRING]


def _column(given: pa.Field, options: CircuitOptions) -> CircuitColumn:
    kind, name = value_type(given.type), given.name
    dictionary = _dictionary(name, kind, options)
    usual, signed = _usual(name, kind, dictionary)
    nullable = given.nullable and name not in options.not_null and "*" not in options.not_null
    width = options.widths.get(name, usual)
    if dictionary is not None and width < usual:
        raise UnsupportedError(
            f"must have {usual} bits for the {len(dictionary)} values of its dictionary", parameter=name, value=width
        )
    return CircuitColumn(name, Field(name, width, signed, nullable), kind, dictionary)


def _dictionary(name: str, kind: pa.DataType, options: CircuitOptions) -> tuple[str, ...] | None:
    if family_of(kind) is not Family.STRING:
        return None
    if name not in options.dictionaries:
        raise UnsupportedError(
            "is a string column, which hardware reads through a dictionary only",
            parameter=name,
            hint=f"list its values: --dictionary {name}=UBSN,CSGN; a simulation takes them from the data",
        )
    return tuple(options.dictionaries[name])


def _usual(name: str, kind: pa.DataType, dictionary: tuple[str, ...] | None) -> tuple[int, bool]:
    """The bits that a type takes, and whether it has a sign."""
    if dictionary is not None:
        return max(1, (len(dictionary) - 1).bit_length()), False
    family = family_of(kind)
    if family is Family.BOOLEAN:
        return 1, False
    if family in _TEMPORAL:
        return _TEMPORAL[family], True
    if family is Family.INTEGER:
        return kind.bit_width, pa.types.is_signed_integer(kind)
    hint = "scale it to whole numbers first: CAST(price * 100 AS BIGINT)" if _is_number(family) else "leave it out"
    raise UnsupportedError(
        f"is a {name_of(kind)} column, and hardware computes with whole numbers only", parameter=name, hint=hint
    )


def _is_number(family: Family) -> bool:
    return family in (Family.FLOAT, Family.DECIMAL)
