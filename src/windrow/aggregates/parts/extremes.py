"""The greatest or least value of an argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.aggregates.kinds.base import Integers, Part
from windrow.aggregates.parts.columns import Columns, Rule, Stored
from windrow.semantics.scalars.expressions import Expression


@dataclass(frozen=True)
class Greatest(Columns):
    """The greatest (or least) order key."""

    rule = Rule.GREATEST
    greatest: bool

    def width(self, kind: pa.DataType) -> int:
        return 1


@dataclass(frozen=True)
class Extreme(Part):
    """The greatest (or least) value. Value: numpy array of the argument's storage type."""

    argument: Expression
    greatest: bool

    @property
    def columns(self) -> tuple[Columns, ...]:
        return (Greatest(self.greatest),)

    def read(self, rows: Integers, stored: Stored) -> Any:
        column, state = stored(Greatest(self.greatest))
        return column.read(state)
