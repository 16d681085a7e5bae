"""Chunks on their way into a store, what is known of those that are there, and cells that know which of them changed.

Cells lie on a grid: a chunk holds some places and some codes, both a power of two of them, about `CHUNK_ROWS` cells.
Where few cells of a chunk changed or came, these alone are written, as a patch: of a place and code the last patch
counts. A chunk is written as a whole, and its patches are removed, when many of its cells changed, when some are gone,
and when the patches become many; not all chunks in the same save. Were it cut finer instead, one cell in a hundred,
chosen by chance, would still be in most pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Integers
from windrow.operators.state.changes import Flags, HeldCells, Tracked
from windrow.sharded.wire import seal

Part: TypeAlias = tuple[int, int, int]
"""Two numbers of a chunk in its table, and which patch of the chunk it is; 0 is the chunk itself."""
Chunk: TypeAlias = tuple[int, int]
Key: TypeAlias = tuple[str, int, int, int]
"""The name of a table, and the part of it."""
MOST_CHUNKS = 32
"""Of places, about."""
LEAST_ROWS = 1 << 12
"""Of a chunk by places, about: fewer and larger chunks cost fewer calls, but a touched one may be written whole."""
CHUNK_ROWS = 1 << 15
MANY = 0.25
"""A chunk of which this part changed is written as a whole."""
MOST_PATCHED = 0.5
"""And one of which this part, or so many times a cell, is in patches."""
MOST_PATCHES = 32
"""And one with so many patches, or twice as many: which limit it has depends on its number."""
UNCOUNTED = -1
_SIZE = 8
_CODEC = pa.Codec("zstd", compression_level=1)
"""Half the bytes of LZ4 for state that is not in coded blocks, at about the speed at which it is hashed."""


class ChunkStore(Protocol):
    """Where chunks are kept."""

    def __setitem__(self, key: Key, body: bytes) -> None: ...

    def __delitem__(self, key: Key) -> None: ...


@dataclass(frozen=True)
class ChunkKnown:
    """Of a chunk of cells: how many there are, and the patches with the rows in them."""

    cells: int
    patches: int = 0
    patched: int = 0


@dataclass(frozen=True)
class TableKnown:
    """What the last save of a table left."""

    digests: Mapping[Part, bytes] = field(default_factory=dict)
    stamp: object = None
    """Of the structure that owns the table; None: whatever it says, everything is compared."""
    count: int = 0
    """Of rows; `UNCOUNTED` says that some of those there were are not in `chunks`."""
    grid: tuple[int, int] | None = None
    chunks: Mapping[Chunk, ChunkKnown] = field(default_factory=dict)

    def without(self, parts: Iterable[Part]) -> TableKnown:
        """As if the chunks of these parts had never been; only where cells are counted, the others are still known."""
        gone = {part[:2] for part in parts}
        digests = {part: digest for part, digest in self.digests.items() if part[:2] not in gone}
        if not self.chunks:
            return TableKnown(digests)
        chunks = {chunk: one for chunk, one in self.chunks.items() if chunk not in gone}
        return replace(self, digests=digests, chunks=chunks, count=UNCOUNTED)


Known: TypeAlias = dict[str, TableKnown]
"""What the last save left, by table."""


class Writer:
    """Writes parts of a table that are not known, and knows them then."""

    def __init__(self, name: str, known: TableKnown, store: ChunkStore) -> None:
        self.name = name
        self.known = known
        self.digests = dict(known.digests)
        self._store = store

    def put(self, part: Part, table: pa.Table) -> None:
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
        plain = out.getvalue()
        digest = blake2b(plain, digest_size=16).digest()
        if self.digests.get(part) != digest:
            key = (self.name, *part)
            compressed: bytes = _CODEC.compress(plain, asbytes=True)
            self._store[key] = seal(plain.size.to_bytes(_SIZE, "little") + compressed, key)
            self.digests[part] = digest

    def remove(self, part: Part) -> None:
        del self.digests[part]
        del self._store[(self.name, *part)]

    def keep_only(self, parts: Iterable[Part]) -> None:
        """All other parts are gone."""
        for part in self.digests.keys() - set(parts):
            self.remove(part)


Later: TypeAlias = Callable[[Writer], TableKnown]
"""Writes what was taken of a table; what is known of it then."""


def bytes_of(body: bytes) -> pa.Buffer:
    """The IPC stream in the body of a chunk."""
    size = int.from_bytes(body[:_SIZE], "little")
    return _CODEC.decompress(pa.py_buffer(body).slice(_SIZE), size)


def units_a_chunk(first: int, last: int, rows: int) -> int:
    """Of a chunk by places, as a power of two, which changes only when their span or the rows in it double."""
    most = max(1, min(MOST_CHUNKS, rows // LEAST_ROWS))
    return min((-(-(last - first + 1) // most) - 1).bit_length(), 62)


class ChunkGrid:
    """Which chunk each cell is in. Chunks are numbered along the codes, then along the places."""

    def __init__(self, cells: Tracked, bits: tuple[int, int] | None) -> None:
        """With `bits` of places and codes in a chunk, those stay unless others would fit much better."""
        first, last, most = int(cells.places.min()), int(cells.places.max()), int(cells.codes.max())
        self.bits = _bits(first, last, most, len(cells))
        if bits is not None and all(abs(a - b) <= 1 for a, b in zip(bits, self.bits, strict=True)):
            self.bits = bits
        self.first = first >> self.bits[0]
        self.width = (most >> self.bits[1]) + 1
        self.size = ((last >> self.bits[0]) - self.first + 1) * self.width

    def numbers(self, cells: Tracked | HeldCells, rows: Integers | slice = slice(None)) -> Integers:
        """The number of the chunk of each cell."""
        places, codes = cells.places[rows] >> self.bits[0], cells.codes[rows] >> self.bits[1]
        return (places - self.first) * self.width + codes

    def chunk(self, number: int) -> Chunk:
        return self.first + number // self.width, number % self.width

    def number(self, chunk: Chunk) -> int | None:
        """Of a chunk that can still hold cells."""
        place, block = chunk[0] - self.first, chunk[1]
        return place * self.width + block if 0 <= place < self.size // self.width and block < self.width else None


def _bits(first: int, last: int, most: int, rows: int) -> tuple[int, int]:
    places = units_a_chunk(first, last, rows)
    blocks = -(-rows // (((last >> places) - (first >> places) + 1) * CHUNK_ROWS))
    return places, (-(-(most + 1) // blocks) - 1).bit_length()


def take_cells(table: Tracked, known: TableKnown) -> Later:
    """What the marks say, as it is now; everything, to be compared, if they are not since the last save."""
    marks, is_same = table.marks, known.stamp is table.marks.stamp
    if len(table) == 0:
        return partial(_write_none, table.hold(slice(0)), marks.begin(0))
    if is_same and known.count == len(table) and not (marks.touched.any() or marks.new.any()):
        return stay
    grid = ChunkGrid(table, known.grid)
    if is_same and known.count and grid.bits == known.grid:
        write = _take_changes(table, grid, known)
    else:
        write = partial(_write_all, table.hold(slice(None)), grid)
    return partial(_write_cells, write, marks.begin(len(table)), len(table), grid)


def stay(writer: Writer) -> TableKnown:
    """What nothing has changed in."""
    return writer.known


def _write_none(none: HeldCells, stamp: object, writer: Writer) -> TableKnown:
    writer.put((0, 0, 0), none.make(slice(0)))
    writer.keep_only([(0, 0, 0)])
    return TableKnown(writer.digests, stamp)


def _write_cells(
    write: Callable[[Writer], dict[Chunk, ChunkKnown]], stamp: object, count: int, grid: ChunkGrid, writer: Writer
) -> TableKnown:
    chunks = write(writer)
    return TableKnown(writer.digests, stamp, count, grid.bits, chunks)


def _write_all(cells: HeldCells, grid: ChunkGrid, writer: Writer) -> dict[Chunk, ChunkKnown]:
    """Compare every chunk; those with patches differ from what they were."""
    chunks: dict[Chunk, ChunkKnown] = {}
    for number, rows in _by_chunk(grid.numbers(cells)):
        chunk = grid.chunk(number)
        writer.put((*chunk, 0), cells.make(rows))
        chunks[chunk] = ChunkKnown(len(rows))
    writer.keep_only((*chunk, 0) for chunk in chunks)
    return chunks


def _by_chunk(numbers: Integers) -> Iterator[tuple[int, Integers]]:
    """The places of each number, in their order."""
    small = numbers.astype(np.uint16) if len(numbers) and int(numbers.max()) < 1 << 16 else numbers
    order = np.argsort(small, kind="stable")
    cuts = np.flatnonzero(np.diff(small[order])) + 1
    for rows in np.split(order, cuts) if len(order) else ():
        yield int(numbers[rows[0]]), rows


def _take_changes(table: Tracked, grid: ChunkGrid, known: TableKnown) -> Callable[[Writer], dict[Chunk, ChunkKnown]]:
    new = table.marks.new[: len(table)]
    rows = np.flatnonzero(table.marks.touched[: len(table)] | new)
    numbers = grid.numbers(table, rows)
    changed = np.bincount(numbers, minlength=grid.size)
    came = np.bincount(numbers[new[rows]], minlength=grid.size)
    were, patches, in_patches = _known(known, grid)
    cells = were + came
    if len(table) != known.count + int(came.sum()):  # some are gone, or were not counted
        cells = np.bincount(grid.numbers(table), minlength=grid.size)
    due = patches >= MOST_PATCHES + np.arange(grid.size) % MOST_PATCHES
    due |= (changed > MANY * cells) | (in_patches + changed > MOST_PATCHED * cells) | (were == 0)
    anew = (were + came != cells) | ((changed > 0) & due)
    patched, whole = table.hold(rows[~anew[numbers]]), _whole(table, grid, anew, int(cells[anew].sum()))
    return partial(_write_changes, patched, whole, grid, cells, anew)


def _whole(table: Tracked, grid: ChunkGrid, anew: Flags, count: int) -> HeldCells:
    """All cells of the chunks that are written anew; where these are most, those of the others too: that is quicker."""
    if 2 * count > len(table):
        return table.hold(slice(None))
    return table.hold(np.flatnonzero(anew[grid.numbers(table)]) if count else slice(0))


def _write_changes(
    patches: HeldCells, whole: HeldCells, grid: ChunkGrid, cells: Integers, anew: Flags, writer: Writer
) -> dict[Chunk, ChunkKnown]:
    chunks = _staying(writer, grid, cells)
    for number, chosen in _by_chunk(grid.numbers(patches)):
        chunk = grid.chunk(number)
        chunks[chunk] = _patch(patches.make(chosen), writer, chunk, int(cells[number]))
    for number, chosen in _by_chunk(grid.numbers(whole)):
        if anew[number]:
            chunks[grid.chunk(number)] = _rewrite(whole.make(chosen), writer, grid.chunk(number))
    return chunks


def _known(known: TableKnown, grid: ChunkGrid) -> tuple[Integers, Integers, Integers]:
    """Cells, patches and cells in patches of each chunk at the last save."""
    figures = np.zeros((grid.size, 3), np.int64)
    for chunk, one in known.chunks.items():
        number = grid.number(chunk)
        if number is not None:
            figures[number] = one.cells, one.patches, one.patched
    return figures[:, 0], figures[:, 1], figures[:, 2]


def _staying(writer: Writer, grid: ChunkGrid, cells: Integers) -> dict[Chunk, ChunkKnown]:
    """The known chunks that still hold cells; the others are removed."""
    staying: dict[Chunk, ChunkKnown] = {}
    for chunk, one in writer.known.chunks.items():
        number = grid.number(chunk)
        if number is not None and cells[number]:
            staying[chunk] = one
        else:
            for patch in range(one.patches + 1):
                writer.remove((*chunk, patch))
    return staying


def _patch(rows: pa.Table, writer: Writer, chunk: Chunk, cells: int) -> ChunkKnown:
    before = writer.known.chunks[chunk]
    writer.put((*chunk, before.patches + 1), rows)
    return ChunkKnown(cells, before.patches + 1, before.patched + rows.num_rows)


def _rewrite(rows: pa.Table, writer: Writer, chunk: Chunk) -> ChunkKnown:
    writer.put((*chunk, 0), rows)
    before = writer.known.chunks.get(chunk)
    for patch in range(before.patches if before is not None else 0):
        writer.remove((*chunk, patch + 1))
    return ChunkKnown(rows.num_rows)


def patched(parts: Sequence[pa.Table]) -> pa.Table:
    """A chunk behind which come its patches: of a place and code the last counts."""
    if len(parts) == 1:
        return parts[0]
    whole = pa.concat_tables(parts)
    places, codes = (whole[name].combine_chunks().to_numpy() for name in ("place", "code"))
    order = np.lexsort((codes, places))  # keeps the order of equal ones
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = (np.diff(places[order]) != 0) | (np.diff(codes[order]) != 0)
    return whole.take(arrow(np.sort(order[is_last])))
