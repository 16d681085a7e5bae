"""Rows that carry state keep it, of every kind, while they are stored, converted and saved."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Numbers
from windrow.operators.state.cells import Cells
from windrow.operators.state.kinds import ADDS, BYTES, PAIRS, StateKind
from windrow.operators.state.layout import Layout, Table
from windrow.operators.store.cell_rows import cell_rows, converting, no_cell_rows, state_of
from windrow.operators.store.row_block import RowBlock
from windrow.operators.store.row_store import RowStore


def rows(places: list[int]) -> RowBlock:
    """Rows that have their place in all of their state."""
    numbers = np.array(places, np.int64)
    matrices: dict[StateKind, Numbers] = {
        ADDS: np.stack([numbers, -numbers, numbers], axis=1),
        PAIRS: np.stack([numbers, 2 * numbers], axis=1),
        BYTES: np.stack([numbers, numbers + 1], axis=1).astype(np.uint8),
    }
    return cell_rows(Cells(numbers, numbers.astype(np.int32), Table(matrices)))


def same(expected: Table, found: Table) -> None:
    assert list(expected.matrices) == list(found.matrices)
    for kind, matrix in expected.matrices.items():
        assert matrix.tolist() == found.matrices[kind].tolist()
        assert kind.dtype == found.matrices[kind].dtype


def test_state_of_every_kind_comes_back_from_a_table() -> None:
    store = RowStore(rows([]))
    store.append(rows([3, 1]))
    store.append(rows([0]))
    table = store.table()
    assert ["place", "code", "add0", "add1", "add2", "pair0", "pair1", "byte2"] == table.column_names
    again = RowStore(rows([]))
    again.fill(table)
    same(state_of(rows([3, 1, 0])), state_of(again.content()))


def test_columns_keep_their_order() -> None:
    """So that saved state is the same bytes after it was restored."""
    marked = rows([4, 2]).having({"last": np.array([5, 3])})
    table = marked.table()
    assert table.equals(marked.like(table).table())


def test_no_rows_have_all_kinds_of_state() -> None:
    table = rows([]).table()
    same(state_of(rows([])), state_of(rows([]).like(table)))


def test_rows_without_state_but_their_count() -> None:
    nothing = no_cell_rows(Layout((), pa.schema([])))
    assert [ADDS] == list(state_of(nothing).matrices)
    assert ["place", "code", "add0"] == nothing.table().column_names


def test_a_conversion_of_state_is_one_of_rows() -> None:
    store = RowStore(rows([]), by="place")
    store.append(rows([2, 5]))
    store.change(converting(lambda table: Table({**table.matrices, ADDS: table.adds[:, :2]})))
    assert [[2, -2], [5, -5]] == state_of(store.content()).adds.tolist()
    assert 2 == state_of(store.nothing).adds.shape[1]
    assert [[2, 3], [5, 6]] == state_of(store.content()).matrices[BYTES].tolist()
