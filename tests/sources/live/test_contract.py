"""What holds of every source whose rows are still to come, whatever brings them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.sources.live.feeders import FEEDERS, Feeder, Rows
from tests.strategies import comparable
from windrow.plan.nodes import WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import Punctuation

KINDS: dict[str, pa.DataType] = {"t": pa.int64(), "k": pa.string(), "x": pa.int64()}
SCHEMA = pa.schema(KINDS)
SLACK = 9


@pytest.fixture(params=FEEDERS)
def feeder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Feeder]:
    made = FEEDERS[request.param](tmp_path, SCHEMA)
    yield made
    made.clean()


def rows(draw: random.Random, count: int) -> list[dict[str, Any]]:
    """In disorder of up to 9, with ties and nulls; now and then a row that is late."""
    keys = ("a", "b", "ß", None)
    return [
        {
            "t": i // 3 + draw.randrange(10) - (60 if draw.random() < 0.01 else 0),
            "k": draw.choice(keys),
            "x": draw.choice((draw.randrange(-9, 10), None)),
        }
        for i in range(count)
    ]


def query(data: Any) -> wr.Query:
    stream = wr.stream(data, time="t", progress=wr.slack(SLACK), name="s", schema=SCHEMA)
    windows = stream.where("x IS NULL OR x <> 5").group_by("k").window(range=20, slide=5)
    return windows.agg(n=wr.count(), total=wr.sum("x"), middle=wr.median("x")).late("side")


def by_definition(sent: Rows) -> oracle.OracleAnswer:
    """What the oracle says of all rows."""
    node = query(pa.Table.from_pylist([], SCHEMA)).plan
    assert isinstance(node, WindowAggregate)
    filtered: Any = node.input
    elements: list[Any] = []
    for row in sent:
        elements += [row, Punctuation(high(sent[: len(elements) // 2 + 1]) - SLACK)]
    where = {"where": filtered.predicate, "late": node.late.value}
    return oracle.answer(elements, node.window, keys=node.keys, aggregates=node.aggregates, **where)


def high(sent: Rows) -> int:
    return max(int(row["t"]) for row in sent)


def due(sent: Rows) -> list[dict[str, Any]]:
    """The results that the rows so far have closed."""
    return [row for row in by_definition(sent).results if row["window_end"] <= high(sent) - SLACK]


@pytest.mark.parametrize("threads", [1, 2])
def test_results_leave_while_the_stream_waits(feeder: Feeder, threads: int) -> None:
    """All that is closed by the rows so far is read before the next ones are sent; at the end, everything is right."""
    draw = random.Random(f"{type(feeder).__name__} {threads}")
    sent: list[dict[str, Any]] = []
    given: list[dict[str, Any]] = []
    with query(feeder.data).start(threads=threads) as run:
        feeder.begin(run)
        for count in (200, 1, 3, 90):
            piece = rows(draw, count)
            for row in piece:
                row["t"] += len(sent) // 3
            feeder.send(piece)
            sent += piece
            closed = due(sent)
            while len(given) < len(closed):
                given += next(run).to_pylist()
            assert comparable(closed) == comparable(given)
        feeder.end()
        if not feeder.closes:
            run.close()
        given += [row for batch in run for row in batch.to_pylist()]
        late = [row for batch in run.late() for row in batch.to_pylist()]
        metrics = run.metrics
    expected = by_definition(sent)
    assert comparable(expected.results) == comparable(given)
    missed = comparable(dict(row) for row, _, _ in expected.missed)
    assert missed == comparable({name: row[name] for name in SCHEMA.names} for row in late)
    account = expected.account
    assert (account.rows_in, account.used, account.late) == (metrics.rows_in, metrics.rows_used, metrics.rows_late)


def test_a_run_stops_while_the_stream_waits(feeder: Feeder) -> None:
    with query(feeder.data).start() as run:
        feeder.begin(run)
        feeder.send(rows(random.Random(1), 5))
        while not run.metrics.rows_in:
            pass
        run.stop()
        assert run.has_ended
        assert [] == list(run)
    feeder.end()


def test_what_is_no_row_is_given_out_and_counted(feeder: Feeder) -> None:
    """Of all that could be sent in place of a row; the rows around it count."""
    if not feeder.takes_lines:
        pytest.skip("it takes rows, and refuses others at once")
    bad = [b"oops", b'{"t": "no"}', b'{"t": 1', b'{"t": 1}{"t": 2}', b"[1]", b"\xff\xfe", b'{"t": 1e99}', b"\0"]
    bad.append(b'{"k": "\xff"}')
    good: Rows = rows(random.Random(2), 50)
    with query(feeder.data).start() as run:
        feeder.begin(run)
        feeder.send(good[:20])
        feeder.send_bytes(b"\n".join([*bad, b"", b" ", b""]))
        feeder.send(good[20:])
        feeder.end()
        if not feeder.closes:
            run.close()
        given = [row for batch in run for row in batch.to_pylist()]
        assert (50, len(bad)) == (run.metrics.rows_in, run.metrics.rows_rejected)
        assert len(bad) == run.progress["s"].rejected
        seen = [row for batch in run.rejected() for row in batch.to_pylist()]
    assert comparable(by_definition(good).results) == comparable(given)
    assert bad == [row["payload"] for row in seen]
    assert all(row["source"] == "s" and row["reason"] and row["offset"] is not None for row in seen)


def test_a_run_that_is_closed_takes_what_was_pushed(tmp_path: Path) -> None:
    """However far it is behind."""
    sent = rows(random.Random(3), 500)
    with query(None).start(batch_rows=7) as run:
        for row in sent:
            run.push(row)
        run.close()
        given = [row for batch in run for row in batch.to_pylist()]
        assert 500 == run.metrics.rows_in
        with pytest.raises(wr.ConfigurationError, match="`s` takes no more rows, because its run has ended"):
            run.push(sent[0])
    assert comparable(by_definition(sent).results) == comparable(given)


def test_what_is_pushed_is_refused_at_once_where_it_does_not_fit() -> None:
    with query(None).start() as run:
        for wrong, message in (
            ({"t": 1, "y": 2}, "`s` must have no keys but the columns"),
            ({"t": "soon"}, "`t` must be int64"),
            (7, "`s` must give batches, tables, dict rows or punctuations"),
            (pa.table({"x": [1]}), "`s` has no column 't'"),
        ):
            with pytest.raises(wr.WindrowError, match=message):
                run.push(wrong)
        with pytest.raises(wr.ConfigurationError, match=r"`to` must be a stream whose rows are pushed.*one of s"):
            run.push({"t": 1}, to="other")
    with pytest.raises(wr.SourceError, match="`s` has no rows of its own"):
        query(None).sources["s"].open()
