"""Integers in as few bytes as their span needs: the least of them, and what each is above it.

A column of one value takes no bytes a row, panes and group codes take one or two where they lie close together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.aggregates.base import Integers

_NOTHING: npt.NDArray[Any] = np.empty(0, np.uint8)


@dataclass(frozen=True)
class Packed:
    """`size` integers: `base` + `offsets`; no offsets when all are equal."""

    base: int
    offsets: npt.NDArray[Any]
    size: int

    @staticmethod
    def of(values: npt.NDArray[Any]) -> Packed:
        if len(values) == 0:
            return Packed(0, _NOTHING, 0)
        least, most = int(values.min()), int(values.max())
        if least == most:
            return Packed.constant(least, len(values))
        kind = np.min_scalar_type(most - least)  # differences beyond 63 bits wrap around, and back when read
        if least > 0 and np.min_scalar_type(most) == kind:  # columns of one base are joined as they are
            return Packed(0, values.astype(kind), len(values))
        return Packed(least, (values.astype(np.int64, copy=False) - np.int64(least)).astype(kind), len(values))

    @staticmethod
    def constant(value: int, size: int) -> Packed:
        return Packed(value, _NOTHING, size)

    def read(self) -> Integers:
        if len(self.offsets) == 0:
            return np.full(self.size, self.base, np.int64)
        return self.offsets.astype(np.int64) + np.int64(self.base)

    def take(self, rows: npt.NDArray[Any] | slice) -> Packed:
        if len(self.offsets) == 0:
            size = len(range(self.size)[rows]) if isinstance(rows, slice) else _chosen(rows)
            return Packed.constant(self.base, size)
        offsets = self.offsets[rows]
        return Packed(self.base, offsets, len(offsets))

    @property
    def nbytes(self) -> int:
        return self.offsets.nbytes


def _chosen(rows: npt.NDArray[Any]) -> int:
    return int(np.count_nonzero(rows)) if rows.dtype == np.bool_ else len(rows)


def joined(columns: Sequence[Packed]) -> Packed:
    """One column after the other."""
    filled = [column for column in columns if column.size]
    if len(filled) == 1:
        return filled[0]
    if filled and all(
        c.base == filled[0].base and bool(len(c.offsets)) is bool(len(filled[0].offsets)) for c in filled
    ):
        return Packed(filled[0].base, np.concatenate([c.offsets for c in filled]), sum(c.size for c in filled))
    return Packed.of(np.concatenate([np.empty(0, np.int64), *(column.read() for column in filled)]))
