"""What `explain` says of COMPRESS."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import windrow as wr

DATA = pa.table({"k": ["a"], "t": [1], "x": [1], "y": [0.5]})


def lines(query: wr.Query, *titles: str) -> list[str]:
    """What stands behind these titles, and on the lines that go on from them."""
    found: list[str] = []
    is_on = False
    for line in query.explain().splitlines():
        title, _, text = line.strip("│ ").partition("  ")
        goes_on = is_on and line.startswith("│   ")
        is_on = title in titles or goes_on
        if is_on:
            found.append(line.strip("│ ") if goes_on else text.strip())
    return found


def window(**calls: Any) -> wr.Query:
    return wr.stream(DATA, time="t", name="s").group_by("k").window(range=10).agg(**calls)


def test_without_it_nothing_is_said() -> None:
    assert [] == lines(window(a=wr.avg("y")), "compress", "within")


def test_a_mode_that_was_asked_for() -> None:
    query = window(a=wr.avg("y"))
    assert ["off: kept rows are held as they came"] == lines(query.compress("off"), "compress")
    blocks = ["blocks: kept rows are held in compressed blocks, from which they come back exactly"]
    assert blocks == lines(query.compress("blocks"), "compress")
    stream = wr.stream(DATA, time="t", name="r")
    joined = wr.stream(DATA, time="t", name="s").join(stream, on=["k"], range=5).compress("blocks")
    (line,) = lines(joined, "compress")
    assert line.startswith("blocks: columns of rows that wait for partners are held in compressed blocks")
    assert ["off: rows that wait for partners are held as they came"] == lines(joined.compress("off"), "compress")


def test_bounds_with_what_they_make_of_the_answers() -> None:
    calls = {
        "a": wr.avg("y"),
        "b": wr.min("y"),
        "c": wr.min("y"),
        "d": wr.sum("y"),
        "e": wr.count("y"),
        "f": wr.sum("x"),
    }
    query = window(**calls).compress(within={"y": 0.01, "x": 0.5})
    assert [
        "y 0.01: avg, min within 0.01; sum within 0.01 a row; count exact",
        "x 0.5: exact, for its values are whole numbers",
    ] == lines(query, "within")
