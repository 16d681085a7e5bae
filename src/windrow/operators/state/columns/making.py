"""The columns that parts declare, for an argument of a type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from windrow.aggregates.parts.columns import Columns, Sketch
from windrow.aggregates.parts.counts import Counted
from windrow.aggregates.parts.edges import Latest
from windrow.aggregates.parts.extremes import Greatest
from windrow.aggregates.parts.squares import Squared
from windrow.aggregates.parts.sums import Summed
from windrow.operators.state.columns.base import StateColumn
from windrow.operators.state.columns.counts import ValidColumn
from windrow.operators.state.columns.edges import LatestColumn
from windrow.operators.state.columns.extremes import GreatestColumn
from windrow.operators.state.columns.float_sums import FloatSum
from windrow.operators.state.columns.registers import RegisterColumns
from windrow.operators.state.columns.squares import FloatSquares, IntegerSquares
from windrow.operators.state.columns.sums import IntegerSum

_MADE: dict[type[Columns], Callable[[Any, pa.DataType], StateColumn]] = {
    Counted: lambda *_: ValidColumn(),
    Summed: lambda _, kind: FloatSum() if pa.types.is_floating(kind) else IntegerSum(),
    Squared: lambda _, kind: FloatSquares() if pa.types.is_floating(kind) else IntegerSquares(),
    Greatest: lambda declared, kind: GreatestColumn(declared.greatest, kind),
    Latest: lambda declared, kind: LatestColumn(declared.latest, kind),
}


def column_for(declared: Columns, kind: pa.DataType) -> StateColumn:
    """What keeps the declared columns of an argument of this type."""
    if isinstance(declared, Sketch):
        return RegisterColumns(declared, declared.width(kind))
    return _MADE[type(declared)](declared, kind)
