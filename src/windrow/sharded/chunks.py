"""State as chunks: tables cut into pieces, of which a save writes only those that changed.

A chunk is an Arrow IPC stream, compressed, and sealed under its key. Its digest is known, so that it is written only
when it is another one, and made anew only when the structure that owns the table says that it may have changed:

- a plain table is cut, every piece is serialised and compared. Tables that are sorted by `place` are cut at multiples
  of a power of two of panes or units, so that a chunk keeps its place while the window moves on, others by rows;
- a `Stamped` table with the stamp of the last save is left alone;
- of an `Appended` table only the rows from the last whole chunk on are looked at;
- of `Tracked` cells the chunks with marks are, and few rows of a chunk become a patch of it: see `cell_chunks`.

State is taken in one go, between two elements, and encoded, compressed and written when there is time for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import groupby, pairwise

import numpy as np
import pyarrow as pa

from windrow.operators.state.changes import Appended, Saved, Stamped
from windrow.sharded.cell_chunks import (
    ChunkStore,
    Key,
    Known,
    Later,
    Part,
    TableKnown,
    Writer,
    bytes_of,
    patched,
    stay,
    take_cells,
    units_a_chunk,
)
from windrow.sharded.wire import opened

__all__ = ["VERSION", "ChunkStore", "Key", "Known", "TakenTables", "digest", "load", "save", "take", "without"]

VERSION = 8
"""Of the saved state, on every engine. State of another version is refused."""
CHUNK_ROWS = 1 << 15
APPENDED_ROWS = 1 << 13
"""Of a chunk of a table that grows: the last one is written again and again until it is full."""
_BY_PANE = ("timeline", "cells", "buffered")
_BY_TIME = ("/left", "/right")
"""How the names of tables end that are sorted by their column `place`, if they have one, and cut by it."""


@dataclass(frozen=True)
class TakenTables:
    """State as it was at one moment: nothing that happens to the structures since changes it."""

    known: Known
    later: Mapping[str, Later]

    def write(self, store: ChunkStore) -> Known:
        """Write the chunks that differ from what is known, remove those that are gone; what is known now.

        What was known stays as it was, so that a save that fails can be done again, by taking the state again.
        """
        now: Known = {}
        for name, write in self.later.items():
            now[name] = write(Writer(name, self.known.get(name, TableKnown()), store))
        for name in self.known.keys() - now.keys():
            Writer(name, self.known[name], store).keep_only(())
        return now


def take(tables: Mapping[str, Saved], known: Known) -> TakenTables:
    """What a save must write, copied where it may change: quick, since encoding and writing come later."""
    return TakenTables(known, {name: _taken(table, known.get(name, TableKnown())) for name, table in tables.items()})


def save(tables: Mapping[str, Saved], known: Known, store: ChunkStore) -> Known:
    """Take and write at once."""
    return take(tables, known).write(store)


def _taken(table: Saved, known: TableKnown) -> Later:
    if isinstance(table, pa.Table):
        return partial(_save_made, partial(_itself, _own(table)), None)
    if isinstance(table, Stamped):
        if table.stamp is known.stamp:
            return stay
        return partial(_save_made, table.make if table.lasts else partial(_itself, _own(table.make())), table.stamp)
    if isinstance(table, Appended):
        return partial(_save_appended, table)
    return take_cells(table, known)


def _own(table: pa.Table) -> pa.Table:
    """The same in memory of its own: arrays are often made of others without copying."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(out.getvalue()).read_all()


def _itself(table: pa.Table) -> pa.Table:
    return table


def _save_made(make: Callable[[], pa.Table], stamp: object, writer: Writer) -> TableKnown:
    table, parts = make(), list[Part]()
    for number, start, end in _cuts(writer.name, table):
        parts.append((number, 0, 0))
        writer.put(parts[-1], table.slice(start, end - start))
    writer.keep_only(parts)
    return TableKnown(writer.digests, stamp)


def _cuts(name: str, table: pa.Table) -> Iterator[tuple[int, int, int]]:
    """(number, first row, row after the last) of each piece; an empty table is one piece, because its columns count."""
    rows = table.num_rows
    is_sorted = name.rpartition(".")[2] in _BY_PANE or (name.endswith(_BY_TIME) and "place" in table.column_names)
    if rows and is_sorted:
        places = np.asarray(table["place"].combine_chunks())
        numbers = places >> units_a_chunk(int(places[0]), int(places[-1]), rows)
        starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), rows]
        for start, end in pairwise(starts):
            yield int(numbers[start]), start, end
    else:
        for start in range(0, max(rows, 1), CHUNK_ROWS):
            yield start // CHUNK_ROWS, start, min(start + CHUNK_ROWS, rows)


def _save_appended(table: Appended, writer: Writer) -> TableKnown:
    known, chunks = writer.known, max(1, -(-table.count // APPENDED_ROWS))
    is_same = table.stamp is known.stamp
    if is_same and table.count == known.count:
        return known
    for number in range(known.count // APPENDED_ROWS if is_same else 0, chunks):
        start = number * APPENDED_ROWS
        writer.put((number, 0, 0), table.make(start, min(start + APPENDED_ROWS, table.count)))
    writer.keep_only((number, 0, 0) for number in range(chunks))
    return TableKnown(writer.digests, table.stamp, table.count)


def without(known: Known, keys: Iterable[Key]) -> Known:
    """What is known but for these chunks, which the next save writes again; with a patch goes all of its chunk."""
    gone: dict[str, set[Part]] = {}
    for key in keys:
        gone.setdefault(key[0], set()).add(key[1:])
    return {name: table.without(gone[name]) if name in gone else table for name, table in known.items()}


def load(chunks: Iterable[tuple[Key, bytes]]) -> tuple[dict[str, pa.Table], Known]:
    """The tables of saved chunks, and what is known of them."""
    pieces: dict[str, dict[Part, pa.Table]] = {}
    digests: dict[str, dict[Part, bytes]] = {}
    for key, body in chunks:
        name, part = key[0], key[1:]
        plain = bytes_of(opened(body, key, f"the state {name!r}"))
        pieces.setdefault(name, {})[part] = pa.ipc.open_stream(plain).read_all()
        digests.setdefault(name, {})[part] = blake2b(plain, digest_size=16).digest()
    tables = {name: pa.concat_tables(_whole_chunks(parts)) for name, parts in pieces.items()}
    return tables, {name: TableKnown(known) for name, known in digests.items()}


def _whole_chunks(parts: Mapping[Part, pa.Table]) -> Iterator[pa.Table]:
    """The chunks of a table in order, each with its patches."""
    for _, same in groupby(sorted(parts), key=lambda part: part[:2]):
        yield patched([parts[part] for part in same])


def digest(known: Known) -> str:
    """What is known of all chunks in one: none is missing, and none is of another time."""
    whole = blake2b(digest_size=16)
    for name in sorted(known):
        for part, one in sorted(known[name].digests.items()):
            whole.update(f"{name} {part} ".encode() + one)
    return whole.hexdigest()
