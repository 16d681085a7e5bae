"""What a join's predicate is made of: equalities, bands, a condition on the two times, and the rest.

A band keeps a value of one side within a distance of a value of the other, as in
`a.x BETWEEN b.y - 10 AND b.y + 10`. Equalities and bands can be looked up; what remains must be tried pair by pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from typing import Any, TypeAlias

import pyarrow as pa

from windrow.plan.types.expressions import type_of
from windrow.plan.types.kinds import Family, family_of
from windrow.semantics.joins import LEFT, RIGHT, Between
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal, columns_of

Number: TypeAlias = int | float


@dataclass(frozen=True)
class Equality:
    """`left = right`, an expression over each side's columns."""

    left: Expression
    right: Expression

    def of(self, side: int) -> Expression:
        return self.left if side == LEFT else self.right


@dataclass(frozen=True)
class BandCondition:
    """`center + low <= value <= center + high`, where `center` is of the side `around` and the value of the other.

    Strict comparisons of integers are made inclusive; of floats they stay `open`.
    """

    left: Expression
    right: Expression
    around: int
    low: Number
    high: Number
    low_open: bool = False
    high_open: bool = False

    def of(self, side: int) -> Expression:
        return self.left if side == LEFT else self.right


@dataclass(frozen=True)
class Conditions:
    """A predicate as parts that must all hold."""

    equalities: tuple[Equality, ...] = ()
    bands: tuple[BandCondition, ...] = ()
    rest: Expression | None = None


@dataclass(frozen=True)
class _Sides:
    """The names of the columns of each side, and their types."""

    names: tuple[Set[str], Set[str]]
    schema: pa.Schema

    def of(self, expression: Expression) -> int | None:
        """The side that an expression reads; None when it reads none, or both."""
        read = set(columns_of(expression))
        found = [side for side in (LEFT, RIGHT) if read and read <= self.names[side]]
        return found[0] if len(found) == 1 else None


@dataclass(frozen=True)
class _Half:
    """One comparison: the value of one side on one side of the other's, moved by `offset`."""

    value: Expression
    center: Expression
    around: int
    offset: Number
    is_lower: bool
    is_open: bool


def conjuncts(expression: Expression | None) -> Iterator[Expression]:
    if isinstance(expression, Call) and expression.function == "and":
        for argument in expression.arguments:
            yield from conjuncts(argument)
    elif expression is not None:
        yield expression


def conjunction(parts: Iterable[Expression]) -> Expression | None:
    """The predicate that holds when all parts do; None when there are none."""
    found = list(parts)
    return reduce(lambda one, other: Call("and", (one, other)), found) if found else None


def conditions_of(on: Expression | None, left: Set[str], right: Set[str], schema: pa.Schema) -> Conditions:
    """A predicate over the columns of both sides, taken apart. `schema` holds the columns of both."""
    sides = _Sides((left, right), schema)
    equalities: list[Equality] = []
    halves: list[tuple[Expression, _Half]] = []
    rest: list[Expression] = []
    for part in conjuncts(on):
        equality = _equality(part, sides)
        half = None if equality else _half(part, sides)
        if equality is not None:
            equalities.append(equality)
        elif half is not None:
            halves.append((part, half))
        else:
            rest.append(part)
    bands, single = _paired(halves, schema)
    return Conditions(tuple(equalities), tuple(bands), conjunction([*rest, *single]))


def split_interval(
    on: Expression | None, times: tuple[str, str], schema: pa.Schema
) -> tuple[Between | None, Expression | None]:
    """The bounds that a predicate sets on the distance of the two times, and what remains of it.

    Both ends must be bounded, or it is no interval: then everything remains.
    """
    low, high, rest = split_distance(on, times, schema)
    return (None, on) if low is None or high is None else (Between(low, high), rest)


def split_distance(
    on: Expression | None, times: tuple[str, str], schema: pa.Schema
) -> tuple[int | None, int | None, Expression | None]:
    """The least and the greatest right time less left time that a predicate allows, and what remains of it."""
    sides = _Sides(({times[LEFT]}, {times[RIGHT]}), schema)
    low, high, rest = list[int](), list[int](), list[Expression]()
    for part in conjuncts(on):
        equal, half = _equality(part, sides), _half(part, sides)
        if equal is not None and isinstance(equal.left, Column) and isinstance(equal.right, Column):
            low.append(0)
            high.append(0)
        elif half is not None and isinstance(half.offset, int) and _is_of_times(half):
            _bound(half, low, high)
        else:
            rest.append(part)
    return max(low, default=None), min(high, default=None), conjunction(rest)


