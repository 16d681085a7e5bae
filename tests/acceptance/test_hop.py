"""HOP, TUMBLE and `align="start"` against windows assigned row by row, as the systems do that the spelling is from."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
import pytest

import windrow as wr


def assigned(times: list[int], size: int, slide: int, offset: int) -> dict[tuple[int, int], int]:
    """How many rows each window has: those that start at most `size` before a row, at whole slides after the offset."""
    counts: Counter[tuple[int, int]] = Counter()
    for t in times:
        counts.update((s, s + size) for s in range(t - size + 1, t + 1) if (s - offset) % slide == 0)
    return dict(counts)


def disordered(size: int) -> list[int]:
    random = Random(size)
    times = [random.randint(-200, 200) for _ in range(size)]
    return sorted(times, key=lambda t: t + random.randint(0, 20))


def answers(query: wr.Query) -> dict[tuple[int, int], int]:
    rows = query.collect(engine="local", batch_rows=17).to_pylist()
    return {(row["window_start"], row["window_end"]): row["n"] for row in rows}


@pytest.mark.parametrize("strategy", ["panes", "wid", "buffer", "adaptive"])
@pytest.mark.parametrize(("size", "slide", "offset"), [(10, 4, -3), (10, 4, 0), (3, 7, 2), (9, 9, 5), (12, 4, 1)])
def test_starts_are_aligned(strategy: str, size: int, slide: int, offset: int) -> None:
    times = disordered(300)
    stream = wr.stream(pa.table({"ts": times}), time="ts", progress=wr.slack(20), name="s")
    windows = stream.window(range=size, slide=slide, origin=offset, align="start").agg(n=wr.count())
    function = f"HOP(TABLE s, DESCRIPTOR(ts), {slide}, {size}, {offset})"
    asked = wr.sql(f"SELECT count(*) AS n FROM {function}", s=stream)
    expected = assigned(times, size, slide, offset)
    assert expected == answers(asked.strategy(strategy)) == answers(windows.strategy(strategy))
    assert expected == answers(wr.sql(asked.sql(), s=stream))


def test_brackets_align_ends() -> None:
    times = disordered(300)
    stream = wr.stream(pa.table({"ts": times}), time="ts", progress=wr.slack(20), name="s")
    asked = wr.sql("SELECT count(*) AS n FROM s [RANGE 10 SLIDE 4]", s=stream)
    assert assigned(times, 10, 4, -10) == answers(asked)
    assert assigned(times, 10, 4, 0) != answers(asked)
