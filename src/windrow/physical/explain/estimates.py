"""What a window aggregate would cost under each strategy, in words, where statistics of its stream are given."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from windrow.aggregates import lookup
from windrow.aggregates.kinds import base
from windrow.aggregates.kinds.base import Part, value_type
from windrow.physical.costs import Constants, Estimate, Shape, Statistics, estimates
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import WindowAggregate
from windrow.plan.types.expressions import type_of
from windrow.semantics.windows.kinds import Sliding


def kept_by(node: WindowAggregate) -> Shape:
    """The state columns of a query before any of them widens; parts that several aggregates need are kept once."""
    schema = shape_of(node.input).schema
    needed: dict[Part, pa.DataType | None] = {}
    for call in node.aggregates:
        kind = None if call.argument is None else value_type(type_of(call.argument, schema))
        needed.update(dict.fromkeys(lookup(call.function).parts(call.argument, kind), kind))
    summed = {p.argument: k for p, k in needed.items() if isinstance(p, (base.Total, base.Mean, base.SquareDeviation))}
    squared = {p.argument: k for p, k in needed.items() if isinstance(p, base.SquareDeviation)}
    return Shape(
        adds=1 + sum(7 if _is_float(k) else 1 for k in summed.values()) + sum(map(_square_width, squared.values())),
        maxs=len({p for p in needed if isinstance(p, base.Extreme)}),
        pairs=2 * len({p for p in needed if isinstance(p, base.Edge)}),
        arguments=len({call.argument for call in node.aggregates if call.argument is not None}),
        values=sum(isinstance(part, base.Values) for part in needed),
    )


def _is_float(kind: pa.DataType | None) -> bool:
    return kind is not None and bool(pa.types.is_floating(kind))


def _square_width(kind: pa.DataType | None) -> int:
    return 15 if _is_float(kind) else 5


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
