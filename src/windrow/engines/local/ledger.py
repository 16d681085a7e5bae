"""What a run with checkpoints has given out: kept with them, so that a restored run gives the whole answer, once.

Results and late rows since the last checkpoint are written beside it before it counts. A run that breaks off loses
what came after its last checkpoint, and makes it again; what came before is read from here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

RESULTS, LATE = "results", "late"
_OURS = re.compile(rf"({RESULTS}|{LATE})(\.\d+)?-\d+\.arrow")


def kind_of(kind: str, query: int) -> str:
    """What one of several queries gives, by its place among them."""
    return f"{kind}.{query}" if query else kind


def make_durable(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk before going on: a power cut must not undo it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Ledger:
    """Batches given out, by kind, in files named after the checkpoint that made them count."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: list[str] = []
        self._pending: dict[str, list[pa.RecordBatch]] = {}

    def note(self, kind: str, batch: pa.RecordBatch) -> None:
        self._pending.setdefault(kind, []).append(batch)

    def commit(self, number: int) -> list[str]:
        """Write what is pending; returns all files that count once the checkpoint does."""
        for kind, batches in self._pending.items():
            file = f"{kind}-{number}.arrow"
            with (
                pa.OSFile(str(self.folder / file), "wb") as out,
                pa.ipc.new_stream(out, batches[0].schema) as writer,
            ):
                for batch in batches:
                    writer.write_batch(batch)
            make_durable(self.folder / file)
            self.files.append(file)
        self._pending = {}
        return list(self.files)

    def restore(self, files: list[str]) -> None:
        """Only these files count; others were written by a checkpoint that never became whole."""
        self.files = list(files)
        for stray in self.folder.glob("*.arrow"):
            if _OURS.fullmatch(stray.name) and stray.name not in self.files:
                stray.unlink()

    def replay(self, kind: str) -> Iterator[pa.RecordBatch]:
        for file in self.files:
            if file.startswith(kind + "-"):
                with pa.OSFile(str(self.folder / file), "rb") as source, pa.ipc.open_stream(source) as reader:
                    yield from reader
