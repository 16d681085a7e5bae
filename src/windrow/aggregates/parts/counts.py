"""How many rows, and how many values that are not NULL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.aggregates.kinds.base import Integers, Part
from windrow.aggregates.parts.columns import Columns, Rule, Stored
from windrow.semantics.scalars.expressions import Expression


@dataclass(frozen=True)
class Counted(Columns):
    """Values that are not NULL; no column at all until the first NULL. Every argument has it."""

    rule = Rule.ADD

    def width(self, kind: pa.DataType) -> int:
        return 0


COUNTED = Counted()


@dataclass(frozen=True)
class RowCount(Part):
    """Rows, NULLs included. Value: int64 array."""

    argument: None = None

    def read(self, rows: Integers, stored: Stored) -> Any:
        return rows


@dataclass(frozen=True)
class ValidCount(Part):
    """Rows whose argument is not NULL. Value: int64 array."""

    argument: Expression
    columns = (COUNTED,)

    def read(self, rows: Integers, stored: Stored) -> Any:
        column, state = stored(COUNTED)
        return column.read(state)
