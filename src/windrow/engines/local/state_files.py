"""The state of a run in files of chunks: a checkpoint writes those that changed, and knows where the others are.

A file is never touched again. It holds the chunks that its checkpoint wrote, and behind them the directory of all
chunks that count with it, wherever they are. A file goes when no checkpoint that is kept needs it. What is left in the
oldest one is written anew when the files become many, or when more than half of their bytes count no more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from windrow.durable.sealed_files import Seal, SealedWriter, read_sealed, write_sealed
from windrow.operators.state.changes import nested
from windrow.pipeline.graph import Pipeline
from windrow.sharded.chunks import Key, Known, TakenTables, load, take, without

MOST_FILES = 64
_PAGE = 1 << 16
"""Bytes of a file that are not worth to be tidied up: directories, and state that is small."""
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")
_NUMBERS = ("place", "block", "patch", "file", "offset", "size")

States: TypeAlias = "dict[str, dict[str, pa.Table]]"
"""The tables of each stage, by its label and their names."""


@dataclass(frozen=True)
class ChunkPlace:
    """Where a chunk is: in the file of which checkpoint, and where in there."""

    file: int
    offset: int
    size: int


@dataclass(frozen=True)
class KeptState:
    """The state of one checkpoint: what is known of its chunks, where they are, and the seals of the files."""

    known: Known
    places: Mapping[Key, ChunkPlace]
    seals: Mapping[int, Seal]


@dataclass(frozen=True)
class TakenState:
    """The state at one moment, which is not in a file yet."""

    before: KeptState
    """That of the last checkpoint."""
    state: TakenTables


class _ChunkFile:
    """Chunks on their way into a new file, and where all of them are then."""

    def __init__(self, number: int, out: SealedWriter, places: Mapping[Key, ChunkPlace]) -> None:
        self.number = number
        self.places = dict(places)
        self._out = out

    def __setitem__(self, key: Key, body: bytes) -> None:
        self.places[key] = ChunkPlace(self.number, self._out.size, len(body))
        self._out.write(body)

    def __delitem__(self, key: Key) -> None:
        del self.places[key]


class StateFiles:
    """The files of state in a folder of checkpoints."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept = KeptState({}, {}, {})
        """Of the last checkpoint."""
        self._files: dict[int, Collection[int]] = {}
        """Which files each checkpoint needs."""

    def take(self, pipeline: Pipeline) -> TakenState:
        """The state as it is now, on top of that of the last checkpoint."""
        before = self._tidied()
        tables = nested({f"{stage.label}/": stage.operator.state() for stage in pipeline.stages})
        return TakenState(before, take(tables, before.known))

    def write(self, number: int, taken: TakenState) -> tuple[KeptState, dict[str, Any]]:
        """The state in the file of a checkpoint that does not count yet, and what its manifest must list."""
        with write_sealed(self.path(number)) as out:
            file = _ChunkFile(number, out, taken.before.places)
            known = taken.state.write(file)
            start = out.size
            out.write(_directory(file.places))
        seals = {**taken.before.seals, number: out.seal()}
        needed = {number} | {place.file for place in file.places.values()}
        kept = KeptState(known, file.places, {file: seals[file] for file in sorted(needed)})
        return kept, {"files": {file: asdict(seal) for file, seal in kept.seals.items()}, "directory": start}

    def _tidied(self) -> KeptState:
        """What is known without that in the oldest file, if it is time for it to go: it will be written anew."""
        kept = self.kept
        live, total = sum(place.size for place in kept.places.values()), sum(seal.size for seal in kept.seals.values())
        if len(kept.seals) < MOST_FILES and total <= 2 * live + _PAGE * len(kept.seals):
            return kept
        oldest = min(kept.seals)
        known = without(kept.known, [key for key, place in kept.places.items() if place.file == oldest])
        counted = {(name, *part) for name, table in known.items() for part in table.digests}
        return KeptState(known, {key: place for key, place in kept.places.items() if key in counted}, kept.seals)

    def count(self, number: int, kept: KeptState) -> None:
        """The checkpoint that this was written for counts now."""
        self.kept = kept
        self._files[number] = kept.seals.keys()

    def read(self, number: int, listed: Mapping[str, Any]) -> tuple[KeptState, States]:
        """What a checkpoint's manifest lists, if every bit is as it was; else `Damaged`, as from `read_sealed`."""
        seals = {int(file): Seal(**seal) for file, seal in listed["files"].items()}
        files = {file: pa.py_buffer(read_sealed(self.path(file), seal)) for file, seal in seals.items()}
        places = _places(files[number].slice(listed["directory"]))
        bodies = ((key, files[p.file].slice(p.offset, p.size).to_pybytes()) for key, p in places.items())
        tables, known = load(bodies)
        states: States = {}
        for name, table in tables.items():
            label, _, inner = name.partition("/")
            states.setdefault(label, {})[inner] = table
        return KeptState(known, places, seals), states

    def path(self, number: int) -> Path:
        return self.folder / f"state-{number}.chunks"

    def needed(self, checkpoints: Collection[int | None]) -> set[str]:
        """The names of the files that these need; others do not count any more."""
        self._files = {number: files for number, files in self._files.items() if number in checkpoints}
        return {self.path(file).name for files in self._files.values() for file in files}


def _directory(places: Mapping[Key, ChunkPlace]) -> pa.Buffer:
    """Where each chunk is, as an Arrow stream."""
    columns: dict[str, Any] = {"name": pa.array([key[0] for key in places], pa.string()).dictionary_encode()}
    rows = [(*key[1:], place.file, place.offset, place.size) for key, place in places.items()]
    columns |= {name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate(_NUMBERS)}
    table, out = pa.table(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema, options=_COMPRESSED) as writer:
        writer.write_table(table)
    return out.getvalue()


def _places(directory: pa.Buffer) -> dict[Key, ChunkPlace]:
    columns = pa.ipc.open_stream(directory).read_all().to_pydict()
    rows = zip(columns["name"], *(columns[name] for name in _NUMBERS), strict=True)
    return {(name, place, block, patch): ChunkPlace(*where) for name, place, block, patch, *where in rows}
