"""Metrics of queries that run in a program, over HTTP."""

from __future__ import annotations

import gc
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import ConfigurationError

SCHEMA = pa.schema([("t", pa.int64())])


def query(rows: Any) -> wr.Query:
    return wr.stream(rows, time="t", progress=wr.ordered(), schema=SCHEMA, name="s").window(range=10).agg(n=wr.count())


def get(url: str | None, page: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"{url}/{page}", timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_a_run_is_served_until_it_is_stopped() -> None:
    with query([{"t": 1}, {"t": 12}]).start(metrics_port=0) as run:
        assert 2 == len(list(run))
        assert 'windrow_results_total{query="1"} 2\n' in get(run.metrics_url, "metrics")[1]
        assert (200, "ok\n") == get(run.metrics_url, "health")
    with pytest.raises(urllib.error.URLError):
        get(run.metrics_url, "health")


def test_a_run_that_nobody_holds_is_served_no_longer() -> None:
    run = query([{"t": 1}]).start(metrics_port=0)
    url = run.metrics_url
    run.wait()
    assert 200 == get(url, "health")[0]
    del run
    gc.collect()
    with pytest.raises(urllib.error.URLError):
        get(url, "health")


def test_a_run_that_failed_says_so_while_it_is_held() -> None:
    def rows() -> Iterator[dict[str, int]]:
        yield {"t": 1}
        raise RuntimeError("the line is cut")

    run = query(rows()).start(metrics_port=0)
    with pytest.raises(RuntimeError, match=r"^the line is cut$"):
        run.wait()
    assert (503, "failed: the line is cut\n") == get(run.metrics_url, "health")
    run.stop()


def test_several_queries_are_labelled_while_they_run() -> None:
    stream = wr.stream([{"t": 1}, {"t": 12}], time="t", progress=wr.ordered(), schema=SCHEMA, name="s")
    both = [stream.window(range=size).agg(n=wr.count()) for size in (10, 100)]
    with wr.start(both, metrics_port=0) as run:
        assert 3 == len(list(run))
        text = get(run.metrics_url, "metrics")[1]
    assert 'windrow_results_total{query="1"} 2\nwindrow_results_total{query="2"} 1\n' in text
    assert 'windrow_source_rows_total{source="s"} 2\n' in text


def test_what_runs_to_its_end_is_served_meanwhile(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "windrow")
    found: list[tuple[int, str]] = []

    def look(_: Any) -> None:
        (told,) = (record for record in caplog.records if vars(record)["event"] == "metrics")
        found.append(get(vars(told)["fields"]["url"], "health"))

    assert 1 == query([{"t": 1}]).collect(metrics_port=0, on_progress=look).num_rows
    assert {(200, "ok\n")} == set(found)
    (url,) = (vars(record)["fields"]["url"] for record in caplog.records if vars(record)["event"] == "metrics")
    with pytest.raises(urllib.error.URLError):
        get(url, "health")


def test_a_port_that_is_none_is_refused_before_anything_runs() -> None:
    with pytest.raises(ConfigurationError, match=r"^`metrics_port` must be a port from 0"):
        query([{"t": 1}]).run(metrics_port=-1)
    with pytest.raises(ConfigurationError, match=r"^`metrics_host` must be a name"):
        query([{"t": 1}]).run(metrics_port=0, metrics_host=7)
