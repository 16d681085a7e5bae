"""Runs whose payload is sealed, as tables that are saved once, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled
from windrow.operators.compression.coded_column import CodedColumn
from windrow.operators.joins.encoding import Encoded
from windrow.operators.joins.runs import RunLayout, SortedRun, sorted_run
from windrow.operators.state.changes import Saved, Stamped, under
from windrow.operators.store.row_block import RowBlock
from windrow.operators.store.sealed_rows import SealedRows
from windrow.operators.store.sealing import Sealing

_PAYLOAD = "row."


def saved_run(run: SortedRun, layout: RunLayout) -> Iterator[tuple[str, Saved]]:
    """A run that changes no more, by what its tables are called: all but the marks of its rows stay as they are."""
    assert isinstance(run.payload, SealedRows)
    yield "place", Stamped(run.times, lambda: CodedColumn.of(_as_came(run, run.times)).table(), lasts=True)
    yield "index", Stamped(run.rows, lambda: _index(run, layout), lasts=True)
    if run.matched is not None:
        yield "matched", tabled(matched=run.matched)
    for name, stamp, make in run.payload.saved():
        yield _PAYLOAD + name, Stamped(stamp, make, lasts=True)


def columns_of(run: SortedRun, layout: RunLayout) -> dict[str, npt.NDArray[Any]]:
    """What rows of a run are looked up by, in the order of the run."""
    columns: dict[str, Any] = {"word": run.words} if layout.has_words else {}
    if layout.bands > 1:
        columns["band0"] = run.others
    columns |= {f"band{i}": band for i, band in enumerate(run.middle, 1)}
    if layout.bands:
        columns[f"band{layout.bands - 1}"] = run.keys
    return columns


def encoded(places: Any, columns: Mapping[str, Any], layout: RunLayout) -> Encoded:
    """What `columns_of` gave, as the rows of a run are made of."""
    return Encoded(places, columns.get("word"), tuple(columns[f"band{i}"] for i in range(layout.bands)))


def loaded_run(tables: Mapping[str, pa.Table], layout: RunLayout, least: int, sealing: Sealing) -> SortedRun:
    """The run that was saved; `least` is not above its smallest time."""
    places = CodedColumn.of_table(tables["place"]).read()
    index: dict[str, Any] = dict(RowBlock.of_table(tables["index"]).columns)
    payload = sealing.restored(SealedRows.of_tables(under(_PAYLOAD, tables), len(places), sealing.budget.cache))
    marks = np.array(tables["matched"]["matched"], np.uint8) if "matched" in tables else None
    return sorted_run(encoded(places, index, layout), payload, marks, least, layout)


def _index(run: SortedRun, layout: RunLayout) -> pa.Table:
    """What rows are looked up by, as they came: payload and places are in that order."""
    columns = {name: _as_came(run, column) for name, column in columns_of(run, layout).items()}
    return RowBlock({"number": np.arange(len(run), dtype=np.int32), **columns}).table()


def _as_came(run: SortedRun, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    found = np.empty_like(column)
    found[run.rows] = column
    return found
