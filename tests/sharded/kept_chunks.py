"""Chunks in memory, so small that few cells make many of them, and saves that are compared with all of the state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pyarrow as pa

from tests.saved import whole_tables
from tests.strategies import comparable
from windrow.operators.state.changes import Saved, Tracked
from windrow.sharded import cell_chunks, chunks
from windrow.sharded.chunks import Key, Known, digest, load, take

TINY: dict[Any, dict[str, Any]] = {
    cell_chunks: {"LEAST_ROWS": 2, "CHUNK_ROWS": 3, "MANY": 0.9, "MOST_PATCHED": 4, "MOST_PATCHES": 2},
    chunks: {"CHUNK_ROWS": 3, "APPENDED_ROWS": 2},
}


@dataclass
class Kept:
    """A store of chunks as Spark's map state would be one."""

    chunks: dict[Key, bytes] = field(default_factory=dict)
    writes: int = 0
    written: int = 0
    """Bytes, of all that was put."""

    def __setitem__(self, key: Key, body: bytes) -> None:
        self.chunks[key] = body
        self.writes += 1
        self.written += len(body)

    def __delitem__(self, key: Key) -> None:
        del self.chunks[key]


@contextmanager
def tiny_chunks() -> Iterator[None]:
    with ExitStack() as stack:
        for module, sizes in TINY.items():
            stack.enter_context(mock.patch.multiple(module, **sizes))
        yield


def checked_save(state: Callable[[], Mapping[str, Saved]], known: Known, store: Kept) -> Known:
    """A save of what changed, after which the chunks hold all of the state, and no other."""
    return checked_take(state, known, store)()


def checked_take(state: Callable[[], Mapping[str, Saved]], known: Known, store: Kept) -> Callable[[], Known]:
    """The state taken; what is returned writes it at any later time, and the chunks hold what it was."""
    before = digest(known)
    taken = take(state(), known)
    whole = state()
    expected = {name: _apart(table) for name, table in whole_tables(whole).items()}

    def write() -> Known:
        now = taken.write(store)
        assert before == digest(known)
        found, read = load(store.chunks.items())
        assert digest(read) == digest(now)
        assert expected.keys() == found.keys()
        for name, table in expected.items():
            assert table.schema == found[name].schema
            assert _content(table, whole[name]) == _content(found[name], whole[name]), name
        return now

    return write


def _apart(table: pa.Table) -> pa.Table:
    """The same values in other memory."""
    return pa.Table.from_pylist(table.to_pylist(), table.schema)


def _content(table: pa.Table, saved: Saved) -> list[Any]:
    """Cells in any order, other rows in theirs."""
    rows = table.to_pylist()
    return comparable(rows) if isinstance(saved, Tracked) else [repr(row) for row in rows]
