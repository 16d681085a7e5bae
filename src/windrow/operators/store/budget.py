"""How much of the kept rows is in memory: what is sealed beyond it goes to the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol
from weakref import WeakSet

from windrow.durable.temporary_folders import temporary_folder
from windrow.errors import ConfigurationError, reason_of
from windrow.operators.compression.coded_column import CodedColumn
from windrow.operators.store.row_block import RowBlock
from windrow.operators.store.spilled_column import SpilledColumn, SpillFile

FILE_BYTES = 1 << 26
"""A file takes columns until it has so many bytes."""
SHARE = 4
"""One structure takes at most one in so many bytes of the budget."""


class Holder(Protocol):
    @property
    def nbytes(self) -> int: ...


class Budget:
    """How many bytes of kept rows the operators of a run hold in memory; what is sealed beyond goes to the disk."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self._holders: WeakSet[Holder] = WeakSet()
        self._file: SpillFile | None = None
        self._folder: Path | None = None
        self._count = 0

    def is_beyond(self, nbytes: int) -> bool:
        """Whether so many bytes are more than one structure is to take for itself."""
        return self.limit is not None and SHARE * nbytes > self.limit

    def watch(self, holder: Holder) -> None:
        """Count what somebody holds, as long as it lives."""
        self._holders.add(holder)

    @property
    def held(self) -> int:
        return sum(holder.nbytes for holder in self._holders)

    def fitted(self, rows: RowBlock) -> RowBlock:
        """Sealed rows, on the disk where memory holds enough already."""
        if self.limit is None or self.held + rows.nbytes <= self.limit:
            return rows
        try:
            columns = {name: self._spilled(column) for name, column in rows.columns.items()}
        except OSError as error:
            raise ConfigurationError(
                f"must be a folder with room for rows beyond `memory` ({reason_of(error)})",
                parameter="TMPDIR",
                value=str(self._folder),
                hint="make room on the disk, set TMPDIR to a folder on a larger one, or give more memory",
            ) from error
        return RowBlock(columns, rows.data, rows.first, rows.by)

    def _spilled(self, column: Any) -> Any:
        if not isinstance(column, CodedColumn) or len(column.data) <= column.size // 64:
            return column  # of one value, or nearly
        if self._file is None or self._file.size >= FILE_BYTES:
            self._folder = self._folder or temporary_folder("rows")
            self._count += 1
            self._file = SpillFile(self._folder / f"{self._count}.blocks")
        return SpilledColumn.of(column, self._file)