def _is_of_times(half: _Half) -> bool:
    """Whether the times themselves are compared, not what is made of them."""
    return isinstance(half.value, Column) and isinstance(half.center, Column)


def _bound(half: _Half, low: list[int], high: list[int]) -> None:
    """Note a comparison of times as a bound on right time less left time."""
    offset = int(half.offset)
    inside = offset + (1 if half.is_lower else -1) if half.is_open else offset
    if half.around == LEFT:  # right >= left + offset, or <=
        (low if half.is_lower else high).append(inside)
    else:  # left >= right + offset, or <=
        (high if half.is_lower else low).append(-inside)


def _equality(part: Expression, sides: _Sides) -> Equality | None:
    if not isinstance(part, Call) or part.function != "=":
        return None
    one, other = part.arguments
    if (sides.of(one), sides.of(other)) == (LEFT, RIGHT):
        return Equality(one, other)
    return Equality(other, one) if (sides.of(one), sides.of(other)) == (RIGHT, LEFT) else None


_LOWER = {">": True, ">=": True, "<": False, "<=": False}


def _half(part: Expression, sides: _Sides) -> _Half | None:
    """A comparison of a plain value of one side with one of the other, moved by a constant."""
    if not isinstance(part, Call) or part.function not in _LOWER:
        return None
    one, other = part.arguments
    is_lower, is_open = _LOWER[part.function], part.function in ("<", ">")
    moved = _moved(other)
    if moved is None or (isinstance(other, Column) and _moved(one) not in (None, (one, 0))):
        one, other, is_lower, moved = other, one, not is_lower, _moved(one)
    if moved is None or _moved(one) != (one, 0):
        return None
    center, offset = moved
    around = sides.of(center)
    if around is None or sides.of(one) != 1 - around or not _is_number(one, center, sides.schema):
        return None
    return _Half(one, center, around, offset, is_lower, is_open)


def _moved(expression: Expression) -> tuple[Expression, Number] | None:
    """An expression as another one plus a constant; None when it is only a constant."""
    if isinstance(expression, Literal):
        return None
    if isinstance(expression, Call) and expression.function in ("+", "-"):
        one, other = expression.arguments
        constant = _constant(other)
        if constant is not None and not isinstance(one, Literal):
            return one, constant if expression.function == "+" else -constant
        constant = _constant(one)
        if constant is not None and expression.function == "+" and not isinstance(other, Literal):
            return other, constant
    return expression, 0


def _constant(expression: Expression) -> Number | None:
    """A number, or an interval in microseconds."""
    if isinstance(expression, Call) and expression.function == "neg":
        inside = _constant(expression.arguments[0])
        return None if inside is None else -inside
    value: Any = expression.value if isinstance(expression, Literal) else None
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _is_number(value: Expression, center: Expression, schema: pa.Schema) -> bool:
    families = {family_of(type_of(value, schema)), family_of(type_of(center, schema))}
    return families <= {Family.INTEGER, Family.FLOAT} or families == {Family.TIMESTAMP}


def _paired(halves: list[tuple[Expression, _Half]], schema: pa.Schema) -> tuple[list[BandCondition], list[Expression]]:
    """Comparisons from below and above of the same two values are a band; those without a counterpart remain."""
    bands: list[BandCondition] = []
    waiting: dict[tuple[Expression, Expression, int, bool], tuple[Expression, _Half]] = {}
    single: list[Expression] = []
    for part, half in halves:
        key = (half.value, half.center, half.around)
        counterpart = waiting.pop((*key, not half.is_lower), None)
        if counterpart is not None:
            bands.append(_band(half, counterpart[1], schema))
        elif (*key, half.is_lower) in waiting:
            single.append(part)
        else:
            waiting[(*key, half.is_lower)] = part, half
    return bands, single + [part for part, _ in waiting.values()]


def _band(one: _Half, other: _Half, schema: pa.Schema) -> BandCondition:
    low, high = (one, other) if one.is_lower else (other, one)
    left, right = (low.value, low.center) if low.around == RIGHT else (low.center, low.value)
    whole = Family.FLOAT not in (family_of(type_of(left, schema)), family_of(type_of(right, schema)))
    whole = whole and isinstance(low.offset, int) and isinstance(high.offset, int)
    if whole:
        return BandCondition(left, right, low.around, low.offset + low.is_open, high.offset - high.is_open)
    return BandCondition(left, right, low.around, low.offset, high.offset, low.is_open, high.is_open)
