from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from windrow.errors import SourceError
from windrow.semantics.progress.policies import Punctuation
from windrow.sources import Source, elements_of, open_source
from windrow.sources.base import position_of

SCHEMA = pa.schema([("a", pa.int64())])
BATCH = pa.record_batch({"a": [1, 2, 3]})


def seen(source: Source, batch_rows: int = 2, skip_rows: int = 0) -> list[Any]:
    elements = elements_of(source, position_of(skip_rows), batch_rows=batch_rows)
    return [e if isinstance(e, Punctuation) else e["a"].to_pylist() for e in elements]


def test_elements_come_in_order_and_the_schema_from_the_first_batch() -> None:
    source = open_source(iter([Punctuation(1), BATCH, pa.Table.from_batches([BATCH]), Punctuation(2)]))
    assert SCHEMA == source.schema
    assert [Punctuation(1), [1, 2], [3], [1, 2], [3], Punctuation(2)] == seen(source)


def test_dict_rows_are_gathered_until_something_else_comes() -> None:
    elements = [{"a": 1}, {"a": 2}, {"a": 3}, Punctuation(2), {}, BATCH.slice(2)]
    assert [[1, 2], [3], Punctuation(2), [None], [3]] == seen(open_source(iter(elements), schema=SCHEMA))


def test_a_list_can_be_read_again_and_an_iterator_not() -> None:
    again = open_source([BATCH])
    assert seen(again) == seen(again)
    once = open_source(iter([BATCH]), name="trades")
    assert [[3]] == seen(once, skip_rows=2)
    pattern = (
        r"^`trades` can be read only once, because it is an iterator\. "
        r"Hint: give a list, or a new iterator for every run\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        seen(once)


def test_an_object_with_a_schema_is_not_looked_into() -> None:
    class Live:
        schema = SCHEMA

        def __iter__(self) -> Iterator[Any]:
            raise AssertionError("read too early")

    assert SCHEMA == open_source(Live()).schema


def test_a_list_of_dicts_tells_its_columns() -> None:
    source = open_source([{"a": 1, "b": None}, {"b": "x", "a": 2}])
    number: Any = pa.int64()
    assert pa.schema({"a": number, "b": pa.string()}) == source.schema
    assert [[1, 2]] == seen(source)


@pytest.mark.parametrize(
    ("elements", "reason"), [([{"a": 1}], "its rows are dicts"), ([Punctuation(1)], "it has no batch")]
)
def test_what_does_not_tell_its_columns_needs_a_schema(elements: list[Any], reason: str) -> None:
    pattern = (
        rf"^`trades` needs a schema, because {reason}\. "
        r"Hint: give the columns, like schema=pa\.schema\(\[\('time', pa\.int64\(\)\)\]\)\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        open_source(iter(elements), name="trades")


def test_a_dict_value_that_does_not_fit_is_named_with_the_rows_before_it() -> None:
    pattern = (
        r"^`a` must be int64 in every row, got 'x'\. "
        r"Hint: declare the column with another type in `schema`, or correct the row\.$"
    )
    with pytest.raises(SourceError, match=pattern) as caught:
        seen(open_source(iter([BATCH, {"a": "x"}])))
    assert 3 == caught.value.used


def test_a_list_of_dicts_with_mixed_types_is_refused() -> None:
    pattern = r"^`a` must have one type in every row \(.+\)\. Hint: give `trades` a schema, or correct the rows\.$"
    with pytest.raises(SourceError, match=pattern):
        open_source([{"a": 1}, {"a": "x"}], name="trades")


def test_other_elements_are_refused() -> None:
    pattern = (
        r"^`trades` must give batches, tables, dict rows or punctuations, got an element of type int\. "
        r"Hint: turn each element into one of these first\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        seen(open_source(iter([BATCH, 3]), name="trades"))


def test_a_batch_with_a_column_that_the_first_has_not_is_refused() -> None:
    more = pa.record_batch({"a": [1], "b": [1]})
    pattern = (
        r"^`trades` must have no column 'b', which its first batch has not\. Hint: give the columns with `schema`\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        seen(open_source(iter([BATCH, more]), name="trades"))
    assert [[1, 2], [3], [1]] == seen(open_source(iter([BATCH, more]), schema=SCHEMA))


def test_a_batch_without_a_column_is_refused() -> None:
    with pytest.raises(SourceError, match=r"^`trades` has no column 'a' in the Python iterable \(one of b\)\. Hint: "):
        seen(open_source(iter([BATCH, pa.record_batch({"b": [1]})]), name="trades"))
