"""Integers in as few bytes as their span needs: the least of them, and what each is above it.

A column of one value takes no bytes a row, panes and group codes take one or two where they lie close together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers

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

    def search(self, value: int) -> int:
        """How many are below a value, where they are sorted."""
        above = value - self.base
        if above <= 0:
            return 0
        if len(self.offsets) == 0 or above >> 8 * self.offsets.itemsize:
            return self.size
        return int(self.offsets.searchsorted(self.offsets.dtype.type(above)))

    @property
    def most(self) -> int:
        """The greatest of them; there must be one."""
        return self.base + (int(self.offsets.max()) if len(self.offsets) else 0)

    def _above(self, base: int, kind: np.dtype[Any]) -> npt.NDArray[Any]:
        """What each is above a base that is not above its own."""
        if len(self.offsets) == 0:
            return np.full(self.size, self.base - base, kind)
        return self.offsets if self.base == base else self.offsets + kind.type(self.base - base)

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
    if not filled:
        return Packed.constant(0, 0)
    base, most = min([column.base for column in filled]), max([column.most for column in filled])
    if base == most:
        return Packed.constant(base, sum(column.size for column in filled))
    kind = np.min_scalar_type(most - base)
    if kind.itemsize > max(column.offsets.itemsize for column in filled):  # maybe the least is not there any more
        return Packed.of(np.concatenate([column.read() for column in filled]))
    return Packed(base, np.concatenate([c._above(base, kind) for c in filled]), sum(c.size for c in filled))
