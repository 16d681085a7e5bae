"""Joins of recorded streams, disorder and all: the pairs that DuckDB finds in the whole tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow.parquet as parquet
import pytest

import windrow as wr

DATA = Path(__file__).parents[2].parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="needs the recorded streams in ../shared/data")


@dataclass(frozen=True)
class Case:
    """Two files, how late their rows are, and the join of a with b, which both engines read as it stands."""

    left: str
    right: str
    slack: tuple[str, str]
    on: str
    columns: str
    where: str = "TRUE"

    def query(self, kind: str) -> str:
        half = kind in ("SEMI", "ANTI")
        columns = self.columns.split(" | ")[0] if half else self.columns.replace(" | ", ", ")
        right = self.right if self.where == "TRUE" else f"(SELECT * FROM {self.right} WHERE {self.where})"
        return f"SELECT {columns} FROM {self.left} AS a {kind} JOIN {right} AS b ON {self.on}"


SPANS = Case(
    "spans",
    "spans",
    ("3 s", "3 s"),
    "a.span_id = b.parent_id AND b.ts BETWEEN a.ts - INTERVAL '3' SECOND AND a.ts + INTERVAL '3' SECOND",
    "a.span_id AS parent, a.service AS caller, a.ts AS called | b.span_id AS child, b.ts AS begun",
)
QUOTES = Case(
    "trades",
    "exchange_feed",
    ("1 s", "1 s"),
    "lower(a.symbol) = b.symbol AND b.ts BETWEEN a.ts - INTERVAL '100' MILLISECOND AND a.ts",
    "a.ts AS traded, a.symbol AS market, a.price AS price | b.received_ns AS quote, b.ts AS quoted",
    where="stream = 'bookTicker'",
)
HOSTS = Case(
    "zeek_dns",
    "zeek_weird",
    ("700 s", "0 s"),
    "a.host = b.host AND a.ts BETWEEN b.ts - INTERVAL '1' SECOND AND b.ts + INTERVAL '1' SECOND",
    "a.uid AS query, a.ts AS asked, a.host AS host | b.uid AS odd, b.ts AS seen",
)
CASES = {"parents and children": SPANS, "trades and quotes": QUOTES, "odd traffic of hosts": HOSTS}
KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")


def found(case: Case, kind: str) -> wr.Result:
    slacks = dict(zip((case.left, case.right), case.slack, strict=True))
    bound = {
        name: wr.stream(DATA / f"{name}.parquet", time="ts", progress=wr.slack(slack), name=name)
        for name, slack in slacks.items()
    }
    return wr.sql(case.query(kind), **bound).run(engine="local")


def by_duckdb(case: Case, kind: str) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name in {case.left, case.right}:
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM '{DATA / name}.parquet'")
    connection.execute(f"CREATE TABLE expected AS {case.query(kind)}")
    return connection


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        pytest.param(case, kind, id=f"{name}, {kind}")
        for name, case in CASES.items()
        for kind in (KINDS if case is not QUOTES else ("INNER",))  # millions of pairs, once
    ],
)
def test_the_pairs_that_duckdb_finds(case: Case, kind: str) -> None:
    result = found(case, kind)
    connection = by_duckdb(case, kind)
    answer = result.table
    connection.register("answer", answer)
    missing = connection.execute("SELECT count(*) FROM (FROM expected EXCEPT ALL FROM answer)").fetchall()
    assert (answer.num_rows, 0) == (connection.execute("SELECT count(*) FROM expected").fetchall()[0][0], missing[0][0])
    assert answer.num_rows > 0
    rows = sum(parquet.read_metadata(DATA / f"{name}.parquet").num_rows for name in (case.left, case.right))
    assert rows == result.metrics.rows_in
    assert result.metrics.rows_late == 0


def test_the_last_quote_before_each_trade() -> None:
    case = QUOTES
    on = "lower(a.symbol) = b.symbol AND a.ts >= b.ts"
    columns = "a.ts AS traded, a.symbol AS market, b.ts AS quoted"
    quotes = "(SELECT * FROM exchange_feed WHERE stream = 'bookTicker')"
    text = f"SELECT {columns} FROM trades AS a ASOF LEFT JOIN {quotes} AS b ON {on}"
    bound = {
        name: wr.stream(DATA / f"{name}.parquet", time="ts", progress=wr.slack("1 s"), name=name)
        for name in (case.left, case.right)
    }
    answer = wr.sql(text, **bound).collect(engine="local")
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name in (case.left, case.right):
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM '{DATA / name}.parquet'")
    # one quote a time is enough: the query does not tell those of the same time apart
    text = text.replace("SELECT *", "SELECT DISTINCT ON (symbol, ts) *")
    connection.register("answer", answer)
    differing = connection.execute(f"SELECT count(*) FROM ((FROM answer) EXCEPT ALL ({text}))").fetchall()
    assert (parquet.read_metadata(DATA / "trades.parquet").num_rows, 0) == (answer.num_rows, differing[0][0])
