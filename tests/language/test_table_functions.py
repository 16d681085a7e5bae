"""TUMBLE, HOP, CUMULATE and SESSION in FROM."""

from __future__ import annotations

import pytest

from tests.language.streams import MINUTE, SECOND, aggregate, complaint, plan, the
from windrow.errors import QueryError, UnsupportedError
from windrow.plan.nodes import Project
from windrow.semantics.expressions import Column
from windrow.semantics.windows import Session, Sliding, Window

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
    ("CUMULATE(TABLE packets, DESCRIPTOR(ts), 10, 10)", Sliding("ts", 10, 10)),
]


@pytest.mark.parametrize(("function", "expected"), FUNCTIONS)
def test_functions_stand_for_windows(function: str, expected: Window) -> None:
    assert expected == aggregate(f"SELECT count(*) AS n FROM {function}").window
    assert expected == aggregate(f"SELECT count(*) AS n FROM {function} GROUP BY window_start, window_end").window


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
        "Hint: write TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE).",
        "TUMBLE",
    ),
    (
        "HOP(TABLE trades, DESCRIPTOR(time), INTERVAL '1' MINUTE)",
        "`HOP` takes a table, a descriptor and intervals. Hint: write "
        "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '10' MINUTE), slide before size.",
        "HOP",
    ),
    (
        "TUMBLE(TABLE trades, DESCRIPTOR(time), price)",
        "`window function argument` must be an interval or a number, got price. Hint: write INTERVAL '10' MINUTE.",
        "price",
    ),
    (
        "TUMBLE(TABLE trades, DESCRIPTOR(price), INTERVAL '1' MINUTE)",
        "`wattr` must be the progressing attribute, which is time, got price. Hint: write WATTR time.",
        "price",
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
    text = "SELECT count(*) FROM CUMULATE(TABLE packets, DESCRIPTOR(ts), 1, 10)"
    assert (expected, "CUMULATE") == complaint(text, UnsupportedError)
