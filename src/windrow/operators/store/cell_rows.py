"""Rows that are cells of their own: place, group and state of each; a matrix for each kind of state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windrow.operators.state.cells import Cells
from windrow.operators.state.groups import NO_CODES
from windrow.operators.state.kinds import KINDS
from windrow.operators.state.layout import Layout, Table
from windrow.operators.store.row_block import Column, RowBlock


def cell_rows(cells: Cells) -> RowBlock:
    return RowBlock({"place": cells.places, "code": cells.codes, **_matrices(cells.state)})


def cells_of(rows: RowBlock) -> Cells:
    return Cells(rows["place"], rows["code"], state_of(rows))


def no_cell_rows(layout: Layout) -> RowBlock:
    return cell_rows(Cells(np.empty(0, np.int64), NO_CODES, layout.empty(0)))


def state_of(rows: RowBlock) -> Table:
    return Table({kind: rows[kind.name] for kind in KINDS if kind.name in rows})


def converting(convert: Callable[[Table], Table]) -> Callable[[RowBlock], RowBlock]:
    """What does to rows what a conversion does to their state."""
    return lambda rows: rows.having(_matrices(convert(state_of(rows))))


def _matrices(state: Table) -> dict[str, Column]:
    return {kind.name: matrix for kind, matrix in state.matrices.items()}
