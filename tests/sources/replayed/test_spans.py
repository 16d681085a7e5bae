"""Spans between offsets, and where they are cut."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.sources import open_source
from windrow.sources.replayed.spans import LEAST_ROWS, RowSpan, cut_span, offset, seams_of, span_between

HALF = LEAST_ROWS // 2


def test_the_end_lies_in_the_span_that_first_knows_of_it() -> None:
    assert RowSpan(0, 10) == span_between(offset(0, False), offset(10, False))
    assert RowSpan(10, 12, True) == span_between(offset(10, False), offset(12, True))
    assert RowSpan(0, 0, True) == span_between(offset(0, False), offset(0, True))
    assert RowSpan(12, 12) == span_between(offset(12, True), offset(12, True))


@pytest.mark.parametrize(
    ("bounds", "rows", "pieces", "seams"),
    [
        ([0, 2 * LEAST_ROWS - 1], 2 * LEAST_ROWS - 1, 2, None),
        ([0, LEAST_ROWS, 2 * LEAST_ROWS], 2 * LEAST_ROWS, 2, None),
        ([0, LEAST_ROWS, 2 * LEAST_ROWS], 2 * LEAST_ROWS, 9, None),
        ([0, 2 * LEAST_ROWS], 2 * LEAST_ROWS, 2, []),
        ([0, HALF, 2 * LEAST_ROWS], 2 * LEAST_ROWS, 2, [HALF, 2 * LEAST_ROWS]),
        ([0, 3 * HALF, 4 * LEAST_ROWS], 4 * LEAST_ROWS, 4, [3 * HALF]),
        ([0, 2 * LEAST_ROWS], 2 * LEAST_ROWS, 1, None),
        ([0, 0], 0, 3, None),
    ],
)
def test_a_span_is_cut_at_seams_into_pieces_that_are_worth_a_task(
    bounds: list[int], rows: int, pieces: int, seams: list[int] | None
) -> None:
    cut = cut_span(RowSpan(0, rows, True), pieces, seams)

    assert bounds == [cut[0].first, *(piece.last for piece in cut)]
    assert [False] * (len(cut) - 1) + [True] == [piece.ends for piece in cut]


@given(
    st.integers(0, 1 << 20),
    st.integers(0, 1 << 20),
    st.integers(1, 8),
    st.none() | st.lists(st.integers(0, 1 << 21), max_size=20).map(sorted),
)
def test_pieces_put_together_are_the_span(first: int, rows: int, pieces: int, seams: list[int] | None) -> None:
    cut = cut_span(RowSpan(first, first + rows, True), pieces, seams)

    assert len(cut) <= pieces
    assert [first, *(piece.last for piece in cut[:-1])] == [piece.first for piece in cut]
    assert first + rows == cut[-1].last


def test_row_groups_and_files_are_the_seams_of_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": range(5)}), tmp_path / "a.parquet", row_group_size=2)
    pq.write_table(pa.table({"a": range(3)}), tmp_path / "b.parquet")

    assert [2, 4, 5, 8] == seams_of(open_source(tmp_path))


def test_text_files_have_no_seams_and_tables_have_one_at_every_row(tmp_path: Path) -> None:
    pv.write_csv(pa.table({"a": range(5)}), tmp_path / "a.csv")

    assert [] == seams_of(open_source(tmp_path / "a.csv"))
    assert seams_of(open_source(pa.table({"a": range(5)}))) is None
