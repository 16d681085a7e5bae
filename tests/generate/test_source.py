"""Generated streams as sources."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from windrow.errors import QueryError
from windrow.generate import trades
from windrow.generate.stream import RecipeSource
from windrow.sources import elements_of
from windrow.sources.base import position_of


def source(rows: int = 50, **settings: Any) -> RecipeSource:
    stream = trades(rows, seed=3, disorder="band 1 s", batch_rows=20, **settings)
    return RecipeSource(stream.recipe.name, stream.schema, stream)


def rows_of(elements: Any) -> list[dict[str, Any]]:
    return [row for batch in elements for row in batch.to_pylist()]


def test_rows_are_the_same_wherever_reading_begins() -> None:
    expected = source().stream.table().to_pylist()

    for skip in (0, 7, 20, 50):
        assert expected[skip:] == rows_of(elements_of(source(), position_of(skip), batch_rows=6))


def test_batches_are_no_larger_than_asked_for() -> None:
    sizes = [len(e) for e in elements_of(source(), batch_rows=15) if isinstance(e, pa.RecordBatch)]

    assert [15, 5, 15, 5, 10] == sizes


def test_columns_are_chosen_and_ordered() -> None:
    narrow = source().select(["time", "symbol"])

    assert ["time", "symbol"] == narrow.schema.names == list(rows_of(elements_of(narrow))[0])
    with pytest.raises(QueryError, match=r"^`trades` has no column 'weight' \(one of symbol, price, volume, time\)\."):
        source().select(["weight"])


def test_rows_are_known_unless_punctuation_rows_come_between() -> None:
    assert 50 == source().total_rows
    assert source(punctuations=True).total_rows is None


def test_what_lies_before_must_be_made_too() -> None:
    assert not source().can_seek
