"""Values of every type as keys and as arguments: texts, decimals, dates, times, booleans."""

from __future__ import annotations

import random
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.strategies import comparable
from windrow.plan.nodes import AggregateCall
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Session, Sliding

POOLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["", "a", "b", "B", "ä", "a\x00b", "日本", "z" * 300]),
    "large text": (pa.large_string(), ["x", "y", ""]),
    "bytes": (pa.binary(), [b"", b"\xff", b"\x00", b"a"]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["x", "y", "z", ""]),
    "decimal": (pa.decimal128(20, 3), [Decimal("1.500"), Decimal("-2.250"), Decimal("0.000"), Decimal("99999999.999")]),
    "date": (pa.date32(), [date(1969, 12, 31), date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31)]),
    "time of day": (pa.time64("us"), [time(0), time(23, 59, 59, 999999), time(12, 30)]),
    "duration": (pa.duration("us"), [timedelta(0), timedelta(days=-1), timedelta(microseconds=1)]),
    "moment": (
        pa.timestamp("us", tz="UTC"),
        [datetime(2024, 1, 1, tzinfo=timezone.utc), datetime(1900, 1, 1, tzinfo=timezone.utc)],
    ),
    "boolean": (pa.bool_(), [True, False]),
    "small integer": (pa.int8(), [-128, 127, 0]),
    "unsigned": (pa.uint32(), [0, (1 << 32) - 1, 7]),
    "single": (pa.float32(), [0.5, -1.25, 0.0]),
}
FUNCTIONS = ("min", "max", "first", "last", "mode", "count", "count_distinct", "approx_distinct", "collect")
CALLS = tuple(AggregateCall(name, name, Column("v")) for name in FUNCTIONS)


def given(kind: str) -> tuple[pa.Table, list[dict[str, Any]]]:
    chance = random.Random(kind)
    _, pool = POOLS[kind]
    rows = [{"t": chance.randrange(200), "v": chance.choice([*pool, None])} for _ in range(150)]
    times, values = ([row[name] for row in rows] for name in ("t", "v"))
    return pa.table({"t": pa.array(times, pa.int64()), "v": pa.array(values, POOLS[kind][0])}), rows


def strategies(window: Any) -> list[str]:
    return ["auto"] if isinstance(window, Session) else ["panes", "wid", "buffer"]


@pytest.mark.parametrize("window", [Sliding("t", 40, 15), Session("t", 3)], ids=["sliding", "session"])
@pytest.mark.parametrize("kind", POOLS)
def test_as_argument(kind: str, window: Any) -> None:
    data, rows = given(kind)
    expected = comparable(oracle.answer(rows, window, aggregates=CALLS).results)
    settings: dict[str, Any] = {"gap": 3} if isinstance(window, Session) else {"range": 40, "slide": 15}
    query = wr.stream(data, time="t").window(**settings)
    asked = query.agg(**{name: wr.aggregate(name, "v") for name in FUNCTIONS})
    for strategy in strategies(window):
        assert expected == comparable(asked.strategy(strategy).collect(batch_rows=40).to_pylist())


@pytest.mark.parametrize("kind", POOLS)
def test_as_key(kind: str) -> None:
    data, rows = given(kind)
    keys = (("v", Column("v")), ("odd", Column("odd")))
    odd = [{**row, "odd": row["t"] % 2 == 1} for row in rows]
    window = Sliding("t", 40, 15)
    count = (AggregateCall("n", "count"),)
    one = comparable(oracle.answer(odd, window, keys=keys[:1], aggregates=count).results)
    two = comparable(oracle.answer(odd, window, keys=keys, aggregates=count).results)
    stream = wr.stream(data.append_column("odd", pa.array([row["odd"] for row in odd])), time="t")
    for strategy in ("panes", "wid", "buffer"):
        grouped = stream.group_by("v").window(range=40, slide=15).agg(n=wr.count()).strategy(strategy)
        assert one == comparable(grouped.collect(batch_rows=40).to_pylist())
        both = stream.group_by("v", "odd").window(range=40, slide=15).agg(n=wr.count()).strategy(strategy)
        assert two == comparable(both.collect(batch_rows=40).to_pylist())


@pytest.mark.parametrize("function", [*(name for name in FUNCTIONS if name != "count"), "top_k"])
def test_values_within_values_are_refused(function: str) -> None:
    columns: dict[str, Any] = {"t": [1], "v": pa.array([[1, 2]])}
    parameters = (2,) if function == "top_k" else ()
    with pytest.raises(
        wr.QueryError, match=rf"\A`{function}` needs plain values, got list<.*>\. Hint: give it a field of them\.\Z"
    ):
        wr.stream(pa.table(columns), time="t").window(range=5).agg(a=wr.aggregate(function, "v", *parameters)).run()
