"""Chunks of one table on their way into a store, and what is known of those that are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Protocol, TypeAlias

import pyarrow as pa

from windrow.sharded.wire import seal

Part: TypeAlias = tuple[int, int, int]
"""Two numbers of a chunk in its table, and which patch of the chunk it is; 0 is the chunk itself."""
Chunk: TypeAlias = tuple[int, int]
Key: TypeAlias = tuple[str, int, int, int]
"""The name of a table, and the part of it."""
UNCOUNTED = -1
_SIZE = 8


class Store(Protocol):
    """Where chunks are kept."""

    def put(self, key: Key, body: bytes) -> None: ...

    def remove(self, key: Key) -> None: ...


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

    def __init__(self, name: str, known: TableKnown, store: Store) -> None:
        self.name = name
        self.known = known
        self.digests = dict(known.digests)
        self._store = store

    def put(self, part: Part, table: pa.Table) -> None:
        plain = _plain(table)
        digest = blake2b(plain, digest_size=16).digest()
        if self.digests.get(part) != digest:
            key = (self.name, *part)
            self._store.put(key, seal(_body(plain), key))
            self.digests[part] = digest

    def remove(self, part: Part) -> None:
        del self.digests[part]
        self._store.remove((self.name, *part))

    def keep_only(self, parts: Iterable[Part]) -> None:
        """All other parts are gone."""
        for part in self.digests.keys() - set(parts):
            self.remove(part)


def _plain(table: pa.Table) -> pa.Buffer:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def _body(plain: pa.Buffer) -> bytes:
    compressed: bytes = pa.compress(plain, codec="lz4_raw", asbytes=True)
    return plain.size.to_bytes(_SIZE, "little") + compressed


def bytes_of(body: bytes) -> pa.Buffer:
    """The IPC stream in the body of a chunk."""
    size = int.from_bytes(body[:_SIZE], "little")
    return pa.decompress(pa.py_buffer(body).slice(_SIZE), size, codec="lz4_raw")
