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
from windrow.operators.evaluate import Predicate, evaluate, mask
from windrow.plan.types import type_of
from windrow.semantics import scalar
from windrow.semantics.expressions import FUNCTIONS, Call, Column, Expression, Literal, columns_of
from windrow.semantics.moments import microseconds

UTC = timezone.utc


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
        rows = random_rows(random, random.choice([0, 1, 2, 9, 40]))
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
