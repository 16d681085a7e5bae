"""Rounding a column is rounding each of its values by definition, whatever its type."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.operators.expressions.tree import evaluate
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.scalars.grid import limits, rounded

WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = {"float": 32, "double": 64}
TYPES: dict[str, Any] = {**{name: getattr(pa, name)() for name in WHOLE}, "float": pa.float32(), "double": pa.float64()}


def values_of(kind: str) -> st.SearchStrategy[Any]:
    if kind in FLOATS:
        return st.one_of(st.none(), st.floats(width=32 if kind == "float" else 64), st.sampled_from((0.03, 1.0, -0.0)))
    least, greatest = limits(kind)
    return st.one_of(st.none(), st.integers(least, greatest), st.integers(0, 20), st.sampled_from((least, greatest)))


def plain(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.parametrize("kind", TYPES)
@settings(max_examples=40)
@given(st.data(), st.sampled_from((0.01, 0.3, 1.0, 5.0, 100.0, 1e-320, 1e18, 1e300)))
def test_a_column_is_rounded_as_its_values_are(kind: str, data: st.DataObject, bound: float) -> None:
    array = pa.array(data.draw(st.lists(values_of(kind), max_size=20)), TYPES[kind])
    call = Call("within", (Column("x"), Literal(bound), Literal(kind)))
    found = evaluate(call, pa.record_batch({"x": array}))
    assert array.type == found.type
    expected = [None if value is None else rounded(value, bound, kind) for value in array.to_pylist()]
    assert list(map(plain, expected)) == list(map(plain, found.to_pylist()))


def test_a_dictionary_is_rounded_entry_by_entry() -> None:
    array = pa.array([10.013, None, 3.3, 10.013] * 3).dictionary_encode()
    found = evaluate(Call("within", (Column("x"), Literal(0.01))), pa.record_batch({"x": array}))
    assert [10.02, None, 3.3, 10.02] * 3 == found.to_pylist()
