from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from windrow.errors import QueryError, SourceError
from windrow.semantics.progress.policies import Punctuation
from windrow.sources.base import ElementReader, Sign, cut, dropped, narrow, refuse_repeated, require

A: Any = pa.int64()
SCHEMA = pa.schema({"a": A, "b": pa.string()})


def batch(*values: int) -> pa.RecordBatch:
    return pa.record_batch({"a": pa.array(values, pa.int64())})


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


def test_dropped_rows_may_be_more_than_a_batch() -> None:
    pieces = [batch(1, 2), batch(), batch(3, 4, 5), batch(6)]
    expected = {0: [[1, 2], [], [3, 4, 5], [6]], 3: [[4, 5], [6]], 5: [[6]], 7: []}
    for rows, rest in expected.items():
        assert [one for one in rest if one] == [piece["a"].to_pylist() for piece in dropped(pieces, rows)]


def test_a_reader_says_where_it_is_and_goes_on_saying_that_it_ended() -> None:
    reader = ElementReader(iter([Punctuation(1), batch(1, 2), batch(), Punctuation(2), Punctuation(3)]))
    found = []
    for _ in range(7):
        element = reader.poll()
        found.append((element if isinstance(element, (Punctuation, Sign)) else len(element), reader.position))
    assert [
        (Punctuation(1), {"rows": 0, "punctuations": 1}),
        (2, {"rows": 2}),
        (0, {"rows": 2}),
        (Punctuation(2), {"rows": 2, "punctuations": 1}),
        (Punctuation(3), {"rows": 2, "punctuations": 2}),
        (Sign.END, {"rows": 2, "punctuations": 2}),
        (Sign.END, {"rows": 2, "punctuations": 2}),
    ] == found
