from __future__ import annotations

import pyarrow as pa

from windrow.sinks import MemorySink

BATCH = pa.record_batch({"n": [1, 2]})


def test_memory_keeps_everything_with_one_dictionary() -> None:
    schema = pa.schema([("s", pa.dictionary(pa.int32(), pa.string()))])
    with MemorySink(schema) as sink:
        sink.write(pa.record_batch({"s": pa.array(["a"]).dictionary_encode()}))
        sink.write(pa.record_batch({"s": pa.array(["b"]).dictionary_encode()}))
    assert ["a", "b"] == sink.table()["s"].to_pylist()
    assert schema == sink.table().schema


def test_an_aborted_memory_is_empty() -> None:
    sink = MemorySink(BATCH.schema)
    sink.write(BATCH)
    sink.abort()
    assert 0 == sink.table().num_rows
