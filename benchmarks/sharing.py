"""Several queries over one stream, together and one after the other: 1, 2, 5 and 10 of them.

Bar: ten queries together take at most twice as long as one alone. The queries differ in RANGE, SLIDE and aggregates,
and have the same keys, so that they share the scan and the panes; then ten with conditions of their own, which share
the scan alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from _figures import Figure, Spread, Unit
from _harness import Settings, benchmark, side_by_side, verdict

import windrow as wr
from windrow.generate import trades

ROWS = 8_000_000
RATE = 20_000
KEYS = 100
BAR = 2.0
COUNTS = (1, 2, 5, 10)
WINDOWS = (
    (600, 60),
    (300, 60),
    (60, 60),
    (1200, 120),
    (600, 120),
    (120, 60),
    (900, 180),
    (240, 240),
    (480, 120),
    (180, 60),
)
"""RANGE and SLIDE in seconds."""


def queries(stream: wr.Query, *, filtered: bool = False) -> list[wr.Query]:
    """Ten queries, the first of them the one that is compared with."""
    aggregates: tuple[Any, ...] = (wr.count(), wr.sum("volume"), wr.max("price"))
    made = []
    for place, (length, slide) in enumerate(WINDOWS):
        rows = stream.where(f"volume > {place}") if filtered else stream
        named = {"number": wr.count(), "answer": aggregates[place % 3], "other": aggregates[(place + 1) % 3]}
        made.append(rows.group_by("symbol").window(range=f"{length} s", slide=f"{slide} s").agg(**named))
    return made


def together(asked: Sequence[wr.Query]) -> Callable[[], list[pa.Table]]:
    return lambda: [result.table for result in wr.run(asked, engine="local")]


def alone(asked: Sequence[wr.Query]) -> Callable[[], list[pa.Table]]:
    return lambda: [query.collect(engine="local") for query in asked]


def same(answers: list[list[pa.Table]]) -> bool:
    """Together and alone give the same, for each number of queries."""
    return all(one == other for one, other in zip(answers[::2], answers[1::2], strict=True))


def lines(asked: list[wr.Query], what: str, repeats: int, *, barred: bool = True) -> list[list[object]]:
    works = {}
    for count in COUNTS:
        works[f"{count} together"], works[f"{count} alone"] = together(asked[:count]), alone(asked[:count])
    spreads = side_by_side(works, repeats, same)
    one = spreads["1 alone"].median
    return [[what, str(count), *line(spreads, count, one, barred=barred)] for count in COUNTS]


def line(spreads: dict[str, Spread], count: int, one: float, *, barred: bool = True) -> list[object]:
    """Seconds and ratios of so many queries; `one` are the seconds of one alone."""
    shared, each = spreads[f"{count} together"], spreads.get(f"{count} alone")
    ratio = shared.median / one
    judged = f"{BAR}x {verdict(ratio, BAR, at_most=True)}" if barred and count == 10 else ""
    apart = ("", "") if each is None else (str(each), f"{each.median / one:.2f}x")
    return [shared.time(), apart[0], Figure.once(ratio, Unit.COST), apart[1], judged]


def main(settings: Settings) -> None:
    rows = settings.rows(ROWS)
    data = trades(rows, seed=5, disorder="band 30 s", keys=KEYS, rate=RATE).table()
    stream = wr.stream(data, time="time", progress=wr.slack("30 s"))
    found = lines(queries(stream), "same rows", settings.repeats)
    found += lines(queries(stream, filtered=True), "own conditions", settings.repeats, barred=False)
    headers = ["queries over", "number", "together", "one by one", "together/one", "one by one/one", "bar"]
    settings.report(f"{rows:,} rows, {KEYS} groups, in process", headers, found, labels=2)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
