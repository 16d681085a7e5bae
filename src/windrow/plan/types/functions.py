"""What each scalar function makes of the types of its arguments, or why it refuses them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import TypeAlias

import pyarrow as pa

from windrow.errors import QueryError
from windrow.plan.types.kinds import (
    DURATION,
    NUMBERS,
    TIMESTAMP,
    Family,
    common,
    family_of,
    name_of,
    normal_time,
    parse_timestamp,
)
from windrow.semantics.scalars.expressions import Call, Expression, Literal

Kinds: TypeAlias = Sequence[pa.DataType]
Rule: TypeAlias = Callable[[Call, Kinds], pa.DataType]

CAST_TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "timestamp": TIMESTAMP,
}
"""What `CAST(x AS ...)` gives, by the name in the expression."""


def _refuse(call: Call, kinds: Kinds, rule: str, hint: str | None = None) -> QueryError:
    given = " and ".join(name_of(kind) for kind in kinds)
    return QueryError(rule, parameter=call.function.upper(), value=f"{given} in {call}", hint=hint)


def _all_in(kinds: Kinds, families: Iterable[Family]) -> bool:
    return {family_of(kind) for kind in kinds} <= {Family.NULL, *families}


def _arithmetic(call: Call, kinds: Kinds) -> pa.DataType:
    if not _all_in(kinds, NUMBERS):
        raise _refuse(call, kinds, "needs numbers", "CAST(column AS DOUBLE) reads a number from a string")
    if call.function == "/" or not _all_in(kinds, {Family.INTEGER}):
        return pa.float64()
    return pa.int64()


def _add(call: Call, kinds: Kinds) -> pa.DataType:
    moments = [kind for kind in kinds if family_of(kind) is Family.TIMESTAMP]
    if _all_in(kinds, {Family.DURATION}) and not _all_in(kinds, ()):
        return DURATION
    if len(moments) == 1 and _all_in(kinds, {Family.TIMESTAMP, Family.DURATION}) and _moves(call, kinds):
        return normal_time(moments[0])
    if len(moments) == 2 and call.function == "-":
        return DURATION
    if _all_in(kinds, NUMBERS):
        return _arithmetic(call, kinds)
    rule = "needs numbers, or a timestamp and an interval"
    hint = "use || to join strings" if _all_in(kinds, {Family.STRING}) else _add_hint(kinds)
    raise _refuse(call, kinds, rule, hint)


def _moves(call: Call, kinds: Kinds) -> bool:
    """An interval minus a timestamp means nothing; every other order does."""
    return call.function == "+" or family_of(kinds[0]) is Family.TIMESTAMP


def _add_hint(kinds: Kinds) -> str:
    if any(family_of(kind) is Family.TIMESTAMP for kind in kinds):
        return "write time + INTERVAL '1' MINUTE"
    return "CAST(column AS DOUBLE) reads a number from a string"


def _negate(call: Call, kinds: Kinds) -> pa.DataType:
    return DURATION if family_of(kinds[0]) is Family.DURATION else _arithmetic(call, kinds)


def _compare(call: Call, kinds: Kinds) -> pa.DataType:
    for argument, kind in zip(call.arguments[1:], kinds[1:], strict=True):
        if not _comparable(call.arguments[0], kinds[0], argument, kind):
            raise _refuse(call, (kinds[0], kind), "compares values of one kind", _compare_hint(kinds[0], kind))
    return pa.bool_()


def _comparable(left: Expression, left_kind: pa.DataType, right: Expression, right_kind: pa.DataType) -> bool:
    if Family.OTHER in (family_of(left_kind), family_of(right_kind)):
        return False
    return common(left_kind, right_kind) is not None or _is_moment(left, right_kind) or _is_moment(right, left_kind)


def _is_moment(expression: Expression, other: pa.DataType) -> bool:
    """A string literal that reads as a time next to a timestamp or a date."""
    if not isinstance(expression, Literal) or not isinstance(expression.value, str):
        return False
    return family_of(other) in (Family.TIMESTAMP, Family.DATE) and parse_timestamp(expression.value) is not None


def _compare_hint(left: pa.DataType, right: pa.DataType) -> str:
    families = {family_of(left), family_of(right)}
    if families == {Family.TIMESTAMP, Family.DATE}:
        return "write DATE '2024-01-31' beside a date, or CAST the date AS TIMESTAMP"
    if Family.TIMESTAMP in families:
        return "write TIMESTAMP '2024-01-01 00:00:00', or CAST one side AS TIMESTAMP"
    if Family.STRING in families:
        return "quote the constant to compare text, or CAST the column"
    return "CAST one side to the type of the other"


def _boolean(call: Call, kinds: Kinds) -> pa.DataType:
    if not _all_in(kinds, {Family.BOOLEAN}):
        raise _refuse(call, kinds, "needs conditions (true or false)", "compare the value, as in x > 0")
    return pa.bool_()


def _merge(call: Call, kinds: Kinds) -> pa.DataType:
    def step(left: pa.DataType, right: pa.DataType) -> pa.DataType:
        merged = common(left, right)
        if merged is None:
            raise _refuse(call, (left, right), "needs values of one kind", "CAST one of them to the type of the other")
        return merged

    return reduce(step, kinds)


def _ordered_merge(call: Call, kinds: Kinds) -> pa.DataType:
    if not _all_in(kinds, set(Family) - {Family.OTHER}):
        raise _refuse(call, kinds, "needs values that have an order")
    return _merge(call, kinds)


def _nullif(call: Call, kinds: Kinds) -> pa.DataType:
    _compare(call, kinds)
    return kinds[0]


def _case(call: Call, kinds: Kinds) -> pa.DataType:
    pairs = len(kinds) // 2
    _boolean(call, [kinds[2 * i] for i in range(pairs)])
    values = [kinds[2 * i + 1] for i in range(pairs)]
    return _merge(call, values + ([kinds[-1]] if len(kinds) % 2 else []))


_CASTABLE: dict[str, frozenset[Family]] = {
    "boolean": frozenset({Family.BOOLEAN, Family.STRING, *NUMBERS}),
    "bigint": frozenset({Family.BOOLEAN, Family.STRING, Family.TIMESTAMP, Family.DURATION, *NUMBERS}),
    "double": frozenset({Family.BOOLEAN, Family.STRING, *NUMBERS}),
    "string": frozenset(set(Family) - {Family.OTHER}),
    "timestamp": frozenset({Family.STRING, Family.TIMESTAMP, Family.DATE, Family.INTEGER}),
}


def _cast(call: Call, kinds: Kinds) -> pa.DataType:
    target = call.arguments[1]
    if not isinstance(target, Literal) or target.value not in CAST_TYPES:
        given = target.value if isinstance(target, Literal) else target
        raise QueryError("must name a type", parameter="CAST", value=str(given), allowed=tuple(CAST_TYPES))
    if not _all_in(kinds[:1], _CASTABLE[target.value]):
        raise QueryError(
            f"cannot make a {target.value}", parameter="CAST", value=f"{name_of(kinds[0])} in {call.arguments[0]}"
        )
    kept = target.value == "timestamp" and family_of(kinds[0]) is Family.TIMESTAMP
    return normal_time(kinds[0]) if kept else CAST_TYPES[target.value]


def _keeps_integers(call: Call, kinds: Kinds) -> pa.DataType:
    if call.function == "round" and len(kinds) == 2 and not _all_in(kinds[1:], {Family.INTEGER}):
        raise _refuse(call, kinds[1:], "needs a whole number of digits")
    return _arithmetic(call, kinds[:1])


def _within(call: Call, kinds: Kinds) -> pa.DataType:
    if not _all_in(kinds[:1], {Family.INTEGER, Family.FLOAT}):
        raise _refuse(call, kinds[:1], "needs whole numbers or doubles")
    return kinds[0]


def _to_double(call: Call, kinds: Kinds) -> pa.DataType:
    _arithmetic(call, kinds)
    return pa.float64()


def _text(call: Call, kinds: Kinds) -> pa.DataType:
    if not _all_in(kinds, {Family.STRING}):
        raise _refuse(call, kinds, "needs strings", "CAST(column AS STRING) makes a string")
    return _TEXT_RESULTS.get(call.function, pa.string())


_TEXT_RESULTS: dict[str, pa.DataType] = {"like": pa.bool_(), "starts_with": pa.bool_(), "length": pa.int64()}


def _substring(call: Call, kinds: Kinds) -> pa.DataType:
    _text(call, kinds[:1])
    if not _all_in(kinds[1:], {Family.INTEGER}):
        raise _refuse(call, kinds[1:], "needs whole numbers for start and length")
    return pa.string()


def _time_part(call: Call, kinds: Kinds) -> pa.DataType:
    if not _all_in(kinds, {Family.TIMESTAMP, Family.DATE}):
        raise _refuse(call, kinds, "needs a timestamp", "CAST(column AS TIMESTAMP) reads one from a string")
    return pa.int64()


_BY_RULE: tuple[tuple[Rule, str], ...] = (
    (_compare, "= <> < <= > >= in"),
    (_add, "+ -"),
    (_arithmetic, "* / %"),
    (_negate, "neg"),
    (_boolean, "and or not"),
    (lambda _call, _kinds: pa.bool_(), "is_null"),
    (_case, "case"),
    (_cast, "cast"),
    (_merge, "coalesce"),
    (_ordered_merge, "greatest least"),
    (_nullif, "nullif"),
    (_keeps_integers, "abs sign round floor ceil"),
    (_within, "within"),
    (_to_double, "sqrt exp ln power"),
    (_text, "like || lower upper trim length replace starts_with concat"),
    (_substring, "substring"),
    (_time_part, "year month day hour minute second"),
)
RULES: dict[str, Rule] = {name: rule for rule, names in _BY_RULE for name in names.split()}
"""The rule of every scalar function."""
