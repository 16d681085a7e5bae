"""Spans read one after another hold the source's elements, whether a kept tape was found or not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import SourceError
from windrow.semantics.progress.policies import Punctuation
from windrow.sources import Element, Position, Reader, Source, elements_of, open_source
from windrow.sources.files.file_source import FileSource
from windrow.sources.replayed import spans as tapes
from windrow.sources.replayed.spans import RowSpan, Tape, read_span


@pytest.fixture(autouse=True)
def no_kept_tapes() -> Iterator[None]:
    with patch.object(tapes, "_kept", []):
        yield


def flat(elements: Iterator[Element]) -> list[Any]:
    """Values and punctuations one by one: where batches are cut does not matter."""
    found: list[Any] = []
    for element in elements:
        found += [element] if isinstance(element, Punctuation) else element.column(0).to_pylist()
    return found


def table(*values: int) -> pa.Table:
    return pa.table({"a": pa.array(values, pa.int64())})


STREAM = [Punctuation(0), table(1, 2, 3), Punctuation(7), Punctuation(8, ("x",)), table(4, 5), Punctuation(9)]


def test_a_punctuation_belongs_to_the_span_of_the_row_before_it() -> None:
    source = open_source(STREAM)

    assert [Punctuation(0), 1, 2] == flat(read_span("t", source, RowSpan(0, 2)))
    assert [3, Punctuation(7), Punctuation(8, ("x",))] == flat(read_span("t", source, RowSpan(2, 3)))
    assert [4, 5, Punctuation(9)] == flat(read_span("t", source, RowSpan(3, 5, True)))


def test_a_source_without_rows_gives_its_punctuations() -> None:
    source = open_source([table(), Punctuation(3)])

    assert [Punctuation(3)] == flat(read_span("t", source, RowSpan(0, 0, True)))


def stream(sizes: list[int]) -> list[Any]:
    """Batches of these sizes; a negative one stands for a punctuation."""
    numbers = iter(range(1000))
    return [table()] + [
        Punctuation(i) if size < 0 else table(*(next(numbers) for _ in range(size))) for i, size in enumerate(sizes)
    ]


@given(st.lists(st.integers(-1, 4), max_size=12), st.lists(st.integers(0, 40), max_size=6), st.booleans())
def test_spans_put_together_are_the_source(sizes: list[int], cuts: list[int], kept: bool) -> None:
    source = open_source(stream(sizes))
    total = sum(max(size, 0) for size in sizes)
    bounds = [0, *sorted({cut for cut in cuts if 0 < cut < total}), total]
    found: list[Any] = []
    for first, last in pairwise(bounds):
        tapes._kept[:] = tapes._kept if kept else []
        found += flat(read_span("t", source, RowSpan(first, last, last == total)))

    assert flat(elements_of(source)) == found


class Counting:
    """A source that counts how often it is opened."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.opened: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def open(self, position: Position | None = None, **how: Any) -> Reader:
        self.opened.append(position["rows"] if position else 0)
        return self.source.open(position, **how)


def test_a_span_goes_on_where_the_last_one_stopped() -> None:
    source: Any = Counting(open_source([table(*range(10))]))
    for first in (0, 3, 6):
        assert list(range(first, first + 3)) == flat(read_span("t", source, RowSpan(first, first + 3)))

    assert [0] == source.opened


def test_a_span_goes_on_past_rows_that_another_process_read() -> None:
    source: Any = Counting(open_source([table(*range(10))]))

    assert [0, 1] == flat(read_span("t", source, RowSpan(0, 2)))
    assert [6, 7] == flat(read_span("t", source, RowSpan(6, 8)))
    assert [0] == source.opened


def test_a_span_that_lies_before_what_was_read_is_opened_anew() -> None:
    source: Any = Counting(open_source([table(*range(10))]))

    assert [4, 5] == flat(read_span("t", source, RowSpan(4, 6)))
    assert [2, 3] == flat(read_span("t", source, RowSpan(2, 4)))
    assert [4, 2] == source.opened


