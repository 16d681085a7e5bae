"""TUMBLE, HOP, CUMULATE and SESSION in FROM."""

from __future__ import annotations

import pytest

from tests.language.streams import MINUTE, SECOND, aggregate, complaint, plan, the
from windrow.errors import QueryError, UnsupportedError
from windrow.language import to_sql
from windrow.plan.nodes import Project
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Session, Sliding, Window

FUNCTIONS: list[tuple[str, Window]] = [
    ("TUMBLE(TABLE trades, DESCRIPTOR(time), INTERVAL '10' MINUTE)", Sliding("time", 10 * MINUTE, 10 * MINUTE)),
    (
        "TUMBLE(TABLE trades, DESCRIPTOR(time), INTERVAL '10' MINUTES, INTERVAL '5' SECOND)",
        Sliding("time", 10 * MINUTE, 10 * MINUTE, 5 * SECOND),
    ),
    (
        "TABLE(HOP(TABLE trades, DESCRIPTOR(Time), INTERVAL '1' MINUTE, INTERVAL '10' MINUTE)) AS w",
        Sliding("time", 10 * MINUTE, MINUTE),
    ),
    ("hop(TABLE packets, DESCRIPTOR(ts), 2, 10)", Sliding("ts", 10, 2)),
    ("TUMBLE(TABLE packets, DESCRIPTOR(ts), 10, -3)", Sliding("ts", 10, 10, -3)),
    ("SESSION(TABLE trades, DESCRIPTOR(time), INTERVAL '30' SECOND)", Session("time", 30 * SECOND)),
    ("HOP(TABLE packets, DESCRIPTOR(ts), 4, 10)", Sliding("ts", 10, 4, 2)),
    ("HOP(TABLE packets, DESCRIPTOR(ts), 4, 10, -1)", Sliding("ts", 10, 4, 1)),
    ("HOP(TABLE packets, DESCRIPTOR(ts), 10, 4)", Sliding("ts", 4, 10, 4)),
    ("CUMULATE(TABLE packets, DESCRIPTOR(ts), 10, 10)", Sliding("ts", 10, 10)),
    ("CUMULATE(TABLE packets, DESCRIPTOR(ts), 10, 10, 3)", Sliding("ts", 10, 10, 3)),
]


@pytest.mark.parametrize(("function", "expected"), FUNCTIONS)
def test_functions_stand_for_windows(function: str, expected: Window) -> None:
    assert expected == aggregate(f"SELECT count(*) AS n FROM {function}").window
    assert expected == aggregate(f"SELECT count(*) AS n FROM {function} GROUP BY window_start, window_end").window


def test_brackets_align_ends_and_functions_starts() -> None:
    written = aggregate("SELECT count(*) AS n FROM packets [RANGE 10 SLIDE 4]").window
    called = aggregate("SELECT count(*) AS n FROM HOP(TABLE packets, DESCRIPTOR(ts), 4, 10)")
    assert (Sliding("ts", 10, 4, 0), Sliding("ts", 10, 4, 2)) == (written, called.window)
    assert "SELECT count(*) AS n FROM packets [RANGE 10 SLIDE 4 WATTR ts ORIGIN 2]" == to_sql(called)


def test_the_bounds_are_columns_where_they_are_selected() -> None:
    source = "HOP(TABLE packets, DESCRIPTOR(ts), 2, 10)"
    node = plan(f"SELECT window_start, window_end, srcIP, count(*) AS n FROM {source} GROUP BY 1, 2, 3")
    expected = tuple((name, Column(name)) for name in ("window_start", "window_end", "srcIP", "n"))
    assert expected == the(Project, node).columns


def test_partitions_of_sessions_are_keys() -> None:
    for partition in ("srcIP, destIP", "(srcIP, destIP)"):
        source = f"SESSION(TABLE packets PARTITION BY {partition}, DESCRIPTOR(ts), 5)"
        found = aggregate(f"SELECT srcIP, destIP, count(*) FROM {source} GROUP BY srcIP, destIP")
        assert (("srcIP", Column("srcIP")), ("destIP", Column("destIP"))) == found.keys


ERRORS = [
    (
        "TUMBLE(trades, time, '1 minute')",
        "`TUMBLE` takes a table, a descriptor and intervals. "
        "Hint: write TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE), then an offset if any.",
        "TUMBLE",
    ),
    (
        "HOP(TABLE trades, DESCRIPTOR(time), INTERVAL '1' MINUTE)",
        "`HOP` takes a table, a descriptor and intervals. Hint: write "
        "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '10' MINUTE), slide before size, then an offset "
        "if any.",
        "HOP",
    ),
    (
        "TUMBLE(TABLE trades, DESCRIPTOR(time), price)",
        "`window function argument` must be an interval or a number, got price. Hint: write INTERVAL '10' MINUTE.",
        "price",
    ),
    (
        "TUMBLE(TABLE trades, DESCRIPTOR(price), INTERVAL '1' MINUTE)",
        "`descriptor` must be the progressing attribute, which is time, got price. Hint: write DESCRIPTOR(time).",
        "price",
    ),
    (
        "CUMULATE(TABLE packets, DESCRIPTOR(ts), 1, 1, 1, 1)",
        "`CUMULATE` takes a table, a descriptor and intervals. Hint: write CUMULATE(TABLE t, DESCRIPTOR(ts), "
        "INTERVAL '1' HOUR, INTERVAL '1' HOUR), step before size, then an offset if any.",
        "CUMULATE",
    ),
    (
        "HOP(TABLE packets, DESCRIPTOR(ts), 0, 10)",
        "`slide` must be positive, got 0. Hint: windows move forward, as in SLIDE 1 SECOND.",
        "0",
    ),
    (
        "TUMBLE(TABLE packets, DESCRIPTOR(ts), 0)",
        "`range` must be positive, got 0. Hint: a window holds something, as in RANGE 10 SECONDS.",
        "0",
    ),
]


@pytest.mark.parametrize(("function", "message", "pointed"), ERRORS)
def test_what_is_wrong_with_a_function(function: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(f"SELECT count(*) FROM {function}", QueryError)


def test_cumulate_with_steps_is_refused() -> None:
    expected = (
        "`CUMULATE` is available only with a step equal to its size. Hint: use TUMBLE for each step, "
        "or [RANGE ALL SLIDE 1 MINUTE WATTR ts] for totals that never start over."
    )
    for offset in ("", ", 3"):
        text = f"SELECT count(*) FROM CUMULATE(TABLE packets, DESCRIPTOR(ts), 1, 10{offset})"
        assert (expected, "CUMULATE") == complaint(text, UnsupportedError)
