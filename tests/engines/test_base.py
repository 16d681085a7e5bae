from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.fake_engine import FakeEngine, Options
from tests.fake_engine import engine as engine
from windrow.engines.base import ENGINES, Engine, check_engine, engine_named, home_of, sharing_sets
from windrow.engines.run import Receiver, tagged
from windrow.errors import ConfigurationError
from windrow.pipeline.metrics import Metrics
from windrow.plan.nodes import Stream
from windrow.sources import open_source
from windrow.sources.base import Source

ROWS = pa.table({"seq": [1, 2]})


def source_of(rows: pa.Table) -> Source:
    return open_source(rows, name="s")


@pytest.mark.parametrize("name", ["local", "spark"])
def test_an_engine_has_a_name_and_options(name: str) -> None:
    found = engine_named(name)
    assert (name, found) == (found.name, engine_named(name))
    assert isinstance(found, Engine)
    assert {"batch_rows", "checkpoint", "restore", "statistics", "flush"} <= set(found.option_names)
    assert {"output", "once"}.isdisjoint(found.option_names)


def test_engines_are_loaded_when_they_are_used() -> None:
    code = (
        "import sys\nimport windrow.query\nfrom windrow.engines.base import check_engine\ncheck_engine('spark')\n"
        "print([m for m in ('numba', 'pyspark', 'windrow.engines.local') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]" == done.stdout.strip()


def test_an_engine_there_is_not() -> None:
    with pytest.raises(
        ConfigurationError, match=r"\A`engine` must be a known engine \(one of local, spark, hardware\), got flink\.\Z"
    ):
        check_engine("flink")


def test_options_are_checked_by_their_engine(engine: FakeEngine) -> None:
    assert Options(threads=3) == engine.options_of({"threads": 3})
    message = r"\A`shards` is not an option of a run on the local engine \(one of threads, .*\)\.\Z"
    with pytest.raises(ConfigurationError, match=message):
        engine.options_of({"shards": 3})


def test_a_query_runs_where_its_data_lives() -> None:
    class Frame:
        is_frame = True

    frame: Any = Frame()
    table = source_of(ROWS)
    assert ("local", "spark") == (home_of([table]), home_of([table, frame]))


def test_names_that_mean_other_data_are_read_apart() -> None:
    one, other = source_of(ROWS), source_of(ROWS)
    found = list(sharing_sets([{"s": one}, {"s": other}, {"s": one, "t": other}]))
    assert [([0, 2], {"s": one, "t": other}), ([1], {"s": other})] == found


def test_queries_over_other_data_run_one_after_the_other(engine: FakeEngine, tmp_path: Path) -> None:
    """Each with a checkpoint of its own; what they give comes from their own places, and counts add up."""
    plan = Stream("s", ROWS.schema, "seq")
    sources = [{"s": source_of(ROWS)}, {"s": source_of(ROWS.slice(1))}]
    given: list[tuple[int, list[Any]]] = []
    told: list[int] = []
    run = engine.start(
        [plan, plan],
        sources,
        Options(checkpoint=str(tmp_path)),
        tagged,
        into=Receiver(lambda query, batch: given.append((query, batch["seq"].to_pylist()))),
        on_progress=lambda metrics: told.append(metrics.rows_in),
    )
    assert [(0, [1]), (0, [2]), (1, [2])] == given
    assert [str(tmp_path), str(tmp_path / "set-1")] == [options.checkpoint for options in engine.asked]
    assert [10, 10, 20] == told  # of which each run of this engine pretends 10
    assert ([2, 3], 5) == ([metrics.results for metrics in run.each], run.metrics.results)


def test_an_engine_can_be_added(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "mine", engine)
    assert Metrics is not type(wr.stream(ROWS, time="seq").run(engine="mine").metrics)
    assert 1 == len(engine.plans)
