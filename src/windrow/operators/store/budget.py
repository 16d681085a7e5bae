"""How much of the kept rows is in memory: what is sealed beyond it goes to the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

from windrow.durable.temporary_folders import temporary_folder
from windrow.errors import ConfigurationError, reason_of
from windrow.operators.compression.coded_column import CodedColumn
from windrow.operators.store.block_cache import BlockCache
from windrow.operators.store.spilled_column import SpilledColumn, SpillFile

LEAST = 1 << 20
"""Bytes below which a budget does not hold what is being sealed at once."""
FILE_BYTES = 1 << 26
"""A file takes columns until it has so many bytes."""
SHARE = 4
"""One structure takes at most one in so many bytes of the budget."""
CACHED = 16
"""Blocks that were read take at most one in so many bytes of the budget, for each operator, or of what is kept."""


@dataclass(frozen=True)
class Kept:
    """What is kept: rows, what they would take as plain numbers, what they take in memory, and what is on the disk."""

    rows: int = 0
    raw_bytes: int = 0
    bytes: int = 0
    spilled_bytes: int = 0
    hits: int = 0
    """Looks into blocks that had been read already."""
    misses: int = 0
    written: int = 0
    """Bytes that went to the disk so far, whether or not they are still needed."""
    columns: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Of each column what it would take as plain numbers, and what it takes wherever it is."""

    def plus(self, other: Kept) -> Kept:
        return Kept(
            self.rows + other.rows,
            self.raw_bytes + other.raw_bytes,
            self.bytes + other.bytes,
            self.spilled_bytes + other.spilled_bytes,
            self.hits + other.hits,
            self.misses + other.misses,
            self.written + other.written,
            added([*self.columns.items(), *other.columns.items()]),
        )

    @property
    def ratios(self) -> dict[str, float]:
        """How many times as many bytes each column would take as plain numbers."""
        return {name: round(raw / taken, 2) for name, (raw, taken) in sorted(self.columns.items()) if taken}


def added(sizes: Iterable[tuple[str, tuple[int, int]]]) -> dict[str, tuple[int, int]]:
    """The sizes of columns, those of the same name together."""
    found: dict[str, tuple[int, int]] = {}
    for name, (raw, taken) in sizes:
        before = found.get(name, (0, 0))
        found[name] = before[0] + raw, before[1] + taken
    return found


class Holder(Protocol):
    @property
    def nbytes(self) -> int: ...

    @property
    def kept(self) -> Kept: ...


class Spillable(Protocol):
    """Sealed rows, which never change."""

    @property
    def nbytes(self) -> int: ...

    def spilled(self: Sealed, spill: Callable[[Any], Any]) -> Sealed:
        """The same with its coded columns where `spill` puts them."""
        ...


Sealed = TypeVar("Sealed", bound=Spillable)


class Budget:
    """What the stores of an operator hold, and of how many bytes in memory; several operators may share one limit."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._shared: Budget | None = None
        self._holders: WeakSet[Holder] = WeakSet()
        self._lock = Lock()
        self._file: SpillFile | None = None
        self._folder: Path | None = None
        self._files = 0
        self._written = 0
        self.cache = BlockCache(self._cache_limit)
        self._caches = [self.cache]
        """All that count here, those of who shares it among them."""

    def share(self, other: Budget) -> None:
        """From now on what is held here counts there."""
        self._shared = other
        other._caches.append(self.cache)
        for holder in self._holders:
            other.watch(holder)

    @property
    def limit(self) -> int | None:
        return self._limit if self._shared is None else self._shared.limit

    def is_beyond(self, nbytes: int) -> bool:
        """Whether so many bytes are more than one structure is to take for itself."""
        return self.limit is not None and SHARE * nbytes > self.limit

    def watch(self, holder: Holder) -> None:
        """Count what somebody holds, as long as it lives."""
        self._holders.add(holder)
        if self._shared is not None:
            self._shared.watch(holder)

    @property
    def holders(self) -> list[Holder]:
        """All that hold something now."""
        return list(self._holders)

    @property
    def kept(self) -> Kept:
        own = Kept(bytes=self.cache.nbytes, hits=self.cache.hits, misses=self.cache.misses, written=self._written)
        return total([own, *(holder.kept for holder in self.holders)])

    @property
    def nbytes(self) -> int:
        """In memory, with what is cached."""
        holders: list[Holder | BlockCache] = [*self._caches, *self._holders]
        return sum(holder.nbytes for holder in holders)

    def _cache_limit(self) -> int:
        kept = self.nbytes - self.cache.nbytes
        return (kept if self.limit is None else self.limit) // CACHED

    def fitted(self, rows: Sealed, owner: Budget | None = None) -> Sealed:
        """Sealed rows, on the disk where memory holds enough already; `owner` is who shares this and keeps them."""
        owner = owner or self
        if self._shared is not None:
            return self._shared.fitted(rows, owner)
        if self._limit is None:
            return rows
        with self._lock:
            if self.nbytes + rows.nbytes <= self._limit:
                return rows
            try:
                return rows.spilled(lambda column: self._spilled(column, owner))
            except OSError as error:
                raise ConfigurationError(
                    f"must be a folder with room for rows beyond `memory` ({reason_of(error)})",
                    parameter="TMPDIR",
                    value=str(self._folder),
                    hint="make room on the disk, set TMPDIR to a folder on a larger one, or give more memory",
                ) from error

    def _spilled(self, column: Any, owner: Budget) -> Any:
        if not isinstance(column, CodedColumn) or len(column.data) <= column.size // 64:
            return column  # of one value, or nearly
        if self._file is None or self._file.size >= FILE_BYTES:
            self._folder = self._folder or temporary_folder("rows")
            self._files += 1
            self._file = SpillFile(self._folder / f"{self._files}.blocks")
        spilled = SpilledColumn.of(column, self._file, owner.cache)
        owner._written += spilled.spilled_bytes
        return spilled


def total(parts: Iterable[Kept]) -> Kept:
    found = Kept()
    for part in parts:
        found = found.plus(part)
    return found
