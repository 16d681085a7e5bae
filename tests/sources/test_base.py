from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from windrow.errors import QueryError, SourceError
from windrow.semantics.progress.policies import Punctuation
from windrow.sources.base import Element, cut, narrow, refuse_repeated, require, resume

A: Any = pa.int64()
SCHEMA = pa.schema({"a": A, "b": pa.string()})


def batch(*values: int) -> pa.RecordBatch:
    return pa.record_batch({"a": pa.array(values, pa.int64())})


def seen(elements: list[Element], skip_rows: int) -> list[object]:
    return [e if isinstance(e, Punctuation) else e["a"].to_pylist() for e in resume(elements, skip_rows)]


def test_narrow_keeps_the_order_asked_for() -> None:
    assert ["b", "a"] == narrow(SCHEMA, ["b", "a"], "trades").names


def test_narrow_names_the_unknown_column_and_what_there_is() -> None:
    with pytest.raises(
        QueryError, match=r"^`trades` has no column 'x' \(one of a, b\)\. Hint: use a column there is\.$"
    ):
        narrow(SCHEMA, ["x"], "trades")


def test_narrow_refuses_no_columns() -> None:
    with pytest.raises(QueryError, match=r"^`columns` must name at least one column of the stream, got \[\]\.$"):
        narrow(SCHEMA, [], "trades")


def test_require_names_the_missing_column_and_what_there_is() -> None:
    pattern = (
        r"^`trades` has no column 'x' in f\.csv \(one of a, b\)\. "
        r"Hint: correct the declared schema, or add the column to the data\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        require(SCHEMA, ["a", "x"], "trades", "f.csv")


def test_repeated_names_are_refused() -> None:
    schema = pa.schema([("a", A), ("a", pa.string())])
    with pytest.raises(
        SourceError, match=r"^`trades` has more than one column named 'a'\. Hint: rename one of them in the data\.$"
    ):
        refuse_repeated(schema, "trades")


def test_cut_gives_pieces_of_at_most_so_many_rows() -> None:
    assert [[1, 2], [3]] == [piece["a"].to_pylist() for piece in cut(batch(1, 2, 3), 2)]


def test_cut_of_nothing_gives_nothing() -> None:
    assert [] == list(cut(batch(), 2))


def test_resume_from_the_start_gives_everything() -> None:
    elements: list[Element] = [Punctuation(1), batch(1), Punctuation(2)]
    assert [Punctuation(1), [1], Punctuation(2)] == seen(elements, 0)


def test_resume_inside_a_batch_drops_earlier_punctuations() -> None:
    elements: list[Element] = [Punctuation(1), batch(1, 2), Punctuation(2), batch(3, 4), Punctuation(3)]
    assert [[4], Punctuation(3)] == seen(elements, 3)


def test_resume_at_a_seam_gives_the_last_punctuation_of_each_group() -> None:
    # rows:   1 2 |            | 3
    # seam:        2  5  g:4
    elements: list[Element] = [
        batch(1, 2),
        Punctuation(2),
        Punctuation(5),
        Punctuation(4, ("g",)),
        batch(3),
        Punctuation(9),
    ]
    assert [Punctuation(5), Punctuation(4, ("g",)), [3], Punctuation(9)] == seen(elements, 2)


def test_resume_after_the_end_gives_the_punctuations_there() -> None:
    assert [Punctuation(7)] == seen([batch(1, 2), Punctuation(7)], 2)
