"""Expressions in wires give what they mean, NULLs included, and are as wide as they must be."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, Value, signed
from amaranth.sim import Simulator

from tests.hardware.reference import packed
from windrow.errors import QueryError, UnsupportedError, WindrowError
from windrow.hardware.circuits.expressions import (
    argument_shape,
    check_condition,
    check_expression,
    fields_of,
    literals_of,
    wire,
)
from windrow.hardware.design import BitLayout, Field
from windrow.semantics.scalars.evaluate import evaluate
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal

LAYOUT = BitLayout(
    (Field("x", 3), Field("u", 3, signed=False), Field("n", 3, nullable=True), Field("b", 1, False, True))
)
X, U, N, B = (Column(name) for name in "xunb")
VALUES: dict[str, list[Any]] = {
    "x": [-4, -1, 0, 3],
    "u": [0, 1, 7],
    "n": [None, -4, 0, 3],
    "b": [None, False, True],
}


def call(function: str, *arguments: Expression) -> Call:
    return Call(function, arguments)


SIGNS = ("=", "<>", "<", "<=", ">", ">=", "+", "-", "*")
EXPRESSIONS: list[Expression] = [
    *(call(sign, left, right) for sign in SIGNS for left, right in ((X, U), (N, X), (N, U), (U, U))),
    call("neg", X),
    call("neg", U),
    call("neg", call("*", X, call("-", N, Literal(9)))),
    call("+", call("*", call("*", X, X), call("*", X, X)), Literal(-1000)),
    call("is_null", N),
    call("not", call("is_null", call("+", N, X))),
    call("and", call("<", N, Literal(1)), B),
    call("or", call("<", N, Literal(1)), B),
    call("and", call("or", B, Literal(None)), call("not", B)),
    call("in", N, Literal(3), Literal(-4), Literal(None)),
    call("in", X, Literal(3), Literal(-4), Literal(100)),
    call("and", call(">=", X, Literal(-1)), call("<=", X, Literal(2))),
    call("or", Literal(True), B),
    call("=", call("-", X, U), Literal(-11)),
    call("<", X, Literal(None)),
]


def _values(expressions: list[Expression], rows: list[dict[str, Any]]) -> list[list[int | None]]:
    m, row = Module(), Signal(LAYOUT.bits)
    wires = [wire(one, fields_of(LAYOUT, row)) for one in expressions]
    outputs = []
    for one in wires:
        value, known = Signal(Value.cast(one.value).shape()), Signal()
        m.d.comb += [value.eq(one.value), known.eq(one.known)]
        outputs.append((value, known))
    found: list[list[int | None]] = []

    async def read(context: Any) -> None:
        for values in rows:
            context.set(row, packed(LAYOUT, values))
            found.append([context.get(value) if context.get(known) else None for value, known in outputs])

    simulator = Simulator(m)
    simulator.add_testbench(read)
    simulator.run()
    return found


def test_every_function_gives_what_it_means() -> None:
    rows = [dict(zip(VALUES, values, strict=True)) for values in product(*VALUES.values())]
    found = _values(EXPRESSIONS, rows)
    for row, given in zip(rows, found, strict=True):
        for expression, value in zip(EXPRESSIONS, given, strict=True):
            truth = evaluate(expression, row)
            assert (None if truth is None else int(truth)) == value, (str(expression), row)


def test_widths_grow_with_what_can_come_out() -> None:
    assert (10, True) == argument_shape(call("-", X, Literal(255)), LAYOUT)
    assert (6, False) == argument_shape(call("*", U, U), LAYOUT)
    assert (6, True) == argument_shape(call("*", X, X), LAYOUT)


def test_constants_may_come_from_registers() -> None:
    expression = call("and", call("<", X, Literal(2)), call("in", U, Literal(1), Literal(5)))
    assert [2, 1, 5] == list(literals_of(expression))
    registers = [Signal(signed(4), init=value) for value in (-1, 7, 3)]
    m, row, output = Module(), Signal(LAYOUT.bits), Signal()
    m.d.comb += output.eq(wire(expression, fields_of(LAYOUT, row), registers).is_true)
    found = []

    async def read(context: Any) -> None:
        for x, u in ((-2, 7), (-2, 1), (-1, 3), (-4, 3)):
            context.set(row, packed(LAYOUT, {"x": x, "u": u, "n": 0, "b": 0}))
            found.append(context.get(output))

    simulator = Simulator(m)
    simulator.add_testbench(read)
    simulator.run()
    assert [1, 0, 0, 1] == found


@pytest.mark.parametrize(
    ("expression", "error", "message"),
    [
        (
            call("/", X, U),
            UnsupportedError,
            r"^`/` must be done in software: .*, got \(x / u\)\. Hint: compute it into",
        ),
        (
            call("like", X, Literal("a")),
            UnsupportedError,
            r"^`literal` must be a whole number, .*, got a\. Hint: scale",
        ),
        (
            call("<", X, Literal(1.5)),
            UnsupportedError,
            r"^`literal` must be a whole number, TRUE, .*, got 1\.5\. Hint: ",
        ),
        (Column("z"), QueryError, r"^`z` must be a field of the row \(one of x, u, n, b\)\. Hint: check the spelling"),
        (
            call("not", X),
            UnsupportedError,
            r"^`not` must be given truth values in a circuit, got a number of 3 bits\. ",
        ),
    ],
)
def test_what_a_circuit_cannot_do_is_refused(expression: Expression, error: type[WindrowError], message: str) -> None:
    with pytest.raises(error, match=message):
        check_expression(expression, LAYOUT)


def test_a_condition_must_be_true_or_false() -> None:
    check_condition(call("<", X, U), LAYOUT)
    with pytest.raises(UnsupportedError, match=r"^`where` must be given truth values in a circuit, got a number of 4 "):
        check_condition(call("+", X, X), LAYOUT)
