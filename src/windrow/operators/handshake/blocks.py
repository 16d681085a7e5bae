"""Blocks of rows as plain columns: what is stored of them, and the bounds within which they look for partners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.joins.encoding import Encoded, Flags, Probes

Unsigned: TypeAlias = npt.NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True)
class BlockRows:
    """Rows that can join something: ids, times, columns to compare, and what they look for.

    A stored value lies in a probe's bounds when `value - low` is at most `width`, modulo the size of the type.
    """

    ids: Integers
    times: Integers
    columns: tuple[Unsigned, ...]
    firsts: Integers
    lasts: Integers
    lows: tuple[Unsigned, ...]
    widths: tuple[Unsigned, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @staticmethod
    def able(stored: Encoded, probes: Probes) -> Flags:
        """The rows that can join something: no NULL is compared, and something may lie between their bounds."""
        able = probes.first <= probes.last
        for low, high in zip(probes.lows, probes.highs, strict=True):
            able &= low <= high
        return able if stored.alive is None else able & stored.alive

    @staticmethod
    def of(ids: Integers, stored: Encoded, probes: Probes) -> BlockRows:
        """Rows that are all able to join something. Where nothing else is compared, times are."""
        columns, lows, highs = list(stored.bands), list(probes.lows), list(probes.highs)
        if stored.words is not None:
            assert probes.words is not None
            columns, lows, highs = [stored.words, *columns], [probes.words, *lows], [probes.words, *highs]
        if not columns:
            columns, lows, highs = [stored.times], [probes.first], [probes.last]
        widths = [_unsigned(high) - _unsigned(low) for low, high in zip(lows, highs, strict=True)]
        return BlockRows(
            ids,
            stored.times,
            tuple(map(_unsigned, columns)),
            probes.first,
            probes.last,
            tuple(map(_unsigned, lows)),
            tuple(widths),
        )

    def take(self, rows: Flags | slice) -> BlockRows:
        return self._made(lambda values: values[0][rows], self)

    @staticmethod
    def joined(parts: Sequence[BlockRows]) -> BlockRows:
        return parts[0] if len(parts) == 1 else BlockRows._made(np.concatenate, *parts)

    @staticmethod
    def _made(make: Callable[[Any], Any], *parts: BlockRows) -> BlockRows:
        """Each array made of those that are in its place in the parts."""
        fields = zip(*(vars(part).values() for part in parts), strict=True)
        arrays: Any = (tuple(map(make, zip(*f, strict=True))) if isinstance(f[0], tuple) else make(f) for f in fields)
        return BlockRows(*arrays)


def _unsigned(numbers: npt.NDArray[Any]) -> Unsigned:
    kind = np.uint32 if numbers.dtype.itemsize == 4 else np.uint64
    return np.ascontiguousarray(numbers).view(kind)


@dataclass(frozen=True)
class Block:
    """What moves along the chain."""

    number: int
    rows: BlockRows

    def __len__(self) -> int:
        return len(self.rows)
