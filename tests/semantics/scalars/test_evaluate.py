from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from windrow.errors import QueryError
from windrow.semantics.scalars.evaluate import _LAZY, _STRICT, evaluate, like, substring
from windrow.semantics.scalars.expressions import FUNCTIONS, Call, Column, Expression, Literal

NAN = float("nan")
NOON = datetime(2024, 2, 29, 12, 34, 56, tzinfo=timezone.utc)


def call(function: str, *values: Any) -> Any:
    return evaluate(Call(function, tuple(map(Literal, values))), {})


def test_every_function_has_a_meaning() -> None:
    assert set(FUNCTIONS) == set(_LAZY) | set(_STRICT)
    assert set() == set(_LAZY) & set(_STRICT)


@pytest.mark.parametrize(
    ("left", "right", "both", "either"),
    [
        (True, True, True, True),
        (True, False, False, True),
        (True, None, None, True),
        (False, False, False, False),
        (False, None, False, None),
        (None, None, None, None),
    ],
)
def test_three_valued_logic(left: Any, right: Any, both: Any, either: Any) -> None:
    assert [both, both] == [call("and", left, right), call("and", right, left)]
    assert [either, either] == [call("or", left, right), call("or", right, left)]


def test_not_and_is_null() -> None:
    assert [False, True, None] == [call("not", value) for value in (True, False, None)]
    assert [False, True] == [call("is_null", value) for value in (0, None)]


LAZY_WITHOUT_NULL_RULE = {"and", "or", "is_null", "in", "case", "coalesce", "nullif", "greatest", "least", "concat"}


@pytest.mark.parametrize("function", sorted(set(FUNCTIONS) - LAZY_WITHOUT_NULL_RULE))
def test_null_in_null_out(function: str) -> None:
    assert call(function, *[None] * FUNCTIONS[function][0]) is None


@pytest.mark.parametrize(
    ("expected", "needle", "rest"),
    [
        (True, 1, (2, 1)),
        (True, 1, (None, 1)),
        (None, 1, (None, 2)),
        (False, 1, (2, 3)),
        (None, None, (1,)),
        (True, NAN, (NAN,)),
    ],
)
def test_in(expected: Any, needle: Any, rest: tuple[Any, ...]) -> None:
    assert expected is call("in", needle, *rest)


@pytest.mark.parametrize(
    ("expected", "arguments"),
    [
        ("a", (True, "a", True, "b")),
        ("b", (None, "a", True, "b", "c")),
        ("c", (False, "a", None, "b", "c")),
        (None, (False, "a")),
    ],
)
def test_case(expected: Any, arguments: tuple[Any, ...]) -> None:
    assert expected == call("case", *arguments)


@pytest.mark.parametrize(
    ("expected", "function", "arguments"),
    [
        (2, "coalesce", (None, 2, 3)),
        (None, "coalesce", (None,)),
        (None, "nullif", (1, 1)),
        (1, "nullif", (1, 2)),
        (1, "nullif", (1, None)),
        (None, "nullif", (None, 1)),
        (3, "greatest", (1, None, 3)),
        (1, "least", (1, None, 3)),
        (None, "greatest", (None, None)),
        (-1.0, "least", (NAN, -1.0, None)),
        ("b", "greatest", ("a", "b")),
        ("a1", "concat", ("a", None, 1)),
        ("", "concat", (None,)),
        ("ab", "||", ("a", "b")),
        (None, "||", ("a", None)),
    ],
)
def test_functions_that_take_null(expected: Any, function: str, arguments: tuple[Any, ...]) -> None:
    assert expected == call(function, *arguments)


def test_nan_is_the_greatest() -> None:
    assert math.isnan(call("greatest", 1.0, NAN, math.inf))


def test_the_rest_is_not_read_once_the_answer_is_known() -> None:
    overflow: Expression = Call("+", (Literal((1 << 63) - 1), Literal(1)))
    assert evaluate(Call("and", (Literal(False), Call(">", (overflow, Literal(0))))), {}) is False
    assert 1 == evaluate(Call("case", (Literal(True), Literal(1), overflow)), {})
    assert 1 == evaluate(Call("coalesce", (Literal(1), overflow)), {})


def test_columns_come_from_the_row() -> None:
    assert 7 == evaluate(Call("+", (Column("x"), Literal(2))), {"x": 5})


@pytest.mark.parametrize(
    ("expected", "function"),
    [(2024, "year"), (2, "month"), (29, "day"), (12, "hour"), (34, "minute"), (56, "second")],
)
def test_parts_of_a_timestamp(expected: int, function: str) -> None:
    microseconds = (NOON - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)
    assert [expected] * 3 == [call(function, value) for value in (NOON, NOON.replace(tzinfo=None), microseconds)]


@pytest.mark.parametrize(
    ("message", "expression"),
    [
        (r"^`pric` must be a column of the row \(one of price, ts\)\. Hint: check the spelling", Column("pric")),
    ],
)
def test_errors(message: str, expression: Expression) -> None:
    with pytest.raises(QueryError, match=message):
        evaluate(expression, {"price": 1, "ts": 2})


@pytest.mark.parametrize(
    ("expected", "value", "pattern"),
    [
        (True, "UBSN.VX", "UBS%"),
        (True, "abc", "a_c"),
        (False, "abc", "a_"),
        (True, "", "%"),
        (False, "", "_"),
        (True, "a\nb", "a%b"),
        (True, "a.c", "a.c"),
        (False, "abc", "a.c"),
        (True, "50%", r"50\%"),
        (False, "50x", r"50\%"),
        (True, r"a\b", r"a\\b"),
        (True, "a_b", r"a\_b"),
        (False, "ABC", "abc"),
        (True, "äöü", "_ö_"),
    ],
)
def test_like(expected: bool, value: str, pattern: str) -> None:
    assert expected is like(value, pattern)


@pytest.mark.parametrize(
    ("expected", "start", "length"),
    [
        ("row", 5, None),
        ("wind", 1, 4),
        ("wind", 0, 4),
        ("ro", -3, 2),
        ("wi", -9, 4),
        ("", 1, 0),
        ("", 3, -1),
        ("", 9, 2),
        ("w", 7, 9),
    ],
)
def test_substring(expected: str, start: int, length: int | None) -> None:
    assert expected == substring("windrow", start, length)


def test_replace_and_trim() -> None:
    assert "b-b" == _STRICT["replace"]("a-a", "a", "b")
    assert "aa" == _STRICT["replace"]("aa", "", "b")
    assert "\ta b" == _STRICT["trim"]("  \ta b ")
