"""Whether columns can be kept within a bound, and what that makes of each answer.

An aggregate of values that are each at most e from those that came is itself not far from the exact one: means and
order statistics by at most e, deviations by at most e (a sample's by e * sqrt(n / (n - 1))), sums by e a row. What
compares values for equality has no such bound, so a column with one is refused there, and so are comparisons of
answers that have one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pyarrow as pa

from windrow.errors import QueryError
from windrow.plan.checks.windows import attribute_of
from windrow.plan.compression import bound_text
from windrow.plan.nodes import AggregateCall, Join, WindowAggregate
from windrow.plan.types.expressions import column_type, unknown_column
from windrow.plan.types.kinds import Family, family_of, name_of
from windrow.semantics.scalars.expressions import Column, columns_of
from windrow.semantics.scalars.grid import whole_bound
from windrow.semantics.windows.kinds import RowsWindow, SlideByTuple

_Words: TypeAlias = Callable[[str], str]

_SAMPLE = "sqrt(n / (n - 1))"
_BOUNDS: dict[str, _Words] = {
    **dict.fromkeys(("avg", "min", "max", "first", "last", "median", "quantile", "stddev_pop"), str),
    "sum": lambda e: f"{e} a row",
    "collect": lambda e: f"{e} each",
    "stddev": lambda e: f"{e} * {_SAMPLE}",
    "var_pop": lambda e: f"{e} * (2 * stddev_pop + {e})",
    "variance": lambda e: f"{e} * {_SAMPLE} * (2 * stddev + {e} * {_SAMPLE})",
}
"""How far an answer may be from the exact one, besides its own rounding, by the name of its function."""
_EXACT = ("count",)
"""Functions that do not look at values."""


def is_bounded_by(function: str) -> bool:
    """Whether the answers of a function are near when its values are."""
    return function in _BOUNDS or function in _EXACT


def answer_within(function: str, bound: str) -> str | None:
    """How far the answer of a function may be from the exact one; None where it is exact."""
    return _BOUNDS[function](bound) if function in _BOUNDS else None


def moved_by(bound: float, kind: pa.DataType) -> float:
    """How far the values of a type are moved at most; nothing where it is 0."""
    return float(whole_bound(bound)) if family_of(kind) is Family.INTEGER else bound


def refuse_bounds_of_join(node: Join) -> None:
    for name, bound in node.compression.within:
        raise _refused(
            "goes with the aggregates of a window: a join compares its columns and gives them as they came",
            name,
            bound,
            "leave it out, or put a window over the join",
        )


def check_compression(node: WindowAggregate, schema: pa.Schema, time: str | None) -> None:
    """Refuse bounds that cannot be kept, and columns that must stay exact."""
    names = [name for name, _ in node.compression.within]
    for place, (name, bound) in enumerate(node.compression.within):
        if name in names[:place]:
            raise _refused("must be given once for each column", name, bound, "leave one of them out")
        if name not in schema.names:
            raise unknown_column(name, schema.names, "within")
        _check_bound(name, bound)
        for rule, hint in _why_exact(node, name, time):
            raise _refused(rule, name, bound, hint)
        _check_column(name, bound, column_type(name, schema))
        _check_calls(node, name, bound)


def _refused(rule: str, name: str, bound: float, hint: str) -> QueryError:
    return QueryError(rule, parameter="within", value=f"{name} within {bound_text(bound)}", hint=hint)


def _check_bound(name: str, bound: float) -> None:
    if not (0 < bound < math.inf):
        hint = "say how far a value may be from the one that came, as in COMPRESS price WITHIN 0.01"
        raise _refused("must be a positive number", name, bound, f"{hint}; without WITHIN nothing is lost")


def _check_column(name: str, bound: float, kind: pa.DataType) -> None:
    if family_of(kind) not in (Family.INTEGER, Family.FLOAT):
        hint = f"{name} is {name_of(kind)}; CAST it in a subquery, or leave it out"
        raise _refused("must be of a column of whole numbers or doubles", name, bound, hint)


def _why_exact(node: WindowAggregate, name: str, time: str | None) -> Iterator[tuple[str, str]]:
    window = node.window
    if name in (time, attribute_of(window)):
        yield "must not be of a time that windows or progress depend on", "times say which windows a row is in"
    if any(name in columns_of(expression) for _, expression in node.keys):
        yield (
            "must not be of a column that is grouped by",
            "which group a row is in must be exact; leave it out",
        )
    if isinstance(window, (RowsWindow, SlideByTuple)) and name in window.partition:
        yield "must not be of a column that partitions windows", "leave it out"


def _check_calls(node: WindowAggregate, name: str, bound: float) -> None:
    using = [c for c in node.aggregates if c.argument is not None and name in columns_of(c.argument)]
    for call in using:
        _check_call(call, name, bound)
    if not using:
        hint = "leave it out, or name a column that an aggregate reads"
        raise _refused("must be of a column that an aggregate of the query reads", name, bound, hint)


def _check_call(call: AggregateCall, name: str, bound: float) -> None:
    if not is_bounded_by(call.function):
        rule = f"does not go with {call}, which has no bound: values that differ little may be equal or not"
        raise _refused(rule, name, bound, f"leave {call.function} or the bound out, or ask in a query of its own")
    if call.argument != Column(name):
        rule = f"is for aggregates of the column itself, and {call} computes with it"
        raise _refused(rule, name, bound, "compute it in a subquery, and bound what comes out of that")
