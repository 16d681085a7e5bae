"""The queries of the papers, as printed there, run over disordered streams and give what the oracle gives."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow as wr
from tests.acceptance.streams import melded
from tests.strategies import comparable
from windrow.plan.nodes import Filter, Project, Stream, WindowAggregate, walk
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import AtEnd, Ordered, Policy, Slack
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.evaluate import evaluate
from windrow.semantics.windows.kinds import Landmark, RowsWindow, SlideByTuple, Sliding

PAPERS = Path(__file__).parents[1] / "golden" / "papers"
RUNNING = sorted(path.stem for path in PAPERS.glob("*.sql"))
SECOND = 1_000_000
TEXTS = ("UBSN", "202.101.0.0", "202.101.0.1", "NESN", None)


def read(name: str) -> str:
    return (PAPERS / f"{name}.sql").read_text(encoding="utf-8")


def with_slack(text: str, seconds: int) -> str:
    """The same query over streams that say how late their rows may come."""
    said = f"SLACK {seconds} SECONDS" if "TIMESTAMP" in text else f"SLACK {seconds}"
    return re.sub(r"(PROGRESS ON \w+)[^;]*;", rf"\1 {said};", text)


def streams_of(query: wr.Query) -> list[Stream]:
    return [node for node in walk(query.plan) if isinstance(node, Stream)]


def rows_of(stream: Stream, chance: random.Random, size: int) -> list[dict[str, Any]]:
    """Rows of the declared columns, times in microseconds (or whole numbers), up to 40 s behind."""
    timed = pa.types.is_timestamp(stream.schema.field(stream.time).type)
    now = chance.randrange(0, 100)
    found = []
    for _ in range(size):
        now += chance.choice((0, 1, 3, 3, 10, 70 if chance.random() < 0.1 else 0))
        back = chance.randrange(41) if chance.random() < 0.5 else 0
        time = (now - back) * SECOND + chance.randrange(SECOND) if timed else (now - back) // 5
        row = {field.name: _value(field.type, chance) for field in stream.schema}
        found.append({**row, stream.time: time})
    return found


def _value(kind: pa.DataType, chance: random.Random) -> Any:
    if pa.types.is_floating(kind):
        return chance.choice((None, 0.5, -2.25, chance.uniform(-5, 5)))
    return chance.choice(TEXTS) if not pa.types.is_integer(kind) else chance.choice((None, *range(-3, 60)))


def table(stream: Stream, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.table({field.name: pa.array([row[field.name] for row in rows], field.type) for field in stream.schema})


def slack_of(policy: Policy, stream: Stream) -> int:
    if not isinstance(policy, Slack):
        return 0
    number = int(policy.amount.number)
    return number * SECOND if pa.types.is_timestamp(stream.schema.field(stream.time).type) else number


def by_definition(query: wr.Query, data: list[list[dict[str, Any]]]) -> tuple[list[dict[str, Any]], int]:
    """The answer of the oracle, with the columns that the query selects, and how many rows were late."""
    plan = query.plan
    node = plan.input if isinstance(plan, Project) else plan
    assert isinstance(node, WindowAggregate)
    assert isinstance(node.window, (Sliding, Landmark, SlideByTuple, RowsWindow))
    where = node.input.predicate if isinstance(node.input, Filter) else None
    stream = streams_of(query)[0]
    slack = slack_of(stream.policy, stream)
    pace = _pace_of(node.window)
    elements = melded(data, pace, stream.policy, slack, time=stream.time)
    found = oracle.answer(elements, node.window, keys=node.keys, aggregates=node.aggregates, where=where)
    if not isinstance(plan, Project):
        return found.results, found.account.late
    return [{name: evaluate(e, row) for name, e in plan.columns} for row in found.results], found.account.late


def in_microseconds(found: pa.Table) -> list[dict[str, Any]]:
    kinds = [(f.name, pa.int64() if pa.types.is_timestamp(f.type) else f.type) for f in found.schema]
    return found.cast(pa.schema(kinds)).to_pylist()


def check(text: str, seed: int) -> wr.Query:
    """Any way to cut the batches gives the oracle's answer."""
    chance = random.Random(seed)
    declared = streams_of(wr.sql(text))
    data = [rows_of(stream, chance, 120 // len(declared)) for stream in declared]
    query = wr.sql(text, **{s.name: table(s, rows) for s, rows in zip(declared, data, strict=True)})
    expected, late = by_definition(query, data)
    for size in (chance.randrange(1, 20), 1 << 17):
        result = query.run(batch_rows=size)
        assert comparable(expected) == comparable(in_microseconds(result.table))
        assert late == result.metrics.rows_late
    return query


@pytest.mark.parametrize("name", RUNNING)
def test_as_printed(name: str) -> None:
    query = check(read(name), seed=RUNNING.index(name))
    policies = {type(stream.policy) for stream in streams_of(query)}
    assert policies <= {AtEnd, Ordered, Slack}


@pytest.mark.parametrize("seconds", [0, 7, 30])
@pytest.mark.parametrize("name", RUNNING)
def test_with_rows_that_come_too_late(name: str, seconds: int) -> None:
    query = check(with_slack(read(name), seconds), seed=seconds)
    assert {Slack(Amount.of(f"{seconds} seconds" if "TIMESTAMP" in read(name) else seconds))} == {
        stream.policy for stream in streams_of(query)
    }


@pytest.mark.parametrize("name", RUNNING)
def test_the_plan_is_explained(name: str) -> None:
    query = wr.sql(read(name))
    text = query.explain()
    assert [] == [stream.name for stream in streams_of(query) if stream.name not in text]


@pytest.mark.parametrize("seconds", [0, 7, 30])
@pytest.mark.parametrize("window", ["RANGE 7 ROWS SLIDE 2 ROWS PA srcIP", "RANGE 50 ROWS SLIDE 3 ROWS"])
def test_windows_of_rows_in_order_of_time(window: str, seconds: int) -> None:
    """The partitioned query of the thesis, with rows counted by their time."""
    clause = f"[{window} ORDER BY ts]"
    text = re.sub(r"\[.*\]", clause, read("004-q5-2")).replace("srcIP, max", "max")
    check(with_slack(text, seconds), seed=seconds)


def _pace_of(window: Sliding | Landmark | SlideByTuple | RowsWindow) -> int:
    """How far one source is read ahead of another."""
    if isinstance(window, RowsWindow):
        return 1
    return window.range if isinstance(window, SlideByTuple) else window.slide


def test_panes_and_windows_of_the_fpga_are_one_query() -> None:
    """Q_3 over the answers of Q_2 is Q_1."""
    whole, panes, windows = (read(name) for name in ("001-q1", "001-q2", "001-q3"))
    (stream,) = streams_of(wr.sql(whole))
    data = table(stream, rows_of(stream, random.Random(2), 400))
    of_panes = wr.sql(panes, bids=data).collect()
    # A pane's time is its end; it stands for the rows before it.
    before = pc.subtract(of_panes["timestamp"], pa.scalar(1, pa.duration("us")))
    columns: dict[str, Any] = {"p-max": of_panes["p-max"], "timestamp": before}
    inner = pa.table(columns)
    expected = wr.sql(whole, bids=data).collect()
    found = wr.sql(windows, panes=inner).collect()
    assert expected.column_names[:2] == found.column_names[:2]
    renamed = [{"w-max" if k == "max_bid_price" else k: v for k, v in row.items()} for row in expected.to_pylist()]
    assert renamed == found.to_pylist()
