"""Rows that are cells of their own: place, group and state of each; a matrix for each kind of state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.operators.state.groups import Codes
from windrow.operators.state.kinds import KINDS
from windrow.operators.state.layout import Layout, Table
from windrow.operators.store.row_block import Column, RowBlock


def cell_rows(places: Integers, codes: Codes, state: Table) -> RowBlock:
    return RowBlock({"place": places, "code": codes, **_matrices(state)})


def no_cell_rows(layout: Layout) -> RowBlock:
    return cell_rows(np.empty(0, np.int64), np.empty(0, np.int32), layout.empty(0))


def state_of(rows: RowBlock) -> Table:
    return Table({kind: rows[kind.name] for kind in KINDS if kind.name in rows})


def converting(convert: Callable[[Table], Table]) -> Callable[[RowBlock], RowBlock]:
    """What does to rows what a conversion does to their state."""
    return lambda rows: rows.having(_matrices(convert(state_of(rows))))


def _matrices(state: Table) -> dict[str, Column]:
    return {kind.name: matrix for kind, matrix in state.matrices.items()}
