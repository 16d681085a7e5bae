"""State as Arrow columns and back; blocks take as little as what is in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from windrow.operators.state.kinds import ADDS, BYTES, PAIRS
from windrow.operators.state.layout import Table
from windrow.operators.state.state_columns import packed_blocks, state_columns, state_of, unpacked_blocks, widths_in


@pytest.mark.parametrize("shares", [[], [0], [0.01], [1], [0.24, 0.25, 0.26], [0, 1, 0, 0.1, 0.9]])
def test_blocks_come_back(shares: list[float]) -> None:
    chance = np.random.default_rng(1)
    matrix = np.zeros((len(shares), 64), np.uint8)
    for row, share in zip(matrix, shares, strict=True):
        row[chance.permutation(64)[: round(64 * share)]] = chance.integers(1, 256, round(64 * share))
    packed: Any = packed_blocks(matrix)
    assert np.array_equal(matrix, unpacked_blocks(packed, 64))
    assert [min(64, 4 * np.count_nonzero(row)) for row in matrix] == [len(block) for block in packed.to_pylist()]


def test_a_slice_of_a_table_is_read_too() -> None:
    matrix = np.arange(12, dtype=np.uint8).reshape(3, 4)
    table: dict[str, Any] = {"blocks": packed_blocks(matrix)}
    part = pa.table(table).slice(1, 2)
    assert np.array_equal(matrix[1:], unpacked_blocks(part["blocks"].combine_chunks(), 4))


def test_names_tell_the_widths() -> None:
    state = Table({ADDS: np.ones((2, 3), np.int64), PAIRS: np.ones((2, 2), np.int64), BYTES: np.ones((2, 5), np.uint8)})
    columns: Any = state_columns(state)
    assert ["add0", "add1", "add2", "pair0", "pair1", "byte5"] == list(columns)
    widths = widths_in(["place", *columns])
    assert {ADDS: 3, PAIRS: 2, BYTES: 5} == widths
    for kind, matrix in state_of(pa.table(columns), widths).matrices.items():
        assert kind.dtype == matrix.dtype
        assert np.array_equal(matrix, state.matrices[kind])
