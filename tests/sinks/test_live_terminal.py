from __future__ import annotations

import io

import pyarrow as pa

from windrow.sinks import open_sink

KINDS: dict[str, pa.DataType] = {"symbol": pa.string(), "n": pa.int64()}
SCHEMA = pa.schema(KINDS)


def rows(*values: tuple[str, int]) -> pa.RecordBatch:
    return pa.record_batch([pa.array([s for s, _ in values]), pa.array([n for _, n in values])], schema=SCHEMA)


def test_rows_are_printed_as_they_come_and_columns_grow() -> None:
    stream = io.StringIO()
    with open_sink("-", SCHEMA, limit=None, stream=stream, live=True) as sink:
        sink.write(rows())
        assert "" == stream.getvalue()
        sink.write(rows(("UBSN", 1)))
        first = "symbol  n\n------  -\nUBSN    1\n"
        assert first == stream.getvalue()
        sink.write(rows(("NESN", 2), ("SIX Group", 1000)))
        assert first + "NESN          2\nSIX Group  1000\n" == stream.getvalue()
    assert 5 == len(stream.getvalue().splitlines())


def test_a_limit_and_an_empty_answer() -> None:
    stream = io.StringIO()
    with open_sink("-", SCHEMA, limit=2, stream=stream, live=True) as sink:
        sink.write(rows(("UBSN", 1)))
        sink.write(rows(("UBSN", 2), ("UBSN", 3)))
        sink.write(rows(("UBSN", 4)))
    assert "symbol  n\n------  -\nUBSN    1\nUBSN    2\n... 2 more rows\n" == stream.getvalue()
    empty = io.StringIO()
    open_sink("-", SCHEMA, limit=None, stream=empty, live=True).close()
    assert "symbol  n\n------  -\n(no rows)\n" == empty.getvalue()


def test_what_was_printed_stays_when_a_run_breaks_off() -> None:
    stream = io.StringIO()
    sink = open_sink("-", SCHEMA, stream=stream, live=True)
    sink.write(rows(("UBSN", 1)))
    sink.abort()
    sink.close()
    assert "symbol  n\n------  -\nUBSN    1\n" == stream.getvalue()
