from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import windrow as wr
from windrow.errors import QueryError
from windrow.plan.nodes import Stream
from windrow.semantics.progress.policies import AtEnd, Slack
from windrow.semantics.scalars.amounts import Amount

TIME = pa.array([0, 1], pa.timestamp("us", tz="UTC"))
TABLE = pa.table({"symbol": ["a", "b"], "price": [1, 2], "time": TIME})
DECLARED = "CREATE STREAM Trades (symbol STRING, price INT, time TIMESTAMP) PROGRESS ON time SLACK 60 SECONDS;"
SELECT = "SELECT symbol, count(*) AS number FROM trades [RANGE 1 MINUTE WATTR time] GROUP BY symbol"


def stream_of(query: wr.Query) -> Stream:
    plan = query.plan.input  # type: ignore[union-attr]
    assert isinstance(plan, Stream)
    return plan


def test_a_stream_given_as_a_query_keeps_its_progress() -> None:
    given = wr.stream(TABLE, time="time", progress=wr.slack("60 s"), name="other")
    query = wr.sql(SELECT, trades=given)
    assert Stream("trades", TABLE.schema, "time", Slack(Amount.of("60 s"))) == stream_of(query)
    assert query.sources["trades"] is given.sources["other"]


def test_data_without_a_declaration_progresses_on_its_only_timestamp() -> None:
    assert Stream("trades", TABLE.schema, "time", AtEnd()) == stream_of(wr.sql(SELECT, trades=TABLE))


def test_sql_and_python_give_one_plan() -> None:
    query = wr.sql(SELECT, trades=wr.stream(TABLE, time="time"))
    built = wr.stream(TABLE, time="time", name="trades").group_by("symbol").window(range="1 min").agg(number=wr.count())
    assert built.plan == query.plan


def test_a_declaration_without_a_path_takes_the_data_given() -> None:
    query = wr.sql(DECLARED + SELECT, trades=TABLE)
    assert "Trades" == stream_of(query).name
    assert ["Trades"] == list(query.sources)


def test_a_declaration_takes_its_columns_from_the_data_given() -> None:
    query = wr.sql("CREATE STREAM trades PROGRESS ON time ORDERED; -- CREATE STREAM x\n" + SELECT, trades=TABLE)
    assert TABLE.schema == stream_of(query).schema


def test_a_path_is_opened_and_data_given_replaces_it(tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "one.parquet")
    parquet.write_table(TABLE, tmp_path / "two.parquet")
    text = f"CREATE STREAM trades FROM '{tmp_path}/one.parquet' PROGRESS ON time;" + SELECT
    assert f"{tmp_path}/one.parquet" == stream_of(wr.sql(text)).origin
    assert f"{tmp_path}/two.parquet" == stream_of(wr.sql(text, trades=f"{tmp_path}/two.parquet")).origin


def test_a_declaration_alone_is_enough_to_explain() -> None:
    assert {} == wr.sql(DECLARED + SELECT).sources


def test_a_script_has_all_its_queries() -> None:
    queries = wr.script(DECLARED + SELECT + ";" + SELECT, trades=TABLE).queries
    assert [queries[0].plan] * 2 == [query.plan for query in queries]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            r"`text` must hold exactly one SELECT, got 2 of them\. Hint: wr\.script\(text\) gives all .*\.",
            f"{DECLARED}{SELECT};{SELECT}",
        ),
        (r"`text` must hold exactly one SELECT, got 0 of them\. Hint: add a SELECT after the declarations\.", DECLARED),
    ],
)
def test_sql_takes_one_query(message: str, text: str) -> None:
    with pytest.raises(QueryError, match=rf"\A{message}\Z"):
        wr.sql(text)


def test_data_with_several_timestamps_needs_a_declaration() -> None:
    table = TABLE.append_column("sent", TIME)
    message = (
        r"\A`trades` must have exactly one timestamp column to be used without a declaration, got time, sent\. "
        r"Hint: give trades=wr\.stream\(data, time=\.\.\.\), or CREATE STREAM trades PROGRESS ON \.\.\. in the text\.\Z"
    )
    with pytest.raises(QueryError, match=message):
        wr.sql(SELECT, trades=table)


def test_a_longer_query_is_no_stream() -> None:
    message = (
        r"\A`trades` must be data or wr\.stream\(\.\.\.\), got Project\. Hint: write the rest of it in the SQL .*\Z"
    )
    with pytest.raises(QueryError, match=message):
        wr.sql(SELECT, trades=wr.stream(TABLE, time="time").select("time"))


def test_a_declaration_without_columns_or_data() -> None:
    message = (
        r"\A`trades` has neither columns nor data\. Hint: say FROM 'path', or give it as sql\(text, trades=data\)\.\n"
    )
    with pytest.raises(QueryError, match=message):
        wr.sql("CREATE STREAM trades PROGRESS ON time;" + SELECT)


def test_text_in_steps_is_read_as_expressions() -> None:
    stream = wr.stream(TABLE, time="time", name="trades")
    query = (
        stream.where("price > 1").group_by(kind="lower(symbol)").window(range="1 min").agg(twice=wr.sum("price * 2"))
    )
    sql = (
        "SELECT lower(symbol) AS kind, sum(price * 2) AS twice FROM trades [RANGE 1 MINUTE WATTR time] "
        "WHERE price > 1 GROUP BY kind"
    )
    assert wr.sql(sql, trades=stream).plan == query.plan
    assert "(number > 1)" == str(wr.sql(SELECT, trades=stream).having("number > 1").plan.predicate)  # type: ignore[union-attr]


UNKNOWN = [
    (
        r"`trads` is not a stream of the text, so the data given for it would not be read\. "
        r"Hint: did you mean Trades\? The streams of the text are Trades\.",
        DECLARED + SELECT,
        {"trads": "nowhere.parquet"},
    ),
    (r"`quotes` .*\. Hint: the streams of the text are Trades\.", DECLARED + SELECT, {"quotes": TABLE}),
    (r"`quotes` .*\. Hint: the streams of the text are trades\.", SELECT, {"trades": TABLE, "quotes": TABLE}),
    (r"`TRADES` .*\. Hint: did you mean trades\? .*\.", SELECT, {"trades": TABLE, "TRADES": TABLE}),
    (r"`trades` .*\. Hint: the text names no stream\.", "SELECT 1 AS one", {"trades": TABLE}),
]


@pytest.mark.parametrize(("message", "text", "given"), UNKNOWN)
def test_data_for_an_unknown_stream_is_refused(message: str, text: str, given: dict[str, object]) -> None:
    with pytest.raises(QueryError, match=rf"\A{message}\Z"):
        wr.sql(text, **given)


def test_data_may_be_given_for_any_stream_that_the_text_speaks_of() -> None:
    subquery = (
        "SELECT symbol, time FROM (SELECT * FROM a) UNION ALL SELECT symbol, time FROM B JOIN c [RANGE TUMBLING 5 S]"
    )
    hop = "SELECT count(*) AS n FROM HOP(TABLE d UNION e, DESCRIPTOR(time), INTERVAL '1' SECOND, INTERVAL '2' SECOND)"
    text = f"CREATE STREAM unread PROGRESS ON time; {subquery} USING (symbol, time); {hop.replace(' UNION e', '')}"
    names = ["a", "b", "C", "D", "Unread"]
    assert 2 == len(wr.script(text, **dict.fromkeys(names, TABLE)).queries)
