"""What a window aggregate would cost under each strategy, in words, where statistics of its stream are given."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from windrow.aggregates import lookup
from windrow.aggregates.kinds.base import Part, Values, value_type
from windrow.aggregates.parts.columns import Columns, Rule
from windrow.physical.costs import Constants, Estimate, StateShape, Statistics, estimates
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import WindowAggregate
from windrow.plan.types.expressions import type_of
from windrow.semantics.windows.kinds import Sliding


def kept_by(node: WindowAggregate) -> StateShape:
    """The state columns of a query before any of them widens; parts that several aggregates need are kept once."""
    schema = shape_of(node.input).schema
    needed: dict[Part, pa.DataType | None] = {}
    for call in node.aggregates:
        kind = None if call.argument is None else value_type(type_of(call.argument, schema))
        needed.update(dict.fromkeys(lookup(call.function).parts(call.argument, kind, call.parameters), kind))
    columns = {(p.argument, c): k for p, k in needed.items() if k is not None for c in p.columns}
    weights = dict.fromkeys(Rule, 0)
    for (_, declared), kind in columns.items():
        weights[declared.rule] += _weight(declared, kind)
    return StateShape(
        adds=1 + weights[Rule.ADD],
        maxs=weights[Rule.GREATEST],
        pairs=weights[Rule.LATEST],
        arguments=len({call.argument for call in node.aggregates if call.argument is not None}),
        values=sum(isinstance(part, Values) for part in needed),
    )


def _weight(declared: Columns, kind: pa.DataType) -> int:
    """In columns of eight bytes."""
    return -(-declared.width(kind) * np.dtype(declared.dtype).itemsize // 8)


def describe_estimates(node: WindowAggregate, stats: Statistics, constants: Constants) -> Iterator[str]:
    """A line for each strategy; none for windows that have but one."""
    if isinstance(node.window, Sliding):
        for strategy, found in estimates(node.window, kept_by(node), stats, constants).items():
            yield f"{strategy.value}: {brief(found)}"


def brief(found: Estimate) -> str:
    """An estimate in a few words."""
    return f"{_short(found.time / 1e3)} us a window, {_short(found.memory / 1e3)} kB of state"


def _short(number: float) -> str:
    """Three digits.

    >>> _short(12345.6), _short(0.1234)
    ('12,300', '0.123')
    """
    return f"{float(f'{number:.3g}'):,.12g}"
