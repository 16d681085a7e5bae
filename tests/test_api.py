"""The public package: names, the fluent API's plans, and its refusals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import ConfigurationError, QueryError
from windrow.plan.compression import Compression, CompressionMode
from windrow.plan.nodes import (
    AggregateCall,
    Distinct,
    Filter,
    Late,
    Lateness,
    OrderedOutput,
    Project,
    Strategy,
    Stream,
    Union,
)
from windrow.plan.nodes import WindowAggregate as Windowed
from windrow.semantics.progress.policies import AtEnd, External, Idle, Lead, Ordered, Slack, SlackRows
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import Emit, Landmark, Session, Sliding

MINUTE = 60_000_000
TRADES = pa.table(
    {
        "symbol": ["UBSN", "NESN", "UBSN", "UBSN"],
        "price": pa.array([10, 20, 11, 12], pa.int64()),
        "time": pa.array([0, 30, 90, 61], pa.int64()).cast(pa.timestamp("s")).cast(pa.timestamp("us", tz="UTC")),
    }
)
STREAM = Stream("trades", TRADES.schema, "time", Slack(Amount.of("60 s")))
UBSN = Call("=", (Column("symbol"), Literal("UBSN")))


def trades(**settings: Any) -> wr.Query:
    return wr.stream(TRADES, **{"time": "time", "progress": wr.slack("60 s"), "name": "trades", **settings})


def test_every_public_name_is_there() -> None:
    assert [] == [name for name in wr.__all__ if getattr(wr, name, None) is None]
    assert {"stream", "sql", "count", "slack"} <= set(dir(wr))


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match=r"\Amodule 'windrow' has no attribute 'streem'\Z"):
        wr.streem  # type: ignore[attr-defined]  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, windrow; print([m for m in ('pyarrow', 'numpy', 'numba', 'sqlglot', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]" == done.stdout.strip()


def test_the_query_of_the_papers() -> None:
    query = trades().where(UBSN).group_by("symbol").window(range="10 min", slide="1 min").agg(number=wr.count())
    window = Sliding("time", 10 * MINUTE, MINUTE)
    keys = (("symbol", Column("symbol")),)
    assert Windowed(Filter(STREAM, UBSN), window, keys, (AggregateCall("number", "count"),)) == query.plan
    assert ["symbol", "window_start", "window_end", "number"] == query.schema.names


def test_a_query_is_never_changed_by_a_step() -> None:
    query = trades()
    query.where(UBSN).select("symbol", "time")
    assert STREAM == query.plan


def test_groups_and_windows_come_in_either_order() -> None:
    one = trades().group_by(["symbol"]).window(gap="30 s").agg(n=wr.count())
    other = trades().window(gap="30 s").group_by("symbol").agg(n=wr.count())
    assert one.plan == other.plan
    assert Session("time", 30_000_000) == one.plan.window  # type: ignore[union-attr]


def test_settings_come_before_or_after_the_aggregates() -> None:
    expected: dict[str, Any] = {
        "emit": Emit.EMPTY,
        "late": Late.REVISE,
        "within": Amount.of("1 h"),
        "lateness": Lateness.CONSISTENT,
        "strategy": Strategy.WID,
        "compression": Compression(CompressionMode.OFF, (("price", 2.0),)),
    }

    def settled(query: Any) -> Any:
        late = query.emit("empty").late("revise", within="1 h").lateness("consistent")
        return late.strategy("wid").compress("off", within={"price": 2})

    window, calls = trades().window(range="1 min"), (AggregateCall("n", "sum", Column("price")),)
    before, after = settled(window).agg(n=wr.sum("price")), settled(window.agg(n=wr.sum("price")))
    assert Windowed(STREAM, Sliding("time", MINUTE, MINUTE), (), calls, **expected) == before.plan
    assert before.plan == after.plan


def test_every_aggregate_has_its_word() -> None:
    column = Column("price")
    expected = (
        AggregateCall("a", "count", column),
        AggregateCall("b", "count_distinct", column),
        AggregateCall("c", "sum", Call("*", (column, Literal(2)))),
        AggregateCall("d", "avg", column),
        AggregateCall("e", "min", column),
        AggregateCall("f", "max", column),
        AggregateCall("g", "variance", column),
        AggregateCall("h", "var_pop", column),
        AggregateCall("i", "stddev", column),
        AggregateCall("j", "stddev_pop", column),
        AggregateCall("k", "first", column),
        AggregateCall("l", "last", column),
        AggregateCall("m", "median", column),
        AggregateCall("n", "quantile", column, (0.9,)),
        AggregateCall("o", "mode", column),
        AggregateCall("p", "top_k", column, (3,)),
        AggregateCall("q", "heavy_hitters", column, (0.1,)),
        AggregateCall("r", "collect", column),
        AggregateCall("s", "quantile", column, (0.5,)),
        AggregateCall("t", "avg", column),
    )
    query = (
        trades()
        .window(range="unbounded", slide="1 min")
        .agg(
            a=wr.count("price"),
            b=wr.count_distinct("price"),
            c=wr.sum(Call("*", (column, Literal(2)))),
            d=wr.avg("price"),
            e=wr.min("price"),
            f=wr.max("price"),
            g=wr.variance("price"),
            h=wr.var_pop("price"),
            i=wr.stddev("price"),
            j=wr.stddev_pop("price"),
            k=wr.first("price"),
            l=wr.last("price"),
            m=wr.median("price"),
            n=wr.quantile("price", 0.9),
            o=wr.mode("price"),
            p=wr.top_k("price", 3),
            q=wr.heavy_hitters("price", 0.1),
            r=wr.collect("price"),
            s=wr.aggregate("quantile", "price", 0.5),
            t=wr.mean("price"),
        )
    )
    assert Windowed(STREAM, Landmark("time", MINUTE), (), expected) == query.plan


@pytest.mark.parametrize(
    ("expected", "policy"),
    [
        (AtEnd(), None),
        (AtEnd(), wr.at_end()),
        (Ordered(), wr.ordered()),
        (SlackRows(100), wr.slack("100 rows")),
        (External(), wr.punctuated()),
        (Ordered(Lead(Amount.of("1 h"))), wr.ordered(lead="1 h")),
        (Slack(Amount.of("5 s"), Lead(Amount.of("1 h"), True)), wr.slack("5 s", lead=wr.lead("1 h", wall_clock=True))),
        (SlackRows(5, Lead(Amount.of("1 h"))), wr.slack("5 rows", lead="1 h")),
    ],
)
def test_progress_policies(expected: Any, policy: Any) -> None:
    assert Stream("trades", TRADES.schema, "time", expected) == trades(progress=policy).plan


@pytest.mark.parametrize(
    ("expected", "idle"),
    [(Idle(Amount.of("30 s")), "30 s"), (Idle(Amount.of("30 s"), wall_clock=True), wr.idle("30 s", wall_clock=True))],
)
def test_idle_rules(expected: Idle, idle: Any) -> None:
    assert expected == trades(idle=idle).plan.idle  # type: ignore[union-attr]


def test_a_lead_is_no_number_of_rows() -> None:
    with pytest.raises(QueryError, match=r"\A`lead` must be a time or a number, got 5 rows\. Hint: say lead='1 h'\.\Z"):
        wr.slack("5 s", lead="5 rows")


def test_selected_columns_come_first() -> None:
    query = trades().select("time", "symbol", twice=Call("*", (Column("price"), Literal(2))))
    columns = (
        ("time", Column("time")),
        ("symbol", Column("symbol")),
        ("twice", Call("*", (Column("price"), Literal(2)))),
    )
    assert Project(STREAM, columns) == query.plan


def test_a_union_gives_other_data_of_one_name_a_name_of_its_own() -> None:
    query = trades().union(trades(), wr.stream(TRADES, time="time", name="more"))
    assert ["trades", "trades_2", "more"] == [node.name for node in query.plan.inputs]  # type: ignore[union-attr]
    assert ["trades", "trades_2", "more"] == list(query.sources)


def test_a_union_with_itself_keeps_one_source() -> None:
    query = trades()
    assert Union((STREAM, Filter(STREAM, UBSN))) == query.union(query.where(UBSN)).plan
    assert Distinct(STREAM) == query.distinct().plan
    assert OrderedOutput(STREAM) == query.ordered_output().plan
    assert query.plan == query.union().plan


def test_streams_are_named_after_their_files(tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    path = tmp_path / "my-trades.2024.parquet"
    parquet.write_table(TRADES, path)
    stream = wr.stream(path, time="time").plan
    assert isinstance(stream, Stream)
    assert ("my_trades", str(path)) == (stream.name, stream.origin)
    assert "stream" == wr.stream(TRADES, time="time").plan.name  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("message", "step"),
    [
        (r"`tiem` is not a column of the input\. Hint: did you mean time\? .*", lambda q: q.select("tiem")),
        (r"`symbl` is not a column of the input\. Hint: did you mean symbol\? .*", lambda q: q.group_by("symbl")),
        (r"`symbl` is not a column of the input\. Hint: did you mean symbol\? .*", lambda q: q.group_by(["symbl"])),
        (
            r"`columns` must be the name of a column, got 3\. Hint: give names, and expressions by keyword: "
            r"group_by\('symbol', hour='hour\(time\)'\)\.",
            lambda q: q.select("symbol", 3),
        ),
        (r"`where` must be a condition .*", lambda q: q.where("price")),
        (
            r"`expression` must be text or an expression, got 5\. Hint: write it like 'price \* 2'\.",
            lambda q: q.where(5),
        ),
        (r"`having` comes after agg\(\.\.\.\)\. Hint: use where\(\.\.\.\) .*", lambda q: q.having("price")),
        (r"`strategy` belongs to a window, and this query has none\. Hint: .*", lambda q: q.strategy("wid")),
        (
            r"`window` must be given before agg\(\.\.\.\), because state would be unbounded\. Hint: say window\(.*",
            lambda q: q.group_by("symbol").agg(n=wr.count()),
        ),
        (
            r"`n` must be an aggregate, got 5\. Hint: say n=wr\.sum\('price'\)\.",
            lambda q: q.window(gap="1 s").agg(n=5),
        ),
        (
            r"`rows` does not go with range, got 5\. Hint: say range='100 rows'\.",
            lambda q: q.window(rows=5, range="1 s"),
        ),
        (r"`emit` must be a known word \(one of nonempty, empty, complete\), got full\.", lambda q: q.emit("full")),
        (
            r"`most` must be a whole number of windows, got 1\.5\. Hint: as in 5_000_000\.",
            lambda q: q.emit("empty", most=1.5),
        ),
        (r"`late` must be a known word \(one of drop, side, revise\), got keep\.", lambda q: q.late("keep")),
        (r"`within` must be a number with a unit .*", lambda q: q.late("revise", within="1 fortnight")),
        (r"`lateness` must be a known word \(one of .*\), got kind\.", lambda q: q.lateness("kind")),
        (r"`strategy` must be a known word \(one of .*\), got magic\.", lambda q: q.strategy("magic")),
        (r"`compress` must be a known word \(one of auto, off, blocks\), got tight\.", lambda q: q.compress("tight")),
        (
            r"`compress` belongs to a window, and this query has none\. Hint: .*",
            lambda q: q.compress("blocks"),
        ),
    ],
)
def test_wrong_steps_are_refused_at_once(message: str, step: Any) -> None:
    with pytest.raises(QueryError, match=rf"\A{message}\Z"):
        step(trades())


@pytest.mark.parametrize(
    ("message", "settings"),
    [
        (r"`progress` must be a progress policy, got 60 s\. Hint: wr\.slack\('60 s'\), .*", {"progress": "60 s"}),
        (r"`time` must be a timestamp or an integer column, got symbol, a string\. .*", {"time": "symbol"}),
        (r"`slack` needs a time unit .*", {"progress": wr.slack(60)}),
        (r"`lead` needs a time unit .*", {"progress": wr.ordered(lead=60)}),
        (r"`lead` must be positive, got 0 s\.", {"progress": wr.slack("5 s", lead="0 s")}),
        (r"`idle` must be a time or a number, got 5 rows\. Hint: say idle\('30 s'\)\.", {"idle": "5 rows"}),
    ],
)
def test_wrong_streams_are_refused_at_once(message: str, settings: dict[str, Any]) -> None:
    with pytest.raises(QueryError, match=rf"\A{message}\Z"):
        trades(**settings)


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (
            ConfigurationError,
            r"`threads` is not an option of a run on the spark engine \(one of batch_rows, max_shards, .*\)\.",
            {"engine": "spark", "threads": 2},
        ),
        (
            ConfigurationError,
            r"`engine` must be a known engine \(one of local, spark, hardware\), got flink\.",
            {"engine": "flink"},
        ),
        (
            ConfigurationError,
            r"`treads` is not an option of a run on the local engine \(one of threads, .*\)\.",
            {"treads": 2},
        ),
        (ConfigurationError, r"`threads` must be a whole number of at least 1, got 0\.", {"threads": 0}),
        (ConfigurationError, r"`batch_rows` must be below 2\^62, got 1000+\.", {"batch_rows": 10**30}),
        (
            ConfigurationError,
            r"`statistics` must be Statistics\(groups=\.\.\., rows=\.\.\.\), got 3\.",
            {"statistics": 3},
        ),
        (ConfigurationError, r"`checkpoint` must be the path of a folder, got an empty text\.", {"checkpoint": ""}),
        (ConfigurationError, r"`restore` must be True or False, got no\.", {"restore": "no"}),
        (ConfigurationError, r"`on_progress` must be a function, got 3\.", {"on_progress": 3}),
        (ConfigurationError, r"`rate` must be a number, got x\.", {"engine": "spark", "rate": "x"}),
        (ConfigurationError, r"`rate` must be at least 1, got nan\.", {"engine": "spark", "rate": float("nan")}),
        (ConfigurationError, r"`spark` must be a session of Spark, got 3\.", {"engine": "spark", "spark": 3}),
    ],
)
def test_wrong_options_are_refused_before_the_run(
    error: type[Exception], message: str, options: dict[str, Any]
) -> None:
    with pytest.raises(error, match=rf"\A{message}\Z"):
        trades().collect(**options)


def test_a_partition_is_among_the_groups_in_rows_and_in_time() -> None:
    rows = trades().window(rows=3, partition="symbol").agg(n=wr.count())
    assert ["symbol", "window_start", "window_end", "n"] == rows.schema.names
    assert trades().group_by("symbol").window(rows=3, partition=("symbol",)).agg(n=wr.count()).plan == rows.plan
    in_time = trades().window(range="1 min", partition="symbol").agg(n=wr.count())
    assert trades().group_by("symbol").window(range="1 min").agg(n=wr.count()).plan == in_time.plan
    assert "keys      symbol" in in_time.explain()


def test_a_partition_must_be_a_column() -> None:
    with pytest.raises(QueryError, match=r"\A`symbl` is not a column of the input\. Hint: did you mean symbol\?.*\Z"):
        trades().window(range="1 min", partition="symbl")


def test_rows_of_a_key_in_order_of_time() -> None:
    query = trades().window(rows=10, slide="1 row", partition="symbol", order_by="time").agg(n=wr.count())
    text = "SELECT symbol, count(*) AS n FROM trades [RANGE 10 ROWS SLIDE 1 ROW PATTR symbol ORDER BY time]"
    assert query.plan == wr.sql(text, trades=trades()).plan
    assert query.plan == wr.sql(query.sql(), trades=TRADES).plan


def test_a_query_as_sql_reads_back_as_the_same_plan() -> None:
    query = trades().where("symbol = 'UBSN'").group_by("symbol").window(range="10 min", slide="1 min").agg(n=wr.count())
    assert query.plan == wr.sql(query.sql(), trades=TRADES).plan


def test_a_query_explains_itself() -> None:
    text = trades().window(range="10 min", slide="1 min").agg(n=wr.count()).explain()
    assert "RANGE 10 min SLIDE 1 min on time, each row in up to 10 windows" in text
    assert "rows come at most 1 min behind the largest value seen" in text


def at(*seconds: int) -> pa.Array[Any]:
    return pa.array([second * 1_000_000 for second in seconds], pa.timestamp("us", tz="UTC"))


def test_an_answer_over_disordered_rows() -> None:
    query = trades().group_by("symbol").window(range="1 min").agg(number=wr.count(), top=wr.max("price"))
    expected = pa.table(
        {
            "symbol": ["NESN", "UBSN", "UBSN"],
            "window_start": at(0, 0, 60),
            "window_end": at(60, 60, 120),
            "number": [1, 1, 2],
            "top": [20, 10, 12],
        }
    )
    assert expected == query.collect()
    assert expected == wr.sql(query.sql(), trades=TRADES).collect()
    assert expected == pa.Table.from_pandas(query.to_pandas(), schema=expected.schema, preserve_index=False)
    assert expected.num_rows == sum(batch.num_rows for batch in query.batches())


@pytest.mark.parametrize("strategy", ["auto", "wid", "panes", "buffer"])
def test_every_strategy_gives_the_same_answer(strategy: str) -> None:
    query = trades().window(range="1 min", slide="30 s").agg(middle=wr.median("price")).strategy(strategy)
    assert [10.0, 15.0, 16.0, 11.5, 11.0] == query.collect()["middle"].to_pylist()


def test_every_row_is_accounted_for() -> None:
    late = wr.stream(TRADES, time="time", progress=wr.ordered(), name="trades")
    result = late.where("price > 10").window(range="30 s").agg(n=wr.count()).late("side").run()
    metrics = result.metrics
    assert (4, 2, 1, 1) == (metrics.rows_in, metrics.rows_used, metrics.rows_late, metrics.rows_filtered)
    assert [(12, "trades")] == [(row["price"], row["late_source"]) for row in result.late.to_pylist()]


def test_a_union_answers_for_all_its_inputs() -> None:
    reordered = wr.stream(TRADES.select(["time", "price", "symbol"]), time="time", progress=wr.slack("60 s"))
    query = trades().union(reordered).window(range="unbounded", slide="1 min").agg(n=wr.count())
    assert [4, 8] == query.collect()["n"].to_pylist()


def test_windows_over_windows() -> None:
    inner = trades().group_by("symbol").window(range="1 min").agg(number=wr.count())
    outer = inner.window(range="2 min", on="window_end").agg(most=wr.max("number"))
    assert [1, 2] == outer.collect()["most"].to_pylist()


def test_plain_rows_come_back_in_order_of_time() -> None:
    assert [10, 20, 12, 11] == trades().select("time", "price").collect()["price"].to_pylist()


TABLE = pa.table({"t": [1, 2]})
NESTED = pa.table({"t": [1], "v": [[1]]})
IDS = pa.table({"t": [1], "k": pa.array([b"a" * 16], pa.uuid())})
WRONG: Any = 3


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: wr.stream(TABLE, time=WRONG), r"`time` must be a column of the input, got 3\. Hint: the columns are"),
        (lambda: wr.stream(TABLE, time="t", name=WRONG), r"`name` must be a str, got 3\. Hint: name='trades'"),
        (
            lambda: wr.stream(TABLE, time="t", schema=WRONG),
            r"`schema` must be a Schema, got 3\. Hint: schema=pa\.schema",
        ),
        (lambda: wr.stream(TABLE, time="t").union(WRONG), r"`other` must be a query, got 3\."),
        (
            lambda: wr.stream(TABLE, time="t").window(range=5, partition=WRONG),
            r"`columns` must be the name of a column",
        ),
        (lambda: wr.sql(WRONG), r"`text` must be text, got int\."),
        (
            lambda: wr.run(cast(Any, wr.stream(TABLE, time="t"))),
            r"`queries` must be one or more queries, got Query\. Hint: wr\.run",
        ),
        (lambda: wr.punctuated("t", per=WRONG), r"`per` must be names of columns, got 3\."),
        (lambda: wr.slack("1 s", per=WRONG), r"`per` must be names of columns, got 3\."),
        (
            lambda: wr.slack("9 rows", per=["a", "b"]),
            r"`per` does not go with slack in rows: .*, got a, b\. Hint: say slack\('1 s', per=\.\.\.\), or leave",
        ),
        (lambda: wr.ordered(per=cast(Any, [WRONG])), r"`per` must be names of columns, got \[3\]\."),
        (
            lambda: wr.stream(TABLE, time="t", progress=wr.ordered(per="nowhere")),
            r"`per` must be a column of the input, got nowhere\. Hint: the columns are",
        ),
        (
            lambda: wr.stream(NESTED, time="t", progress=wr.ordered(per="v")),
            r"`per` must be different columns of plain values, .*, got v, a list<item: int64>\. Hint: name the columns",
        ),
        (lambda: wr.stream(TABLE, time="t").write(WRONG), r"`output` must be a path, got 3\."),
        (lambda: wr.stream(TABLE, time="t").write(""), r"`output` must be a path, got an empty text\."),
        (
            lambda: wr.stream(TABLE, time="t").write("a\0b.csv"),
            r"`output` must be a file that can be written \(embedded",
        ),
        (lambda: wr.stream(TABLE, time="t").explain(statistics=WRONG), r"`statistics` must be Statistics\("),
        (lambda: wr.stream(IDS, time="t").group_by("k").window(range=5).agg(n=wr.count()), r"`k` must group by plain"),
        (
            lambda: wr.stream(IDS, time="t").window(range=5).agg(n=wr.max("k")),
            r"`max` needs plain values, got extension",
        ),
    ],
)
def test_values_of_another_kind_are_refused(ask: Any, message: str) -> None:
    with pytest.raises(wr.WindrowError, match=rf"\A{message}"):
        ask()


def test_short_floats_are_floats() -> None:
    halves = pa.table({"t": [1, 2], "k": pa.array([1.5, 1.5], pa.float32()).cast(pa.float16())})
    query = wr.stream(halves, time="t").group_by("k").window(range=5).agg(n=wr.collect("k"))
    assert [(1.5, [1.5, 1.5])] == [(row["k"], row["n"]) for row in query.collect().to_pylist()]
