"""State as chunks: tables cut by pane or by time, so that a micro-batch writes only what it changed.

A chunk is an Arrow IPC stream, compressed, and sealed under its key. Tables of cells are sorted by pane, the rows of a
join by time; they are cut at multiples of a power of two of panes or units, so that a chunk keeps its place while the
window moves on. Other tables are cut by rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from windrow.sharded.wire import opened, seal

Key: TypeAlias = tuple[str, int]

MOST_CHUNKS = 32
LEAST_ROWS = 1 << 12
"""Of a chunk by panes, about: fewer and larger chunks cost fewer calls, but a touched one is written whole."""
CHUNK_ROWS = 1 << 15
_BY_PANE = ("timeline", "cells")
_BY_TIME = ("/left", "/right")
"""How the names of tables end that are cut by their column `place`, if they have one."""
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


class Store(Protocol):
    """Where chunks are kept."""

    def put(self, key: Key, body: bytes) -> None: ...

    def remove(self, key: Key) -> None: ...


def cut(tables: Mapping[str, pa.Table]) -> Iterator[tuple[Key, pa.Table]]:
    """All tables in pieces; an empty table is one piece, because its columns count."""
    for name, table in tables.items():
        for number, start, end in _cuts(name, table):
            yield (name, number), table.slice(start, end - start)


def _cuts(name: str, table: pa.Table) -> Iterator[tuple[int, int, int]]:
    """(number, first row, row after the last) of each piece."""
    rows = table.num_rows
    if rows and _is_placed(name, table):
        places = np.asarray(table["place"].combine_chunks())
        numbers = places // _panes_a_chunk(int(places[-1]) - int(places[0]) + 1, rows)
        starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), rows]
        for start, end in pairwise(starts):
            yield int(numbers[start]), start, end
    else:
        for start in range(0, max(rows, 1), CHUNK_ROWS):
            yield start // CHUNK_ROWS, start, min(start + CHUNK_ROWS, rows)


def _is_placed(name: str, table: pa.Table) -> bool:
    """Whether a table is sorted by its column `place`."""
    return name.rpartition(".")[2] in _BY_PANE or (name.endswith(_BY_TIME) and "place" in table.column_names)


def _panes_a_chunk(panes: int, rows: int) -> int:
    """A power of two, so that it changes only when the span of panes or the cells in it double."""
    most = max(1, min(MOST_CHUNKS, rows // LEAST_ROWS))
    return 1 << min((-(-panes // most) - 1).bit_length(), 62)


def save(tables: Mapping[str, pa.Table], known: dict[Key, bytes], store: Store) -> dict[Key, bytes]:
    """Write the chunks that differ from what is known by digest, remove those that are gone; what is known now."""
    now: dict[Key, bytes] = {}
    for key, piece in cut(tables):
        plain = _written(piece, None)
        now[key] = blake2b(plain, digest_size=16).digest()
        if known.get(key) != now[key]:
            store.put(key, seal(_written(piece, _COMPRESSED).to_pybytes(), key))
    for key in known.keys() - now.keys():
        store.remove(key)
    return now


def _written(table: pa.Table, options: Any) -> pa.Buffer:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema, options=options) as writer:
        writer.write_table(table)
    return out.getvalue()


def load(chunks: Iterator[tuple[Key, bytes]]) -> tuple[dict[str, pa.Table], dict[Key, bytes]]:
    """The tables of saved chunks, and what is known of them."""
    pieces: dict[str, list[tuple[int, pa.Table]]] = {}
    known: dict[Key, bytes] = {}
    for (name, number), body in chunks:
        piece = pa.ipc.open_stream(opened(body, (name, number), f"the state {name!r}")).read_all()
        pieces.setdefault(name, []).append((number, piece))
        known[name, number] = blake2b(_written(piece, None), digest_size=16).digest()
    tables = {
        name: pa.concat_tables([piece for _, piece in sorted(parts, key=lambda part: part[0])])
        for name, parts in pieces.items()
    }
    return tables, known


def digest(known: Mapping[Key, bytes]) -> str:
    """What is known of all chunks in one: none is missing, and none is of another time."""
    whole = blake2b(digest_size=16)
    for (name, number), one in sorted(known.items()):
        whole.update(f"{name} {number} ".encode() + one)
    return whole.hexdigest()
