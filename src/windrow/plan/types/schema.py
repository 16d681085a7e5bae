"""What columns a plan node gives, and which of them its progress is on."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from windrow.aggregates.kinds.base import value_type
from windrow.semantics.scalars.amounts import Domain


@dataclass(frozen=True)
class Shape:
    """The schema of a node's rows, and its progressing attribute (None once it was projected away)."""

    schema: pa.Schema
    time: str | None

    @property
    def domain(self) -> Domain:
        assert self.time is not None
        return domain_of(self.schema.field(self.time).type)

    @property
    def answer(self) -> pa.Schema:
        """The columns as users get them: plain values where dictionaries served inside."""
        return pa.schema([(field.name, value_type(field.type)) for field in self.schema])


def in_order(table: pa.Table, time: str | None) -> pa.Table:
    """The rows sorted by `time`, then by every column from left to right, so that equal answers are equal tables."""
    names = sorted(table.column_names, key=lambda name: name != time)
    keys = [(name, "ascending") for name in names if not pa.types.is_nested(table.schema.field(name).type)]
    return table.sort_by(keys) if keys else table  # type: ignore[arg-type]


def domain_of(kind: pa.DataType) -> Domain:
    return Domain.TIME if pa.types.is_timestamp(kind) else Domain.INTEGER
