"""Whole batches give what the row-by-row meaning gives: values, types and errors."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.operators.random_expressions import COLUMNS, Expressions, batch_of, random_rows
from windrow.errors import DataError, QueryError
from windrow.operators.base import Mask
from windrow.operators.expressions.predicate import Predicate
from windrow.operators.expressions.tree import evaluate
from windrow.plan.types.expressions import type_of
from windrow.semantics.scalars import evaluate as scalar
from windrow.semantics.scalars.expressions import FUNCTIONS, Call, Column, Expression, Literal
from windrow.semantics.scalars.moments import microseconds

UTC = timezone.utc


def mask(predicate: Expression, batch: pa.RecordBatch) -> Mask:
    return Predicate(predicate).mask(batch)


def _plain(value: Any, kind: pa.DataType) -> Any:
    """A value in a form in which equal means equal: NaN equals itself, -0.0 differs from 0.0."""
    if value is None:
        return None
    if pa.types.is_floating(kind):
        return repr(float(value))
    return microseconds(value) if pa.types.is_temporal(kind) else value


def _values(array: Any) -> list[Any]:
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _values(array.dictionary_decode())
    if pa.types.is_temporal(kind):
        unit = pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else pa.duration("us")
        return array.cast(unit).cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]
    return [_plain(value, kind) for value in array.to_pylist()]


def _expected(expression: Expression, rows: list[dict[str, Any]]) -> list[Any] | None:
    """None when a row fails."""
    try:
        return [scalar.evaluate(expression, row) for row in rows]
    except DataError:
        return None


def _check(expression: Expression, rows: list[dict[str, Any]], batch: pa.RecordBatch) -> None:
    expected = _expected(expression, rows)
    if expected is None:
        with pytest.raises(DataError):
            evaluate(expression, batch)
        return
    actual = evaluate(expression, batch)
    kind = type_of(expression, batch.schema)
    if isinstance(expression, Call):
        assert kind == actual.type, str(expression)
    assert [_plain(value, kind) for value in expected] == _values(actual), str(expression)
    if pa.types.is_boolean(kind):
        assert [int(value is True) for value in expected] == mask(expression, batch).tolist(), str(expression)


@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_agree_with_the_rows(seed: int) -> None:
    random = Random(seed)
    expressions = Expressions(random)
    for _ in range(12):
        rows = random_rows(random, random.choice([0, 1, 2, 9, 40, 120]))
        batch = batch_of(rows)
        family = random.choice(list(COLUMNS))
        for depth in (1, 2, 3):
            _check(expressions.typed(family, depth, batch.schema), rows, batch)


def test_the_random_expressions_call_every_function() -> None:
    expressions, seen = Expressions(Random(5)), set()

    def visit(expression: Expression) -> None:
        if isinstance(expression, Call):
            seen.add(expression.function)
            for argument in expression.arguments:
                visit(argument)

    for family in COLUMNS:
        for _ in range(300):
            visit(expressions.of(family, 3))
    assert set(FUNCTIONS) == seen


def _batch(**columns: Any) -> pa.RecordBatch:
    return pa.record_batch(columns)


def _call(function: str, *arguments: Any) -> Call:
    """Names of one letter are columns, everything else is a constant."""
    return Call(function, tuple(_expression(argument) for argument in arguments))


def _expression(argument: Any) -> Expression:
    if isinstance(argument, (Call, Column, Literal)):
        return argument
    return Column(argument) if isinstance(argument, str) and len(argument) == 1 else Literal(argument)


def _encoded(values: list[Any], index: Any = None, extra: tuple[Any, ...] = ()) -> Any:
    encoded: Any = pa.array([*values, *extra]).dictionary_encode()
    column: Any = pa.DictionaryArray.from_arrays(encoded.indices.cast(index or pa.int32()), encoded.dictionary)
    return column[: len(values)]


def test_a_bare_column_is_given_as_it_is() -> None:
    column = _encoded(["a", "b", None, "a"])
    batch = _batch(d=column).slice(1, 2)
    actual: Any = evaluate(Column("d"), batch)
    assert pa.dictionary(pa.int32(), pa.string()) == actual.type
    assert column.indices.buffers()[1].address == actual.indices.buffers()[1].address
    assert ["b", None] == actual.to_pylist()


def test_constants_are_expanded_to_the_rows() -> None:
    batch = _batch(x=[1, 2, 3])
    assert pa.array([5, 5, 5]) == evaluate(_call("+", 2, 3), batch)
    assert pa.nulls(3, pa.string()) == evaluate(_call("||", None, "yes"), batch)
    moment = datetime(2024, 2, 29, 12, tzinfo=UTC)
    assert [moment] * 3 == evaluate(Literal(moment), batch).to_pylist()
    assert [date(2024, 2, 29)] * 3 == evaluate(Literal(date(2024, 2, 29)), batch).to_pylist()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (_call("+", "x", 1), "9223372036854775808"),
        (_call("-", Literal(-2), "x"), "-9223372036854775809"),
        (_call("*", "x", "x"), str(((1 << 63) - 1) ** 2)),
    ],
)
def test_whole_numbers_beyond_64_bits_are_an_error(expression: Call, value: str) -> None:
    sign = "\\" + expression.function
    message = rf"^`{sign}` must give a whole number that fits into 64 bits, got {value}\. Hint: .*DOUBLE first\.$"
    with pytest.raises(DataError, match=message):
        evaluate(expression, _batch(x=[1, None, (1 << 63) - 1]))


@pytest.mark.parametrize("function", ["neg", "abs"])
def test_the_least_integer_has_no_opposite(function: str) -> None:
    with pytest.raises(DataError, match=r"^`(-|abs)` must give a whole number that fits into 64 bits"):
        evaluate(_call(function, "x"), _batch(x=[-(1 << 63)]))


def test_times_beyond_the_calendar_are_an_error() -> None:
    batch = _batch(t=pa.array([datetime(9999, 12, 31)], pa.timestamp("us")))
    with pytest.raises(DataError, match=r"^`\+` must give a timestamp in the years 1 to 9999, got .*interval\.$"):
        evaluate(_call("+", "t", timedelta(days=2)), batch)


def test_durations_beyond_64_bits_are_an_error() -> None:
    batch = _batch(w=pa.array([(1 << 63) - 1], pa.duration("us")))
    message = r"^`\+` must give a value that fits into 64 bits, got 213503982 days, .*\. Hint: cast one side to DOUBLE"
    with pytest.raises(DataError, match=message):
        evaluate(_call("+", "w", "w"), batch)


def test_a_failing_cast_names_the_value() -> None:
    message = r"^`cast` must be a value that fits the type bigint, got '12x'\. Hint: .*WHERE\.$"
    with pytest.raises(DataError, match=message):
        evaluate(_call("cast", "s", "bigint"), _batch(s=["1", None, "12x"]))
    with pytest.raises(DataError, match=r"^`cast` must be a value that fits the type bigint, got inf\."):
        evaluate(_call("cast", "f", "bigint"), _batch(f=[math.inf]))


TEXTS = ["7", "x", None, "8"]
READ = _call("cast", "s", "bigint")
IS_TEXT = _call("=", "s", Literal("x"))


@pytest.mark.parametrize("column", [pa.array(TEXTS), _encoded(TEXTS)], ids=["plain", "dictionary"])
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (_call("case", IS_TEXT, -1, READ), [7, -1, None, 8]),
        (_call("case", _call("not", IS_TEXT), READ), [7, None, None, 8]),
        (_call("case", IS_TEXT, 0, _call(">", READ, 7), 1), [None, 0, None, 1]),
        (_call("and", _call("<>", "s", Literal("x")), _call("=", READ, 7)), [True, False, None, False]),
        (_call("or", IS_TEXT, _call("=", READ, 7)), [True, True, None, False]),
        (_call("coalesce", _call("case", IS_TEXT, 3), READ), [7, 3, None, 8]),
    ],
)
def test_what_is_not_needed_for_a_row_cannot_fail_for_it(column: Any, expression: Call, expected: list[Any]) -> None:
    batch = _batch(s=column, x=[1, 2, 3, 4])
    assert expected == evaluate(expression, batch).to_pylist()
    both = _call("and", _call("=", expression, expression), _call(">", "x", 0))
    assert [int(value is not None) for value in expected] == mask(both, batch).tolist()


def test_what_is_needed_fails() -> None:
    with pytest.raises(DataError, match=r"^`cast` must be a value that fits the type bigint, got 'x'"):
        evaluate(_call("and", IS_TEXT, _call("=", READ, 7)), _batch(s=TEXTS))
    with pytest.raises(DataError, match=r"^`cast` must be a value that fits the type bigint, got 'x'"):
        mask(_call("and", IS_TEXT, _call("=", READ, 7)), _batch(s=TEXTS))


def test_an_entry_that_no_row_has_cannot_fail() -> None:
    batch = _batch(s=_encoded(["7", "8"] * 5, extra=("x",)))
    assert [7, 8] * 5 == evaluate(READ, batch).to_pylist()
    assert [1, 0] * 5 == mask(_call("=", READ, 7), batch).tolist()


def test_nothing_fails_on_no_rows() -> None:
    batch = _batch(s=["x"], x=[(1 << 63) - 1]).slice(1)
    assert pa.array([], pa.int64()) == evaluate(_call("+", READ, (1 << 63) - 1), batch)
    assert pa.array([], pa.int64()) == evaluate(_call("+", 1, (1 << 63) - 1), batch)
    assert [] == mask(_call("=", READ, 1), batch).tolist()


def test_unsigned_numbers_beyond_the_signed_ones() -> None:
    batch = _batch(u=pa.array([1 << 63, 3, None], pa.uint64()), x=[-1, 3, 0])
    assert [True, False, None] == evaluate(_call(">", "u", "x"), batch).to_pylist()
    assert [True, False, None] == evaluate(_call(">", "u", 5), batch).to_pylist()
    assert [1, 1, 0] == mask(_call(">", "u", -5), batch).tolist()
    assert [(1 << 63) - 1, 2, None] == evaluate(_call("-", "u", 1), batch).to_pylist()
    message = r"^`value` must fit the type int64, got .*9223372036854775808.*\. Hint: CAST it to DOUBLE first\.$"
    with pytest.raises(DataError, match=message):
        evaluate(_call("coalesce", "u", "x"), batch)


def test_decimals_compute_as_double() -> None:
    kind = pa.decimal128(20, 2)
    batch = _batch(n=pa.array([Decimal("1.50"), Decimal("-2.00"), None], kind))
    assert [3.0, -4.0, None] == evaluate(_call("*", "n", 2), batch).to_pylist()
    assert [True, False, None] == evaluate(_call(">", "n", 1.25), batch).to_pylist()
    assert [1, -2, None] == evaluate(_call("cast", "n", "bigint"), batch).to_pylist()
    assert ["1.50", "-2.00", None] == evaluate(_call("cast", "n", "string"), batch).to_pylist()
    assert [True, True, None] == evaluate(_call("cast", "n", "boolean"), batch).to_pylist()
    assert kind == evaluate(_call("greatest", "n", "n"), batch).type
    assert [True, True, None] == evaluate(_call("=", "n", "n"), batch).to_pylist()


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_dates(kind: pa.DataType) -> None:
    batch = _batch(d=pa.array([date(2024, 2, 29), date(1969, 12, 31), None], kind))
    assert [2024, 1969, None] == evaluate(_call("year", "d"), batch).to_pylist()
    assert [0, 0, None] == evaluate(_call("hour", "d"), batch).to_pylist()
    assert ["2024-02-29", "1969-12-31", None] == evaluate(_call("cast", "d", "string"), batch).to_pylist()
    moments = [datetime(2024, 2, 29, tzinfo=UTC), datetime(1969, 12, 31, tzinfo=UTC), None]
    assert moments == evaluate(_call("cast", "d", "timestamp"), batch).to_pylist()
    assert [True, False, None] == evaluate(_call(">", "d", "2024-02-28 12:00"), batch).to_pylist()
    assert [False, True, None] == evaluate(_call("<", "d", date(1970, 1, 1)), batch).to_pylist()


def test_finer_and_coarser_times_count_as_microseconds() -> None:
    stored = pa.array([-1_000, 1_000, 2_000, None], pa.int64())
    batch = _batch(n=stored.cast(pa.timestamp("ns")), s=stored.cast(pa.timestamp("s", "UTC")))
    assert [-1, 1, 2, None] == evaluate(_call("cast", "n", "bigint"), batch).to_pylist()
    expected = [-1_000_000_000, 1_000_000_000, 2_000_000_000, None]
    assert expected == evaluate(_call("cast", "s", "bigint"), batch).to_pylist()
    assert [59, 0, 0, None] == evaluate(_call("second", "n"), batch).to_pylist()
    assert [1, 0, 0, 0] == mask(_call("<", "n", "1970-01-01"), batch).tolist()


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("cast", ("n", "bigint")),
        ("second", ("n",)),
        ("<", ("n", "1970-01-01")),
        ("<", ("n", "u")),
        ("cast", ("n", "string")),
    ],
)
def test_times_below_a_microsecond_are_not_computed_with(function: str, arguments: tuple[str, ...]) -> None:
    fine = pa.array([1_000, None, -1], pa.timestamp("ns"))
    batch = _batch(n=fine, u=pa.array([0, 0, 0], pa.timestamp("us")))
    pattern = (
        r"^`n` must be a whole number of microseconds, the unit in which times are computed, got "
        r"1969-12-31 23:59:59\.999999999\. Hint: round it before the query: \.dt\.floor\('us'\) in pandas, "
    )
    with pytest.raises(DataError, match=pattern):
        evaluate(_call(function, *arguments), batch)
    pattern = r"^`d` must be a whole number of microseconds, the unit in which times are computed, got 1 ns\. "
    with pytest.raises(DataError, match=pattern):
        evaluate(_call("cast", "d", "bigint"), _batch(d=pa.array([1], pa.duration("ns"))))


def test_moments_beyond_the_calendar_still_compare() -> None:
    batch = _batch(t=pa.array([1 << 62, 0], pa.timestamp("us")), s=pa.array([1 << 62, 0], pa.timestamp("s")))
    assert [True, False] == evaluate(_call(">", "t", datetime(2024, 1, 1, tzinfo=UTC)), batch).to_pylist()
    assert [True, False] == evaluate(_call(">", "s", "t"), batch).to_pylist()
    with pytest.raises(DataError, match=r"^`timestamp` must lie in the years 1 to 9999, got 4611686018427387904 micro"):
        evaluate(_call("year", "t"), batch)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view()])
def test_other_layouts_of_text(kind: pa.DataType) -> None:
    batch = _batch(v=pa.array(["skipped", "Ab", None], kind)).slice(1)
    assert pa.array(["AB", None]) == evaluate(_call("upper", "v"), batch)
    assert [True, None] == evaluate(_call("=", "v", Literal("Ab")), batch).to_pylist()


def test_half_precision_counts_as_double() -> None:
    batch = _batch(h=pa.array(np.array([1.5, np.nan], np.float16)))
    assert [1, 1] == mask(_call(">", "h", 1.25), batch).tolist()
    assert [3.0] == evaluate(_call("*", "h", 2), batch.slice(0, 1)).to_pylist()


def test_concat_keeps_rows_in_which_all_are_null() -> None:
    batch = _batch(s=["a", None], d=pa.array([None, None], pa.string()))
    assert ["a", ""] == evaluate(_call("concat", "s", "d"), batch).to_pylist()


def test_letters_that_become_two() -> None:
    assert ["STRASSE", None] == evaluate(_call("upper", "s"), _batch(s=["straße", None])).to_pylist()


def test_long_lists_of_constants() -> None:
    batch = _batch(x=[1, 2, None, 99], s=["a", "zz", None, "b"])
    assert [True, False, None, True] == evaluate(_call("in", "x", 99, *range(50, 60), 1), batch).to_pylist()
    assert [False, True, None, False] == evaluate(_call("in", "s", "zz", "yy"), batch).to_pylist()
    assert [True, None, None, None] == evaluate(_call("in", "x", 1, None), batch).to_pylist()


SIGNS = ["=", "<>", "<", "<=", ">", ">="]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize(
    ("values", "kind", "constants"),
    [
        ([1, -5, 127, None], pa.int8(), [1, 1000, -1000, 0.5, math.nan]),
        ([0, 5, 255, None], pa.uint8(), [5, -1, 256]),
        ([0, 1 << 53, (1 << 53) + 1, None], pa.int64(), [float(1 << 53), (1 << 53) + 1]),
        ([0.0, -0.0, math.nan, 1.5, None], pa.float64(), [0, -0.0, 1.5, math.nan, math.inf, 1 << 53]),
        ([0.0, 1.5, math.nan, None], pa.float32(), [1.5, 0, 0.1]),
        ([datetime(2024, 1, 1), datetime(1960, 1, 1), None], pa.timestamp("us"), ["2024-01-01", datetime(1960, 1, 1)]),
        ([datetime(2024, 1, 1), None], pa.timestamp("ms"), ["2024-01-01"]),
        ([True, False, None], pa.bool_(), [True, False]),
    ],
)
def test_a_column_against_a_constant(sign: str, values: list[Any], kind: pa.DataType, constants: list[Any]) -> None:
    batch = _batch(x=pa.array([values[0], *values], kind)).slice(1)
    for constant in constants:
        for expression in (_call(sign, "x", constant), _call(sign, Literal(constant), "x")):
            expected = [int(scalar.evaluate(expression, {"x": value}) is True) for value in values]
            assert expected == mask(expression, batch).tolist(), str(expression)


@pytest.mark.parametrize("index", [pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64()])
@pytest.mark.parametrize("entries", [3, 128])
def test_dictionaries_of_every_width(index: pa.DataType, entries: int) -> None:
    values = [*(f"s{place}" for place in range(entries)), None, "s1", "s0", "s2"]
    batch = _batch(d=_encoded(values, index)).slice(1)
    for expression in (
        _call("=", "d", "s1"),
        _call("<>", "d", "s1"),
        _call("in", "d", "s1", "s2"),
        _call("is_null", "d"),
    ):
        expected = [int(scalar.evaluate(expression, {"d": value}) is True) for value in values[1:]]
        assert expected == mask(expression, batch).tolist(), str(expression)
        assert expected == [int(value is True) for value in evaluate(expression, batch).to_pylist()]


def test_a_dictionary_may_hold_null() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1]), pa.array([None, "a"]))
    assert [1, 0, 1, 0] == mask(_call("is_null", "d"), _batch(d=column)).tolist()
    assert [0, 1, 0, 1] == mask(_call("=", "d", Literal("a")), _batch(d=column)).tolist()


def test_a_predicate_decides_a_dictionary_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decided = []

    def count(expression: Expression, batch: pa.RecordBatch) -> Any:
        decided.append(batch.num_rows)
        return evaluate(expression, batch)

    monkeypatch.setattr("windrow.operators.expressions.predicate.evaluate", count)
    predicate = Predicate(_call("=", "d", Literal("a")))
    batch = _batch(d=_encoded(["a", "b", None, "a"]))
    assert [[1, 0], [0, 1]] == [predicate.mask(batch.slice(start, 2)).tolist() for start in (0, 2)]
    assert [3] == decided
    assert [0, 1, 0] == predicate.mask(_batch(d=_encoded(["b", "a", "c"]))).tolist()
    assert [3, 4] == decided


def test_masks_of_bare_columns_and_constants() -> None:
    batch = _batch(b=[True, True, None, False, True]).slice(1)
    assert [1, 0, 0, 1] == mask(Column("b"), batch).tolist()
    assert [1, 1, 1, 1] == mask(Literal(True), batch).tolist()
    assert [0, 0, 0, 0] == mask(Literal(None), batch).tolist()
    encoded = pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), pa.array([True, False]))
    assert [0, 1, 0] == mask(Column("b"), _batch(b=encoded)).tolist()


def test_only_selected_rows_count_and_can_fail() -> None:
    predicate = Predicate(_call("=", READ, 7))
    batch, selected = _batch(s=["7", "x", "7", "8"]), np.array([1, 0, 0, 1], np.uint8)
    assert [1, 0, 0, 0] == predicate.mask(batch, selected).tolist()
    assert [1, 0, 0, 0] == Predicate(IS_TEXT).mask(_batch(s=["x", "x", "7", "8"]), selected).tolist()
    with pytest.raises(DataError, match=r"^`cast` must be a value that fits the type bigint, got 'x'"):
        predicate.mask(batch, np.array([0, 1, 0, 0], np.uint8))


def test_a_predicate_must_be_true_or_false() -> None:
    message = r"^`\(x \+ 1\)` must be true or false, got a bigint\. Hint: compare the value, as in x > 0\.$"
    with pytest.raises(QueryError, match=message):
        mask(_call("+", "x", 1), _batch(x=[1]))


def test_types_are_checked_before_rows_are_read() -> None:
    batch = _batch(x=[1])
    with pytest.raises(QueryError, match=r"^`y` is not a column of the input"):
        evaluate(Column("y"), batch)
    with pytest.raises(QueryError, match=r"^`AND` needs conditions"):
        evaluate(_call("and", "x", True), batch)
    with pytest.raises(QueryError, match=r"^`CASE` needs conditions"):
        evaluate(_call("case", "x", 1), batch)
