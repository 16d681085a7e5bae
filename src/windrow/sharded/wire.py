"""What travels between the levels: bodies, each an Arrow IPC stream with a note in its schema's metadata.

A row of Spark's shuffle carries one body: rows or pane partials of one stream for one shard, and in the note how far
the stream has come. Many rows travel as one value, so Spark converts next to nothing. No pickle.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import pyarrow as pa

from windrow.durable.manifests import damaged

_NOTE = b"windrow"
BODIES = "shard int, body binary"
"""The columns between low and high level."""
COUNTED = (
    *("late", "early", "filtered", "lost", "results", "windows", "bytes", "stored", "waiting", "evicted"),
    *("kept", "raw", "held", "hits", "misses", "spilled", "written"),
)
_TYPES: dict[str, pa.DataType] = {
    "kind": pa.int32(),
    "query": pa.int32(),
    "time": pa.int64(),
    "body": pa.binary(),
    **dict.fromkeys(COUNTED, pa.int64()),
    "sources": pa.string(),
}
OUTCOMES = pa.schema(_TYPES)
"""The columns a shard gives: results, with the time of the first of them, late rows and what was rejected as bodies,
then counts."""
RESULT, LATE, COUNTS, REJECTED = 0, 1, 2, 3


def pack(batches: Iterable[pa.RecordBatch], schema: pa.Schema, note: dict[str, Any] | None = None) -> bytes:
    """Batches of one schema, and a note, as bytes."""
    metadata = {**(schema.metadata or {}), _NOTE: json.dumps(note or {}).encode()}
    schema = schema.with_metadata(metadata)
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, schema) as writer:
        for batch in batches:
            writer.write_batch(batch.replace_schema_metadata(metadata))
    return out.getvalue().to_pybytes()


def unpack(body: bytes | pa.Buffer) -> tuple[dict[str, Any], pa.RecordBatchReader]:
    """The note of a body and a reader of its batches."""
    reader = pa.ipc.open_stream(body)
    note: dict[str, Any] = json.loads((reader.schema.metadata or {})[_NOTE])
    return note, reader


def batches_of(body: bytes | pa.Buffer) -> Iterator[pa.RecordBatch]:
    """The batches of a body without its note."""
    for batch in pa.ipc.open_stream(body):
        yield batch.replace_schema_metadata(None)


def bodies_batch(shards: list[int], bodies: list[bytes]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(shards, pa.int32()), pa.array(bodies, pa.binary())], names=["shard", "body"])


# What is kept on disk is sealed, and looked at only when it is as it was: Arrow does not promise to survive bytes that
# it did not write.

_SEAL = 16


def seal(body: bytes, name: object) -> bytes:
    """A body behind a checksum over it and over what it is called."""
    return _checksum(body, name) + body


def unsealed(body: pa.Buffer) -> pa.Buffer:
    """A sealed body that has not been on any disk."""
    return body.slice(_SEAL)


def opened(body: bytes, name: object, what: str) -> bytes:
    """A sealed body, if it is as it was; else the error for a checkpoint in which `what` is damaged."""
    content = body[_SEAL:]
    if body[:_SEAL] != _checksum(content, name):
        raise damaged(f"{what} has changed since it was written: its checksum differs")
    return content


def _checksum(body: bytes, name: object) -> bytes:
    return blake2b(body, digest_size=_SEAL, key=blake2b(repr(name).encode(), digest_size=_SEAL).digest()).digest()
