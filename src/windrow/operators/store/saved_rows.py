"""Blocks of sealed rows with a column `place`, as tables that are saved once, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from windrow.operators.compression.coded_column import CodedColumn
from windrow.operators.state.changes import Stamped, under
from windrow.operators.store.row_block import RowBlock
from windrow.operators.store.sealed_rows import SealedRows
from windrow.operators.store.sealing import Sealing


def saved_rows(block: RowBlock) -> Iterator[tuple[str, Stamped]]:
    """A block that never changes: its places, and the columns of its whole rows; codes and the like are left out."""
    assert isinstance(block.data, SealedRows)
    for name, stamp, make in block.coded():
        if name == "place":
            yield name, Stamped(stamp, make, lasts=True)
    for part, stamp, make in block.data.saved():
        yield f"row.{part}", Stamped(stamp, make, lasts=True)


def loaded_rows(tables: Mapping[str, pa.Table], sealing: Sealing) -> tuple[CodedColumn, SealedRows]:
    """The places and the rows that were saved."""
    place = CodedColumn.of_table(tables["place"])
    return place, SealedRows.of_tables(under("row.", tables), place.size, sealing.budget.cache)


def numbers_in(tables: Mapping[str, pa.Table]) -> list[int]:
    """The numbers that names of tables begin with, each once and in order."""
    heads = {name.partition(".")[0] for name in tables}
    return sorted(int(head) for head in heads if head.isdigit())
