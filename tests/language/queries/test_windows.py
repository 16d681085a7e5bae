"""The window clause: every spelling of a window, and what is wrong with the others."""

from __future__ import annotations

import pytest

from tests.language.streams import MINUTE, SECOND, aggregate, complaint
from windrow.semantics.windows.kinds import Landmark, RowsWindow, Session, SlideBy, SlideByTuple, Sliding, Window

TEN = Sliding("time", 600 * SECOND, 60 * SECOND)


@pytest.mark.parametrize(
    "clause",
    [
        "RANGE 600 SECONDS SLIDE 60 SECONDS WATTR time",
        "range 600 seconds, slide 60 seconds, wattr time",
        "WATTR Time, SLIDE 1 MINUTE, RANGE 10 MINUTES",
        "SLIDE 1 min WA time RANGE 10 min",
        "RANGE '10 min' SLIDE 60s",
        "RANGE INTERVAL '10' MINUTE SLIDE INTERVAL 1 MINUTE",
        "RANGE 10 MINUTES SLIDE 1 MINUTE WATTR trades.time",
        "RANGE 600000 ms SLIDE 60000000 us",
        "RANGE 10 MINUTES SLIDE 1 MINUTE ORIGIN 0 SECONDS",
    ],
)
def test_spellings_of_one_window(clause: str) -> None:
    assert TEN == aggregate(f"SELECT count(*) FROM trades [{clause}]").window
    assert TEN == aggregate(f"SELECT count(*) [{clause}] FROM trades").window


TIME_WINDOWS: list[tuple[str, Window]] = [
    ("RANGE 5 MINUTES", Sliding("time", 5 * MINUTE, 5 * MINUTE)),
    ("RANGE TUMBLING 5 minutes, WA time", Sliding("time", 5 * MINUTE, 5 * MINUTE)),
    ("RANGE 6.4 SECONDS SLIDE 640 ms", Sliding("time", 6_400_000, 640_000)),
    ("RANGE 1 s SLIDE 1 h", Sliding("time", SECOND, 3600 * SECOND)),
    ("RANGE 1 m ORIGIN '1970-01-01 00:00:30'", Sliding("time", MINUTE, MINUTE, 30 * SECOND)),
    ("RANGE 1 m ORIGIN TIMESTAMP '1970-01-01T01:00:00+01:00'", Sliding("time", MINUTE, MINUTE, 0)),
    ("RANGE 1 m ORIGIN DATE '1970-01-02'", Sliding("time", MINUTE, MINUTE, 24 * 60 * MINUTE)),
    ("RANGE 1 m ORIGIN -5 SECONDS", Sliding("time", MINUTE, MINUTE, -5 * SECOND)),
    ("RANGE ALL SLIDE 1 MINUTE", Landmark("time", MINUTE)),
    ("SLIDE 1 MINUTE WATTR time RANGE UNBOUNDED", Landmark("time", MINUTE)),
    ("GAP 30 SECONDS", Session("time", 30 * SECOND)),
    ("RANGE 5 minutes, RATTR time, SLIDE 1 row, SATTR row-num", SlideByTuple("time", 5 * MINUTE, 1)),
    ("RANGE 5 minutes SLIDE 3 ROWS", SlideByTuple("time", 5 * MINUTE, 3)),
    ("RANGE 5 minutes SLIDE 1 ROW PATTR symbol", SlideByTuple("time", 5 * MINUTE, partition=("symbol",))),
    ("RANGE 5 minutes RATTR time SLIDE 5 SATTR rank(time)", SlideByTuple("time", 5 * MINUTE, 5, SlideBy.RANK)),
]
INTEGER_WINDOWS: list[tuple[str, Window]] = [
    ("RANGE 10 SLIDE 3 WA ts", Sliding("ts", 10, 3)),
    ("RANGE 10 ORIGIN 4", Sliding("ts", 10, 10, 4)),
    ("GAP 7", Session("ts", 7)),
    ("RANGE 100 ROWS", RowsWindow(100, 100)),
    ("ROWS 100 SLIDE 10 ROWS", RowsWindow(100, 10)),
    ("RANGE 100 SLIDE 10 WATTR row_num", RowsWindow(100, 10)),
    ("RANGE 100 rows SLIDE 10 rows WA row-num PA srcIP, destIP", RowsWindow(100, 10, ("srcIP", "destIP"))),
    ("PA srcIP, RANGE 100 rows", RowsWindow(100, 100, ("srcIP",))),
    ("RANGE 10 ROWS SLIDE 1 ROW PATTR srcIP ORDER BY ts", RowsWindow(10, 1, ("srcIP",), "ts")),
    ("order  by ts, RANGE 10 ROWS, PA srcIP, destIP", RowsWindow(10, 10, ("srcIP", "destIP"), "ts")),
    ("PA srcIP, ORDER BY ts, RANGE 10 ROWS", RowsWindow(10, 10, ("srcIP",), "ts")),
    ("ROWS 10 ORDER BY ts", RowsWindow(10, 10, (), "ts")),
]


