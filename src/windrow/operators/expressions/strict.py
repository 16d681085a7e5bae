"""Every function that reads all of its arguments, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import TypeAlias

import pyarrow as pa

from windrow.operators.expressions import arithmetic, casting, text
from windrow.operators.expressions.comparison import compare
from windrow.operators.expressions.grid import round_within
from windrow.operators.expressions.values import Datum, expanded, is_scalar, nothing, pc, row_by_row, settled

Kernel: TypeAlias = Callable[[Sequence[Datum], pa.DataType], Datum | None]


def apply(function: str, arguments: Sequence[Datum], kind: pa.DataType) -> Datum:
    """A function of its arguments, with the result type of the plan."""
    if all(map(is_scalar, arguments)):
        return apply(function, [expanded(arguments[0], 1), *arguments[1:]], kind)[0]
    if function in _NULLS:
        return _NULLS[function](arguments, kind)
    if any(pa.types.is_null(one.type) or (is_scalar(one) and not one.is_valid) for one in arguments):
        return expanded(nothing(kind), len(next(a for a in arguments if not is_scalar(a))))
    try:
        result = _KERNELS[function](arguments, kind)
    except pa.ArrowInvalid:
        result = None
    return row_by_row(function, arguments, kind) if result is None else result


def _in(arguments: Sequence[Datum], kind: pa.DataType) -> Datum:
    """True when one equals the needle; NULL when none does but one of them is NULL."""
    needle, *rest = arguments
    if _is_plain_set(needle, rest):
        found = pc.is_in(needle, pa.array([value.as_py() for value in rest], needle.type))
        return pc.if_else(pc.is_valid(needle), found, nothing(kind)) if needle.null_count else found
    return reduce(pc.or_kleene, (apply("=", (needle, value), kind) for value in rest))


def _is_plain_set(needle: Datum, rest: Sequence[Datum]) -> bool:
    """Constants of the needle's type, in which Arrow's idea of equality is ours."""
    if is_scalar(needle) or not (pa.types.is_int64(needle.type) or pa.types.is_string(needle.type)):
        return False
    return all(is_scalar(value) and value.is_valid and value.type == needle.type for value in rest)


def _nullif(arguments: Sequence[Datum], kind: pa.DataType) -> Datum:
    equal = apply("=", arguments, pa.bool_())
    return pc.if_else(pc.fill_null(equal, False), nothing(kind), settled(arguments[0], kind))


def _extreme(operator: str, arguments: Sequence[Datum], kind: pa.DataType) -> Datum:
    """The first of the values that no other beats; NULLs take no part."""

    def better(best: Datum, value: Datum) -> Datum:
        beats = pc.fill_null(apply(operator, (value, best), pa.bool_()), False)
        return pc.if_else(pc.or_(beats, pc.is_null(best)), value, best)

    return reduce(better, (settled(argument, kind) for argument in arguments))


_NULLS: dict[str, Kernel] = {
    "is_null": lambda arguments, _kind: pc.is_null(arguments[0]),
    "in": _in,
    "nullif": _nullif,
    "greatest": partial(_extreme, ">"),
    "least": partial(_extreme, "<"),
    "concat": text.concat,
}
"""Functions that give more than NULL for NULL."""


_KERNELS: dict[str, Kernel] = {
    **{operator: partial(compare, operator) for operator in ("=", "<>", "<", "<=", ">", ">=")},
    "not": lambda arguments, _kind: pc.invert(arguments[0]),
    "+": partial(arithmetic.exact, "add"),
    "-": partial(arithmetic.exact, "subtract"),
    "*": partial(arithmetic.exact, "multiply"),
    "/": arithmetic.divide,
    "%": arithmetic.remainder,
    "neg": arithmetic.negate,
    "abs": partial(arithmetic.whole_or_double, "abs_checked", "abs"),
    "sign": arithmetic.sign,
    "round": arithmetic.round_half_away,
    "within": round_within,
    **{name: partial(arithmetic.keeps_whole, name) for name in ("floor", "ceil")},
    **{name: partial(arithmetic.in_doubles, name) for name in ("sqrt", "exp", "ln", "power")},
    "cast": casting.cast,
    "like": text.like,
    "||": text.join,
    "lower": partial(text.in_ascii, "utf8_lower"),
    "upper": partial(text.in_ascii, "utf8_upper"),
    "trim": text.trim,
    "length": text.length,
    "substring": text.substring,
    "replace": text.replace,
    "starts_with": text.starts_with,
    **{name: partial(casting.part, name) for name in ("year", "month", "day", "hour", "minute", "second")},
}
"""Functions that give NULL when an argument is NULL."""
