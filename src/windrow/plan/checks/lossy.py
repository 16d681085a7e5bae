"""Which columns of a node are only near the exact ones, by how much, and where that is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from windrow.errors import QueryError
from windrow.plan.checks.compression import answer_within, is_bounded_by, moved_by
from windrow.plan.compression import UNKNOWN, Loss, bound_text
from windrow.plan.nodes import AggregateCall, WindowAggregate
from windrow.plan.types.expressions import column_type
from windrow.semantics.scalars.expressions import Call, Column, Expression, columns_of

_COMPARES = frozenset({"=", "<>", "<", "<=", ">", ">=", "in", "nullif"})
_HINT = "compare where the answer is read, or leave COMPRESS ... WITHIN out"


def refuse_comparison(expression: Expression | None, lossy: Mapping[str, Loss]) -> None:
    """Refuse a condition that reads a column that is only near the exact one."""
    if expression is not None:
        refuse_lossy(columns_of(expression), lossy, "must not be compared", _HINT)


def refuse_lossy(names: Iterable[str], lossy: Mapping[str, Loss], rule: str, hint: str) -> None:
    for name in names:
        if name in lossy:
            why = f"{rule}: COMPRESS ... WITHIN gives {lossy[name].answer} near the exact answer only"
            raise QueryError(why, parameter=name, value=f"within {lossy[name].text}", hint=hint)


def projected_loss(expression: Expression, lossy: Mapping[str, Loss]) -> Loss | None:
    """What an expression over such columns gives; None where it is exact."""
    if isinstance(expression, Column):
        return lossy.get(expression.name)
    for condition in _comparisons(expression):
        refuse_comparison(condition, lossy)
    return UNKNOWN if any(name in lossy for name in columns_of(expression)) else None


def _comparisons(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Call):
        if expression.function in _COMPARES:
            yield expression
        for argument in expression.arguments:
            yield from _comparisons(argument)


def loss_of_answers(node: WindowAggregate, schema: pa.Schema, below: Mapping[str, Loss]) -> dict[str, Loss]:
    """Those answers of a window that are only near the exact ones, over an input that may have such columns itself."""
    for _, expression in node.keys:
        hint = f"group by columns that are exact; {_HINT}"
        refuse_lossy(columns_of(expression), below, "must not be grouped by", hint)
    moved = {name: moved_by(bound, column_type(name, schema)) for name, bound in node.compression.within}
    found = ((call.name, _answer_loss(call, moved, below)) for call in node.aggregates)
    return {name: loss for name, loss in found if loss is not None}


def _answer_loss(call: AggregateCall, moved: Mapping[str, float], below: Mapping[str, Loss]) -> Loss | None:
    if call.argument is None:
        return None
    loss = projected_loss(call.argument, below)
    if loss is not None and not is_bounded_by(call.function):
        refuse_lossy(columns_of(call.argument), below, f"must not be read by {call.function}", _HINT)
    own = moved.get(call.argument.name, 0.0) if isinstance(call.argument, Column) else 0.0
    total = own if loss is None else None if loss.bound is None else own + loss.bound
    if total is None:
        return None if answer_within(call.function, "") is None else UNKNOWN
    text = answer_within(call.function, bound_text(total)) if total else None
    named = f"{call.function}({call.argument})"
    return None if text is None else Loss(text, total if text == bound_text(total) else None, named)


def merged_loss(parts: Iterable[Mapping[str, Loss]]) -> dict[str, Loss]:
    """What the rows of several inputs are together."""
    merged: dict[str, Loss] = {}
    for part in parts:
        for name, loss in part.items():
            known = merged.get(name, loss)
            merged[name] = loss if known == loss else _wider(known, loss)
    return merged


def _wider(one: Loss, other: Loss) -> Loss:
    if one.bound is None or other.bound is None:
        return UNKNOWN
    return max(one, other, key=lambda loss: loss.bound or 0.0)