@pytest.mark.parametrize(("clause", "expected"), TIME_WINDOWS)
def test_windows_in_time(clause: str, expected: Window) -> None:
    assert expected == aggregate(f"SELECT count(*) FROM trades [{clause}]").window


@pytest.mark.parametrize(("clause", "expected"), INTEGER_WINDOWS)
def test_windows_on_integers_and_rows(clause: str, expected: Window) -> None:
    assert expected == aggregate(f"SELECT count(*) FROM packets [{clause}]").window


def test_clause_goes_before_or_after_the_alias() -> None:
    before = aggregate("SELECT count(*) FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE] AS t WHERE t.price > 1")
    after = aggregate("SELECT count(*) FROM trades t [RANGE 10 MINUTES SLIDE 1 MINUTE] WHERE t.price > 1")
    assert before == after
    assert TEN == before.window


def test_the_same_window_may_be_written_twice() -> None:
    text = "SELECT count(*) [RANGE 600 SECONDS SLIDE 1 MINUTE], max(price) [RANGE 10 MINUTES SLIDE 60 s] FROM trades"
    assert TEN == aggregate(text).window


ERRORS = [
    (
        "trades [RANGE 0 SECONDS]",
        "`range` must be positive, got 0. Hint: a window holds something, as in RANGE 10 SECONDS.",
        "RANGE 0 SECONDS",
    ),
    (
        "trades [RANGE 10 SECONDS SLIDE -1 SECONDS]",
        "`slide` must be positive, got -1 s. Hint: windows move forward, as in SLIDE 1 SECOND.",
        "SLIDE -1 SECONDS",
    ),
    (
        "packets [GAP 0]",
        "`gap` must be positive, got 0. Hint: a session ends after a silence, as in GAP 30 SECONDS.",
        "GAP 0",
    ),
    (
        "trades [RANGE 10]",
        "`range` needs a time unit because the attribute is a timestamp, got 10. "
        "Hint: write 10 SECONDS, or another unit.",
        "RANGE 10",
    ),
    (
        "packets [RANGE 10 SLIDE 5 SECONDS]",
        "`slide` must be a plain number because the attribute is an integer, got 5 seconds. "
        "Hint: write 5 without a unit, or window on a timestamp column.",
        "SLIDE 5 SECONDS",
    ),
    (
        "trades [RANGE 10 SECONDS WATTR price]",
        "`wattr` must be the progressing attribute, which is time, got price. Hint: write WATTR time.",
        "price",
    ),
    (
        "trades [RANGE 10 SECONDS WATTR tyme]",
        "`tyme` is not a column of the input. "
        "Hint: did you mean time? The columns are symbol, price, volume, bid-price, time.",
        "tyme",
    ),
    ("trades [RANG 10 SECONDS]", "`RANG` is not a part of a window clause. Hint: did you mean RANGE.", "RANG"),
    (
        "trades [FOO 10 SECONDS]",
        "`FOO` is not a part of a window clause. "
        "Hint: the parts are RANGE, SLIDE, WATTR, PATTR, ORDER BY, RATTR, SATTR, ORIGIN, GAP.",
        "FOO",
    ),
    ("trades [RANGE 1 s RANGE 5 s]", "`range` must be given only once.", "RANGE 5 s"),
    ("trades [RANGE 1 s WA time WATTR time]", "`wattr` must be given only once.", "WATTR time"),
    (
        "trades [RANGE 10 parsecs]",
        "`range` must be a number with a unit (us, ms, s, min, h, d, w or rows), got 10 parsecs. "
        "Hint: write it like '10 min', '250 ms', '5 rows' or 500.",
        "10 parsecs",
    ),
    (
        "trades [RANGE WATTR time]",
        "`query` needs an amount for RANGE (as in 10 SECONDS) here, got WATTR.",
        "WATTR",
    ),
    (
        "trades [SLIDE 10 SECONDS]",
        "`range` must be given in a window clause. "
        "Hint: write [RANGE 10 MINUTES SLIDE 1 MINUTE WATTR time], or [GAP 30 SECONDS] for sessions.",
        "[SLIDE 10 SECONDS]",
    ),
    (
        "trades [RANGE ALL]",
        "`slide` must be given with RANGE ALL. Hint: write [RANGE ALL SLIDE 1 MINUTE WATTR time].",
        "[RANGE ALL]",
    ),
    (
        "packets [RANGE TUMBLING 10 SLIDE 5]",
        "`slide` does not go with RANGE TUMBLING, where it is the range. Hint: leave SLIDE out, or leave TUMBLING out.",
        "SLIDE 5",
    ),
    ("trades [GAP 5 SECONDS SLIDE 1 SECOND]", "`slide` does not go with gap, got 1 second.", "SLIDE 1 SECOND"),
    (
        "trades [RANGE 10 SECONDS ORIGIN 5]",
        "`origin` needs a time unit because the attribute is a timestamp, got 5. "
        "Hint: write 5 SECONDS, or another unit.",
        "ORIGIN 5",
    ),
    (
        "packets [RANGE 10 ORIGIN '2024-01-01']",
        "`origin` must be a number because the attribute is an integer, got 2024-01-01.",
        "ORIGIN '2024-01-01'",
    ),
    (
        "packets [RANGE 10 ROWS ORDER BY len]",
        "`order_by` must be the progressing attribute, which is ts, got len. "
        "Hint: rows wait for its punctuations; leave it out to count rows as they arrive.",
        "len",
    ),
    (
        "packets [RANGE 10 ROWS WATTR row_num ORDER BY ts]",
        "`order_by` does not go with row_num, by which rows count as they arrive, got ts. "
        "Hint: leave WATTR row_num out.",
        "ts",
    ),
    ("packets [RANGE 10 ORDER BY ts]", "`order_by` does not go with a window in time, got ts.", "ORDER BY ts"),
    (
        "packets [RANGE 0 ROWS PATTR srcIP]",
        "`range` must be positive, got 0. Hint: a window holds something, as in RANGE 10 ROWS.",
        "RANGE 0 ROWS",
    ),
    (
        "packets [RANGE 10 ROWS SLIDE -1 ROWS]",
        "`slide` must be positive, got -1. Hint: windows move forward, as in SLIDE 1 ROW.",
        "SLIDE -1 ROWS",
    ),
    (
        "packets [RANGE 10 ROWS WATTR ts]",
        "`wattr` must be row_num because the range is in rows, got ts. "
        "Hint: write WATTR row_num, or give the range in units of the column.",
        "ts",
    ),
    (
        "packets [RANGE 10 SECONDS WATTR row-num]",
        "`range` must be in rows because the window is on row_num, got 10 seconds. "
        "Hint: write RANGE 100 ROWS; for time use RATTR ts and SATTR row_num.",
        "RANGE 10 SECONDS",
    ),
    (
        "packets [RANGE 10 RATTR ts SLIDE 5 ROWS SATTR rank(len)]",
        "`sattr` must be row_num or rank of the range's attribute, got rank(len). "
        "Hint: write SATTR row_num, or SATTR rank(ts) next to RATTR ts.",
        "rank(len)",
    ),
    (
        "(SELECT price, symbol FROM trades) [RANGE 10 SECONDS]",
        "`window` needs a progressing attribute, but the inner query does not keep it, got columns price, symbol. "
        "Hint: keep the time column (or window_start or window_end) in the inner SELECT, unchanged.",
        "[RANGE 10 SECONDS]",
    ),
    (
        "(SELECT price, symbol FROM trades) [RANGE 10 WATTR price]",
        "`wattr` must be the progressing attribute, which is not among the columns, got price. "
        "Hint: keep the time column (or window_start or window_end) in the inner SELECT, unchanged.",
        "price",
    ),
]


@pytest.mark.parametrize(("source", "message", "pointed"), ERRORS)
def test_what_is_wrong_with_a_window(source: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(f"SELECT count(*) FROM {source}")


def test_clause_that_is_not_closed() -> None:
    expected = "`query` needs ] here, got the end of the text."
    assert (expected, "") == complaint("SELECT count(*) FROM trades [RANGE 10 SECONDS")


def test_window_of_another_aggregate_differs() -> None:
    expected = "`window` must be the same for all aggregates of a query. Hint: write one query for each window."
    text = "SELECT count(*) [RANGE 10 SECONDS], max(price) [RANGE 5 SECONDS] FROM trades"
    assert (expected, "[RANGE 5 SECONDS]") == complaint(text)
