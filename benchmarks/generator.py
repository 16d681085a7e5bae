"""The generator: rows a second of each kind of stream under each kind of disorder. Bar: 1 M rows/s."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from _figures import amount
from _harness import Settings, benchmark, side_by_side, verdict

from windrow.generate import GeneratedStream, bids, packets, tasks, trades

ROWS = 500_000
RATE = 10_000
BAR = 1e6
KINDS: dict[str, Callable[..., GeneratedStream]] = {"trades": trades, "packets": packets, "bids": bids, "tasks": tasks}
DISORDERS = ("none", "band 30 s", "block 60 s", "skewed 0 s, 10 s")


def drain(stream: GeneratedStream) -> None:
    for _ in stream.batches():
        pass


def lines(rows: int, repeats: int) -> list[list[object]]:
    streams = {
        f"{kind}|{disorder}": make(rows, seed=4, disorder=disorder, rate=RATE)
        for kind, make in KINDS.items()
        for disorder in DISORDERS
    }
    works = {name: partial(drain, stream) for name, stream in streams.items()}
    spreads = side_by_side(works, repeats)
    return [[*name.split("|"), s.rate(rows), verdict(rows / s.median, BAR)] for name, s in spreads.items()]


def main(settings: Settings) -> None:
    rows = settings.rows(ROWS)
    headers = ["kind", "disorder", "rows/s", f"bar {amount(BAR)}"]
    settings.report(f"{rows:,} rows each", headers, lines(rows, settings.repeats), labels=2)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