def test_tapes_of_different_streams_are_kept_apart() -> None:
    ones, twos = open_source([table(1, 1, 1)]), open_source([table(2, 2, 2)])

    assert [1] == flat(read_span("ones", ones, RowSpan(0, 1)))
    assert [2] == flat(read_span("twos", twos, RowSpan(1, 2)))


def test_a_tape_that_was_not_read_to_its_end_is_not_kept() -> None:
    source = open_source([table(1, 2), table(3, 4)])
    next(read_span("t", source, RowSpan(0, 4)))

    assert [] == tapes._kept


def test_a_tape_is_dropped_at_the_end_of_the_stream_and_few_are_kept() -> None:
    source = open_source(table(*range(30)))
    for first in range(29, 0, -1):
        flat(read_span("t", source, RowSpan(first - 1, first)))
    assert 8 == len(tapes._kept)

    tapes._kept.clear()
    flat(read_span("t", source, RowSpan(0, 30, True)))
    assert [] == tapes._kept


def test_a_source_that_can_seek_is_not_read_far_to_reach_a_row() -> None:
    source: Any = Counting(open_source(pa.table({"a": range(400_000)})))

    assert [0] == flat(read_span("t", source, RowSpan(0, 1)))
    assert [399_999] == flat(read_span("t", source, RowSpan(399_999, 400_000)))
    assert [0, 399_999] == source.opened


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_many_spans_of_one_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    rows = table(*range(5000))
    pv.write_csv(rows, path) if ending == "csv" else pq.write_table(rows, path, row_group_size=700)
    source = open_source(path)

    found = [flat(read_span("t", source, RowSpan(first, first + 1))) for first in range(5000)]

    assert [[value] for value in range(5000)] == found


def csv(path: Path, *values: int) -> FileSource:
    pv.write_csv(table(*values), path)
    source = open_source(path, name="trades")
    assert isinstance(source, FileSource)
    return source


def test_a_file_that_changed_is_opened_anew(tmp_path: Path) -> None:
    source = csv(tmp_path / "a.csv", 1, 2, 3)
    assert [1] == flat(read_span("t", source, RowSpan(0, 1)))
    csv(tmp_path / "a.csv", 4, 5, 6)
    os.utime(tmp_path / "a.csv", ns=(1, 1))

    assert [5] == flat(read_span("t", source, RowSpan(1, 2)))


def test_a_file_that_shrank_is_told(tmp_path: Path) -> None:
    source = csv(tmp_path / "a.csv", 1, 2)

    with pytest.raises(
        SourceError, match=r"^`trades` must still have the 3 rows it had before, got .*a\.csv \(CSV\)\."
    ):
        flat(read_span("t", source, RowSpan(1, 3)))


def test_a_text_file_that_is_gone_is_told_even_if_it_is_still_open(tmp_path: Path) -> None:
    source = csv(tmp_path / "a.csv", 1, 2)
    assert [1] == flat(read_span("t", source, RowSpan(0, 1)))
    (tmp_path / "a.csv").unlink()

    with pytest.raises(SourceError, match=r"^`trades` must be a readable CSV file \(.*No such file"):
        flat(read_span("t", source, RowSpan(1, 2)))


def test_a_parquet_file_that_is_gone_is_told(tmp_path: Path) -> None:
    pq.write_table(table(1, 2), tmp_path / "a.parquet")
    source = open_source(tmp_path / "a.parquet", name="trades")
    (tmp_path / "a.parquet").unlink()

    with pytest.raises(SourceError, match=r"^`trades` must still be readable \(.*No such file.*Hint: leave the data"):
        flat(read_span("t", source, RowSpan(1, 2)))


def test_a_tape_goes_forward_only() -> None:
    tape = Tape(open_source(table(1, 2, 3)))
    tape.forward(2)
    tape.forward(1)

    assert [3] == flat(tape.take(3))
