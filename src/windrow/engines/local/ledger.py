"""What a run with checkpoints has given out: kept with them, so that a restored run gives the whole answer, once.

Results and late rows since the last checkpoint are written beside it before it counts. A run that breaks off loses
what came after its last checkpoint, and makes it again; what came before is read from here. A file is never touched
again, so that an older checkpoint finds what belonged to it: it knows the names of its files and their seals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from windrow.durable.sealed_files import Seal, read_stream, verify, write_stream

RESULTS, LATE = "results", "late"
_OURS = re.compile(rf"(?:{RESULTS}|{LATE})(?:\.\d+)?-\d+\.arrow")


def kind_of(kind: str, query: int) -> str:
    """What one of several queries gives, by its place among them."""
    return f"{kind}.{query}" if query else kind


class LocalLedger:
    """Batches given out, by kind, in files named after the checkpoint that made them count."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, Seal] = {}
        self._pending: dict[str, list[pa.RecordBatch]] = {}

    def note(self, kind: str, batch: pa.RecordBatch) -> None:
        self._pending.setdefault(kind, []).append(batch)

    def commit(self, number: int) -> dict[str, Seal]:
        """Write what is pending; returns all files that count once the checkpoint does."""
        for kind, batches in self._pending.items():
            file = f"{kind}-{number}.arrow"
            self.files[file] = write_stream(self.folder / file, batches)
        self._pending = {}
        return dict(self.files)

    def discard(self, number: int) -> None:
        """Remove what was written for a checkpoint that did not come about."""
        for path in self.folder.glob(f"*-{number}.arrow"):
            if _OURS.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def verify(self, files: Mapping[str, Seal]) -> None:
        """Raise `Damaged` unless these are as they were."""
        for file, seal in files.items():
            verify(self.folder / file, seal)

    def restore(self, files: Mapping[str, Seal]) -> None:
        """Only these count."""
        self.files = dict(files)

    def sweep(self) -> None:
        """Remove what does not count: it is of a checkpoint that never became whole, or was damaged."""
        for path in self.folder.glob("*.arrow"):
            if _OURS.fullmatch(path.name) and path.name not in self.files:
                path.unlink(missing_ok=True)

    def replay(self, kind: str) -> Iterator[pa.RecordBatch]:
        for file, seal in self.files.items():
            if file.startswith(kind + "-"):
                yield from read_stream(self.folder / file, seal)
