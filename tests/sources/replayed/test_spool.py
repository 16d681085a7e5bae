"""A copy on disk gives the same elements as the source in memory."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import ConfigurationError, SourceError
from windrow.semantics.progress.policies import END, START, Punctuation
from windrow.sources import Source, elements_of, open_source
from windrow.sources.base import position_of
from windrow.sources.replayed import spool
from windrow.sources.replayed.spool import spooled

GROUPS: list[tuple[Any, ...]] = [
    (),
    ("a",),
    ("UBSN", 3, None, 1.5, True),
    (b"\x00", Decimal("1.50"), date(2024, 1, 1)),
    (datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=timezone.utc), timedelta(seconds=1)),
]


def flat(source: Source, skip_rows: int = 0, batch_rows: int = 3) -> list[Any]:
    found: list[Any] = []
    for element in elements_of(source, position_of(skip_rows), batch_rows=batch_rows):
        found += [element] if isinstance(element, Punctuation) else element.to_pylist()
    return found


def rows(*values: int) -> pa.Table:
    return pa.table({"a": pa.array(values, pa.int64()), "b": pa.array([str(v) for v in values], pa.string())})


def test_rows_and_punctuations_come_back_in_order(tmp_path: Path) -> None:
    punctuations = [Punctuation(START), Punctuation(END), *(Punctuation(5, group) for group in GROUPS)]
    source = open_source([Punctuation(1), rows(1, 2), *punctuations, rows(3), Punctuation(9)])
    copy = spooled(source, tmp_path / "new")

    assert flat(source) == flat(copy)
    assert (3, source.schema) == (copy.total_rows, copy.schema)
    assert "Python iterable" == copy.describe()


@given(st.lists(st.integers(-2, 4), max_size=12), st.integers(0, 20), st.integers(1, 5), st.integers(1, 6))
def test_skipping_rows_gives_what_the_source_gives(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], skip: int, batch_rows: int, part_rows: int
) -> None:
    stream = [rows(), *(rows(*range(n)) if n > 0 else Punctuation(i, (n,)) for i, n in enumerate(sizes))]
    source = open_source(stream)
    skip = min(skip, sum(max(n, 0) for n in sizes))
    with patch.object(spool, "_PART_ROWS", part_rows):
        copy = spooled(source, tmp_path_factory.mktemp("spool"))

    assert flat(source, skip) == flat(copy, skip, batch_rows)


def test_frames_tables_and_iterators_are_copied(tmp_path: Path) -> None:
    expected = rows(1, 2, 3).to_pylist()
    for number, data in enumerate([rows(1, 2, 3), pd.DataFrame(expected), iter([rows(1), rows(2, 3)])]):
        assert expected == flat(spooled(open_source(data), tmp_path / str(number)))


def test_dictionaries_that_differ_between_batches_stay_dictionaries(tmp_path: Path) -> None:
    batches = [pa.table({"s": pa.array(words).dictionary_encode()}) for words in (["x", "y"], ["z", None])]
    source = open_source(batches)
    copy = spooled(source, tmp_path)

    assert [{"s": "x"}, {"s": "y"}, {"s": "z"}, {"s": None}] == flat(copy)
    assert source.schema == next(elements_of(copy)).schema  # type: ignore[union-attr]


def test_columns_are_chosen_and_ordered(tmp_path: Path) -> None:
    copy = spooled(open_source(rows(1)), tmp_path).select(["b"])

    assert [{"b": "1"}] == flat(copy)
    assert ["b"] == copy.schema.names


def test_a_source_without_rows_has_a_copy(tmp_path: Path) -> None:
    copy = spooled(open_source(rows()), tmp_path)

    assert (0, []) == (copy.total_rows, flat(copy))


def test_batches_are_no_larger_than_asked_for(tmp_path: Path) -> None:
    copy = spooled(open_source(rows(*range(10))), tmp_path)

    assert [4, 4, 2] == [len(e) for e in elements_of(copy, batch_rows=4) if isinstance(e, pa.RecordBatch)]


def test_files_are_not_copied(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    source = open_source(tmp_path / "a.csv")

    assert source is spooled(source, tmp_path / "spool")
    assert not (tmp_path / "spool").exists()


def test_an_earlier_copy_is_replaced(tmp_path: Path) -> None:
    with patch.object(spool, "_PART_ROWS", 1):
        spooled(open_source([rows(1), rows(2), Punctuation(9)]), tmp_path)
    copy = spooled(open_source(rows(3)), tmp_path)

    assert rows(3).to_pylist() == flat(copy)
    assert ["punctuations.arrow", "rows-000000.arrow"] == sorted(path.name for path in tmp_path.iterdir())


def test_who_reads_an_earlier_copy_keeps_it(tmp_path: Path) -> None:
    elements = elements_of(spooled(open_source(rows(1, 2)), tmp_path), batch_rows=1)
    first = next(elements)
    spooled(open_source(rows(3, 4)), tmp_path)

    assert [1, 2] == [e["a"].to_pylist()[0] for e in (first, *elements)]  # type: ignore[index]


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("")

    with pytest.raises(
        ConfigurationError, match=r"^`folder` must hold nothing but the copy of one .*mine\.txt\. Hint: "
    ):
        spooled(open_source(rows(1)), tmp_path)
    assert (tmp_path / "mine.txt").exists()


def test_a_group_that_no_column_can_hold_is_refused(tmp_path: Path) -> None:
    source = open_source([rows(1), Punctuation(1, (object(),))])

    with pytest.raises(SourceError, match=r"^`group` must be values that a column can hold, got \(<object.*Hint: give"):
        spooled(source, tmp_path)


def test_a_copy_that_is_gone_is_told(tmp_path: Path) -> None:
    copy = spooled(open_source(rows(1), name="trades"), tmp_path)
    (tmp_path / "rows-000000.arrow").unlink()

    with pytest.raises(
        SourceError, match=r"^`trades` must keep its copy on disk until the query is done, got .*rows-0"
    ):
        flat(copy)
