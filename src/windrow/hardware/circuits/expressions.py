"""Scalar expressions as wires: whole numbers and truth values with a bit that says whether they are known.

Every result is as wide as it takes to hold all that can come out, so nothing overflows on the way. The bits of a value
that is not known mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from amaranth.hdl import Cat, Const, Signal, Value, signed

from windrow.errors import QueryError, UnsupportedError
from windrow.hardware.design import BitLayout, Field
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal


@dataclass(frozen=True)
class Wires:
    """A value and whether it is known; what is not known is NULL."""

    value: Any
    known: Any

    @property
    def is_true(self) -> Any:
        """Known and true: what WHERE passes."""
        return self.value & self.known


def fields_of(layout: BitLayout, data: Any) -> dict[str, Wires]:
    """The fields of a packed row by name."""
    bits = Value.cast(data)
    return {one.name: _field(one, bits[layout.offsets[one.name] :]) for one in layout.fields}


def _field(field: Field, bits: Any) -> Wires:
    value = bits[: field.width]
    known = ~bits[field.width] if field.nullable else Const(1, 1)
    return Wires(value.as_signed() if field.signed else value, known)


def packed(wires: Wires, field: Field) -> Any:
    """The value as it lies in a field; below a NULL there are zeros, so that equal keys have equal bits."""
    value = Value.cast(wires.value)[: field.width]
    return Cat(wires.known.replicate(field.width) & value, ~wires.known) if field.nullable else value


def literals_of(expression: Expression) -> Iterator[int]:
    """The whole numbers in an expression, in the order in which `wire` asks for them: those that registers can hold."""
    if isinstance(expression, Literal) and type(expression.value) is int:
        yield expression.value
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from literals_of(argument)


def wire(expression: Expression, row: Mapping[str, Wires], constants: Sequence[Any] | None = None) -> Wires:
    """The expression over the fields of a row.

    `constants` stand for the whole numbers of `literals_of`, one for each; without them these numbers are wired in.
    """
    given = iter(constants if constants is not None else [_number(value) for value in literals_of(expression)])
    return _wired(expression, row, given)


def wire_later(m: Any, expression: Expression, row: Mapping[str, Wires]) -> Wires:
    """The truth of an expression over the fields of a row one cycle before: one row a cycle, on a shorter path.

    Comparisons end in registers, and what AND, OR and NOT make of them comes behind. An equality is a few of its bits
    to a register: all of them in one cycle are the longest path of a join.
    """
    if isinstance(expression, Call) and expression.function in ("and", "or", "not"):
        arguments = [wire_later(m, argument, row) for argument in expression.arguments]
        return _FUNCTIONS[expression.function](expression.function, *arguments)
    if isinstance(expression, Call) and expression.function in ("=", "<>"):
        left, right = (wire(argument, row) for argument in expression.arguments)
        same = _equal_in_pieces(left.value, right.value)
        held, known = _held(m, same), _held(m, left.known & right.known)
        return Wires(held.all() if expression.function == "=" else ~held.all(), known)
    found = wire(expression, row)
    return Wires(_held(m, found.value), _held(m, found.known))


PIECE = 16
"""Bits of an equality that are compared before a register: about as long a path as others of a core have. With eight a
core alone is faster, and an array is not."""


def _equal_in_pieces(left: Any, right: Any) -> Any:
    """A bit for each few bits of two numbers: all are set where the numbers are equal."""
    left, right = Value.cast(left), Value.cast(right)
    is_mixed = left.shape().signed != right.shape().signed
    width = max(len(value) + (is_mixed and not value.shape().signed) for value in (left, right))
    one, other = (_extended(value, width) for value in (left, right))
    return Cat(one[low : low + PIECE] == other[low : low + PIECE] for low in range(0, width, PIECE))


def _extended(value: Any, width: int) -> Any:
    """A number in so many bits, of which there are enough."""
    more = width - len(value)
    filling = value[-1] if value.shape().signed else Const(0, 1)
    return Cat(value, filling.replicate(more)) if more > 0 else value


def _held(m: Any, value: Any) -> Any:
    held = Signal(len(Value.cast(value)), name="held")
    m.d.sync += held.eq(value)
    return held


def check_expression(expression: Expression, layout: BitLayout) -> None:
    """Refuse an expression that no circuit computes; the message says which part of it, and why."""
    width = max(layout.bits, 1)
    wire(expression, fields_of(layout, Signal(width)))


def check_condition(expression: Expression, layout: BitLayout) -> None:
    """Like `check_expression`, for what is to be true or false."""
    _truth("where", wire(expression, fields_of(layout, Signal(max(layout.bits, 1)))))


def argument_shape(expression: Expression, layout: BitLayout) -> tuple[int, bool]:
    """How many bits the values of an expression take, and whether they have a sign.

    >>> argument_shape(Call("+", (Column("x"), Literal(1))), BitLayout((Field("x", 8),)))
    (9, True)
    """
    shape = Value.cast(wire(expression, fields_of(layout, Signal(max(layout.bits, 1)))).value).shape()
    return shape.width, shape.signed


def _number(value: int) -> Any:
    return Const(value, signed(value.bit_length() + 1)) if value < 0 else Const(value, max(value.bit_length(), 1))


def _wired(expression: Expression, row: Mapping[str, Wires], constants: Iterator[Any]) -> Wires:
    if isinstance(expression, Column):
        return _column(expression.name, row)
    if isinstance(expression, Literal):
        return _literal(expression.value, constants)
    arguments = [_wired(argument, row, constants) for argument in expression.arguments]
    if expression.function not in _FUNCTIONS:
        raise UnsupportedError(
            "must be done in software: a circuit computes + - *, comparisons, IN, IS NULL, AND, OR and NOT",
            parameter=expression.function,
            value=str(expression),
            hint="compute it into a column before the stream reaches the circuit",
        )
    return _FUNCTIONS[expression.function](expression.function, *arguments)


def _column(name: str, row: Mapping[str, Wires]) -> Wires:
    if name not in row:
        raise QueryError(
            "must be a field of the row", parameter=name, allowed=tuple(row), hint="check the spelling of the column"
        )
    return row[name]


def _literal(value: object, constants: Iterator[Any]) -> Wires:
    if value is None:
        return Wires(Const(0, 1), Const(0, 1))
    if isinstance(value, bool):
        return Wires(Const(int(value), 1), Const(1, 1))
    if isinstance(value, int):
        return Wires(next(constants), Const(1, 1))
    raise UnsupportedError(
        "must be a whole number, TRUE, FALSE or NULL in a circuit",
        parameter="literal",
        value=value,
        hint="scale decimal numbers to whole ones; text needs a dictionary",
    )


def _truth(function: str, wires: Wires) -> Wires:
    if Value.cast(wires.value).shape().width != 1:
        raise UnsupportedError(
            "must be given truth values in a circuit",
            parameter=function,
            value=f"a number of {len(wires.value)} bits",
            hint="compare it with something",
        )
    return wires


def _strict(operation: Callable[[Any, Any], Any]) -> Callable[..., Wires]:
    """Of two arguments; NULL when one of them is."""
    return lambda _, left, right: Wires(operation(left.value, right.value), left.known & right.known)


def _and(function: str, left: Wires, right: Wires) -> Wires:
    left, right = _truth(function, left), _truth(function, right)
    false = (left.known & ~left.value) | (right.known & ~right.value)
    return Wires(left.value & right.value, (left.known & right.known) | false)


def _or(function: str, left: Wires, right: Wires) -> Wires:
    true = _truth(function, left).is_true | _truth(function, right).is_true
    return Wires(true, (left.known & right.known) | true)


def _not(function: str, argument: Wires) -> Wires:
    return Wires((~_truth(function, argument).value)[:1], argument.known)


def _negate(_: str, argument: Wires) -> Wires:
    return Wires(-argument.value, argument.known)


def _is_null(_: str, argument: Wires) -> Wires:
    return Wires(~argument.known, Const(1, 1))


def _in(_: str, needle: Wires, *others: Wires) -> Wires:
    """True when one equals the needle; NULL when none does but one of them is NULL."""
    true = reduce(lambda found, one: found | ((needle.value == one.value) & one.known), others, Const(0, 1))
    return Wires(true, needle.known & (true | reduce(lambda known, one: known & one.known, others, Const(1, 1))))


_FUNCTIONS: dict[str, Callable[..., Wires]] = {
    "=": _strict(lambda left, right: left == right),
    "<>": _strict(lambda left, right: left != right),
    "<": _strict(lambda left, right: left < right),
    "<=": _strict(lambda left, right: left <= right),
    ">": _strict(lambda left, right: left > right),
    ">=": _strict(lambda left, right: left >= right),
    "+": _strict(lambda left, right: left + right),
    "-": _strict(lambda left, right: left - right),
    "*": _strict(lambda left, right: left * right),
    "and": _and,
    "or": _or,
    "not": _not,
    "neg": _negate,
    "is_null": _is_null,
    "in": _in,
}
