"""The engines under contract, and the one body: a query over streams gives the answer of the reference."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

import windrow as wr
from tests.contract.hearing import Given, Hearing, Row, batch_by_batch, row_by_row
from tests.contract.reference import Expected, Reference
from tests.engines.local.answers.test_sessions import standing
from tests.strategies import comparable
from windrow.plan.nodes import Late, Node, Stream, WindowAggregate, walk
from windrow.semantics.progress.policies import Punctuation
from windrow.semantics.scalars.moments import microseconds
from windrow.semantics.windows.kinds import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.query import Query, Result

CONTRACT = os.environ.get("WINDROW_CONTRACT", "")
CONNECT = CONTRACT.startswith("connect")
"""A process has a classic session or one of Spark Connect, never both: `test_connect` starts one for the latter."""
same_on_connect = pytest.mark.skipif(
    CONTRACT == "connect",
    reason="what differs on Spark Connect is seen in other tests; WINDROW_CONTRACT=connect-whole runs this one too",
)
NAMES = ("connect",) if CONNECT else ("local", "local-2", "local-4", "spark")
WITH_CIRCUITS = (*NAMES, *(() if CONNECT else ("hardware",)))
ROUNDED = ("avg", "variance", "var_pop", "stddev", "stddev_pop")


@dataclass(frozen=True)
class Engine:
    """Where a query runs, and what it hears there."""

    name: str
    hearing: Hearing
    spark: SparkSession | None = None
    threads: int = 1

    def run(self, query: Query, size: int, **options: Any) -> Result:
        return query.run(**self.options(size), **options)

    def run_each(self, queries: Sequence[Query], size: int) -> Sequence[Result]:
        """In process one by one, on Spark all together, which is quicker."""
        return [self.run(one, size) for one in queries] if self.spark is None else wr.run(queries, **self.options(size))

    def options(self, size: int) -> dict[str, Any]:
        """How to run here."""
        if self.name == "hardware":
            return {"engine": "hardware", "simulator": "python"}
        if self.spark is None:
            return {"engine": "local", "threads": self.threads}
        return {"engine": "spark", "spark": self.spark, "batch_rows": size}

    def expected(self, plan: Node, elements: Mapping[str, Sequence[Any]], size: int) -> Expected:
        return Reference(given(plan, elements), lambda streams: self.hearing(streams, size)).answer(plan)


def local(threads: int = 1) -> Engine:
    return Engine("local", row_by_row, threads=threads)


def hardware() -> Engine:
    """Simulated circuits, for what they can do; these small streams are through before one would be compiled."""
    return Engine("hardware", row_by_row)


def on_spark(name: str, spark: SparkSession) -> Engine:
    return Engine(name, batch_by_batch, spark)


def given(plan: Node, elements: Mapping[str, Sequence[Any]]) -> dict[str, Given]:
    return {node.name: Given(node, elements[node.name]) for node in walk(plan) if isinstance(node, Stream)}


def check(
    engine: Engine,
    query: Query,
    elements: Mapping[str, Sequence[Row | Punctuation]],
    size: int,
    batch_rows: int | None = None,
    **options: Any,
) -> Expected:
    """Run a query and hold its results, late rows and counts against the reference; what was expected.

    A micro-batch has `size` rows of every stream, or `batch_rows` with those that only carry punctuations.
    """
    expected = engine.expected(query.plan, elements, size)
    check_found(query, expected, engine.run(query, batch_rows or size, **options))
    return expected


def check_each(
    engine: Engine,
    queries: Mapping[str, Query],
    elements: Mapping[str, Sequence[Row | Punctuation]],
    size: int,
    connected: Iterable[str] | None = None,
) -> dict[str, Expected]:
    """The same for many queries, by their names.

    On Connect only those of `connected`, where given; `WINDROW_CONTRACT=connect-whole` takes all of them.
    """
    if connected is not None and CONTRACT == "connect":
        queries = {name: queries[name] for name in connected}
    expected = {name: engine.expected(query.plan, elements, size) for name, query in queries.items()}
    for (name, query), result in zip(queries.items(), engine.run_each(list(queries.values()), size), strict=True):
        with named(name):
            check_found(query, expected[name], result)
    return expected


@contextmanager
def named(name: str) -> Iterator[None]:
    """What fails in here tells the name of its case."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}") from error


def check_found(query: Query, expected: Expected, found: Result) -> None:
    """Hold results, late rows and counts against what was expected."""
    rounded = rounded_names(query.plan)
    assert plain(expected.results, rounded) == plain(final(query.plan, found.table.to_pylist()), rounded)
    used = expected.rows_in - expected.rows_late - expected.rows_filtered
    counts = found.metrics
    assert (expected.rows_in, used, expected.rows_late, expected.rows_filtered) == (
        counts.rows_in,
        counts.rows_used,
        counts.rows_late,
        counts.rows_filtered,
    )
    assert found.table.num_rows == counts.results
    check_late(
        expected.late, found.late.to_pylist(), {node.name for node in walk(query.plan) if isinstance(node, Stream)}
    )


def check_late(expected: list[Row], found: list[Row], sources: set[str]) -> None:
    """The same late rows with the same facts; each names its source."""
    names = list(expected[0]) if expected else []
    assert plain(expected) == plain({name: row[name] for name in names} for row in found)
    assert {row["late_source"] for row in found} <= sources


def final(plan: Node, rows: list[Row]) -> list[Row]:
    """Under LATE REVISE only the last revision of each window counts, and revisions have different numbers."""
    windows = [node for node in walk(plan) if isinstance(node, WindowAggregate)]
    if not windows or windows[0].late is not Late.REVISE:
        return rows
    if isinstance(windows[0].window, Session):
        return standing(sorted(rows, key=lambda one: int(one["revision"])), [name for name, _ in windows[0].keys])
    last: dict[str, Row] = {}
    places = {(repr([row[n] for n, _ in windows[0].keys]), row["window_end"], row["revision"]) for row in rows}
    assert len(rows) == len(places)
    for row in sorted(rows, key=lambda one: int(one["revision"])):
        last[repr(([row[n] for n, _ in windows[0].keys], row["window_end"]))] = row
    return [{name: value for name, value in row.items() if name != "revision"} for row in last.values()]


def rounded_names(plan: Node) -> set[str]:
    windows = [node for node in walk(plan) if isinstance(node, WindowAggregate)]
    return {call.name for node in windows for call in node.aggregates if call.function in ROUNDED}


def plain(rows: Iterable[Mapping[str, Any]], rounded: Iterable[str] = ()) -> list[tuple[Any, ...]]:
    """Rows that `==` compares: times in microseconds, values that are rounded on the way to 12 digits."""
    names = set(rounded)
    return comparable({n: _short(_units(v)) if n in names else _units(v) for n, v in row.items()} for row in rows)


def _short(value: Any) -> Any:
    return float(f"{value:.11e}") if isinstance(value, float) and math.isfinite(value) else value


def _units(value: Any) -> Any:
    if isinstance(value, datetime):
        return microseconds(value if value.tzinfo else value.replace(tzinfo=timezone.utc))
    return value // timedelta(microseconds=1) if isinstance(value, timedelta) else value
