"""State as Arrow columns, in saved tables and on the wire, and back.

Columns of 64 bits are called after their kind and place: add0, add1, ..., max0, ..., pair0, ... Blocks of small numbers
are one column of bytes a kind, called after the kind and the width: byte4096. Of a block that is mostly neutral only
the other numbers are written, each with its place, so that a state that has seen little takes little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, spread
from windrow.aggregates.kinds.base import Array, Numbers
from windrow.operators.state.keys import byte_strings
from windrow.operators.state.kinds import KINDS, StateKind
from windrow.operators.state.layout import Table

_ENTRY = 4
"""Bytes of a number with its place above it."""


def state_columns(state: Table) -> dict[str, Array]:
    """The columns of a state by name."""
    matrices = (matrix_columns(kind.name, matrix) for kind, matrix in state.matrices.items())
    return {name: column for columns in matrices for name, column in columns.items()}


def matrix_columns(name: str, matrix: Numbers) -> dict[str, Array]:
    """The columns of a matrix, called after it."""
    names = matrix_names(name, matrix)
    if _is_narrow(matrix):
        return {names[0]: packed_blocks(matrix)}
    return {column: arrow(np.ascontiguousarray(matrix[:, j])) for j, column in enumerate(names)}


def matrix_names(name: str, matrix: Numbers) -> list[str]:
    """What the columns of a matrix are called."""
    width = matrix.shape[1]
    return [f"{name}{width}"] if _is_narrow(matrix) else [f"{name}{j}" for j in range(width)]


def _is_narrow(matrix: Numbers) -> bool:
    return matrix.dtype.itemsize < 8


def widths_in(names: Sequence[str]) -> dict[StateKind, int]:
    """The widths of the kinds that have columns among these names."""
    widths = {}
    for kind in KINDS:
        found = [name.removeprefix(kind.name) for name in names if name.startswith(kind.name)]
        if found:
            widths[kind] = int(found[0]) if kind.is_narrow else len(found)
    return widths


def state_of(table: pa.Table, widths: Mapping[StateKind, int]) -> Table:
    """The state in the columns that `state_columns` named."""
    return Table({kind: matrix_of(table, kind.name, kind.empty(0, width)) for kind, width in widths.items()})


def matrix_of(table: pa.Table, name: str, like: Numbers) -> Numbers:
    """The matrix in the columns that `matrix_columns` named, of the width and type of another."""
    names = matrix_names(name, like)
    if _is_narrow(like):
        return unpacked_blocks(table[names[0]].combine_chunks(), like.shape[1])
    matrix = np.empty((table.num_rows, len(names)), like.dtype)
    for j, column in enumerate(names):
        matrix[:, j] = table[column].to_numpy()
    return matrix


def packed_blocks(matrix: npt.NDArray[np.uint8]) -> Array:
    """Each row of bytes as it is, or, where that is shorter, the numbers above 0 with their places."""
    rows, width = matrix.shape
    used = np.count_nonzero(matrix, axis=1)
    sparse = _ENTRY * used < width
    sizes = np.where(sparse, _ENTRY * used, width)
    offsets = np.zeros(rows + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    data = np.empty(int(offsets[-1]), np.uint8)
    owner, place = np.nonzero(matrix * sparse[:, None])
    entries = (place.astype("<i4") << 8 | matrix[owner, place]).view(np.uint8)
    data[spread(offsets[:-1][sparse], sizes[sparse])] = entries
    data[spread(offsets[:-1][~sparse], sizes[~sparse])] = matrix[~sparse].reshape(-1)
    buffers: list[Any] = [offsets, data]
    return pa.Array.from_buffers(pa.large_binary(), rows, [None, *map(pa.py_buffer, buffers)])


def unpacked_blocks(array: Array, width: int) -> npt.NDArray[np.uint8]:
    """What `packed_blocks` was given."""
    offsets, data = byte_strings(array)
    sizes = np.diff(offsets)
    matrix = np.zeros((len(sizes), width), np.uint8)
    sparse = sizes != width
    matrix[~sparse] = data[spread(offsets[:-1][~sparse], sizes[~sparse])].reshape(-1, width)
    entries = data[spread(offsets[:-1][sparse], sizes[sparse])].view("<i4")
    owner = np.repeat(np.flatnonzero(sparse), sizes[sparse] // _ENTRY)
    matrix[owner, entries >> 8] = entries & 255
    return matrix
