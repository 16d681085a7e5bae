"""The value of an argument at the latest or earliest event time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.aggregates.kinds.base import Integers, Part
from windrow.aggregates.parts.columns import Columns, Rule, Stored
from windrow.semantics.scalars.expressions import Expression


@dataclass(frozen=True)
class Latest(Columns):
    """The latest (or earliest) time and the order key at it."""

    rule = Rule.LATEST
    latest: bool

    def width(self, kind: pa.DataType) -> int:
        return 2


@dataclass(frozen=True)
class Edge(Part):
    """The value at the latest (or earliest) event time; ties go to the greatest (or least) value."""

    argument: Expression
    latest: bool

    @property
    def columns(self) -> tuple[Columns, ...]:
        return (Latest(self.latest),)

    def read(self, rows: Integers, stored: Stored) -> Any:
        column, state = stored(Latest(self.latest))
        return column.read(state)
