"""AdaptWID on the data sets of table 6-2: time and peak state of eager, lazy and adaptive windows, side by side.

DS1 to DS5 put 1, 3, 5, 7 and 9 percent of the rows into groups of one row, 20 percent into groups of about 15, the
rest into groups of about 300. Query 6-7 is a tumbling sum over one source, query 6-8 a sliding count (RANGE 10 s,
SLIDE 1 s) over two full sources and one that is almost empty and lags behind. Bars: the state of adaptive is at or
below that of all others, its time within 1.1 of the fastest. The time is that of the processor, the least of the
rounds, because neighbours on the machine lengthen any other.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))
from _harness import Settings, amount, begin, duration, table, verdict

import windrow as wr
from windrow.engines.local import Options
from windrow.engines.local.run import Runner
from windrow.generate import packets
from windrow.query import Query
from windrow.semantics.progress import Punctuation

SETS = {"DS1": 1, "DS2": 3, "DS3": 5, "DS4": 7, "DS5": 9}
"""Percent of the rows in groups of one row."""
STRATEGIES = ("wid", "panes", "buffer", "adaptive")
ROWS, BATCH_ROWS = 1_000_000, 1 << 16
TUMBLING_RATE, LINK_RATE, CONTROL_RATE = 200_000, 4_000, 40
TIME_BAR = 1.1


def tumbling(rows: int, percent: int) -> Callable[[str], Query]:
    """Query 6-7: the bytes of each source address in windows of one second, rows in order."""
    data = packets(rows, seed=percent, skew=f"groups {percent}", rate=TUMBLING_RATE).table()
    main = wr.stream(data, time="ts", progress=wr.slack("0 s"), name="main")
    return lambda strategy: main.group_by("srcIP").window(range="1 s").strategy(strategy).agg(bytes=wr.sum("len"))


def sliding(rows: int, percent: int, lag: str = "2 s") -> Callable[[str], Query]:
    """Query 6-8: the packets of each source address over three links, of which the control link lags behind."""
    links = [link(rows // 2, percent, seed, "main") for seed in (1, 2)]
    control = link(rows // (2 * LINK_RATE) * CONTROL_RATE, percent, 3, "control", lag)
    union = links[0].union(links[1]).union(control)
    asked = union.group_by("srcIP").window(range="10 s", slide="1 s")
    return lambda strategy: asked.strategy(strategy).agg(packets=wr.count())


def link(rows: int, percent: int, seed: int, kind: str, lag: str = "0 s") -> Query:
    rate = LINK_RATE if kind == "main" else CONTROL_RATE
    data = packets(rows, seed=10 * percent + seed, skew=f"groups {percent}", rate=rate).table()
    return wr.stream(data.select(["srcIP", "ts"]), time="ts", progress=wr.slack(lag), name=f"{kind}{seed}")


@dataclass(frozen=True)
class Run:
    """The least seconds of the processor over some rounds, and the most bytes of state."""

    seconds: float
    state: int


def timed(query: Query) -> float:
    """Seconds of the processor for one run."""
    runner = Runner(query.plan, query.sources, Options(batch_rows=BATCH_ROWS))
    gc.collect()
    started = time.process_time()
    runner.run()
    return time.process_time() - started


def weighed(query: Query) -> tuple[int, int]:
    """The most bytes of state after any element, and the number of answers."""
    runner = Runner(query.plan, query.sources, Options(batch_rows=BATCH_ROWS))
    feed, states = runner.feed, [0]

    def feed_and_weigh(name: str, element: pa.RecordBatch | Punctuation) -> None:
        feed(name, element)
        states.append(runner.metrics().state_bytes)

    setattr(runner, "feed", feed_and_weigh)  # noqa: B010 - a method is not assigned to elsewhere
    return runner.run().results, max(states)


def compare(ask: Callable[[str], Query], repeats: int) -> dict[str, Run]:
    """All strategies in turn, weighed first, which warms them up; their answers must be as many."""
    found = {name: weighed(ask(name)) for name in STRATEGIES}
    if len({answers for answers, _ in found.values()}) > 1:
        raise SystemExit(f"the answers differ: {found}")
    seconds: dict[str, list[float]] = {name: [] for name in STRATEGIES}
    for _ in range(repeats):
        for name, taken in seconds.items():
            taken.append(timed(ask(name)))
    return {name: Run(min(seconds[name]), state) for name, (_, state) in found.items()}


def report(title: str, results: dict[str, dict[str, Run]]) -> None:
    lines = []
    for name, runs in results.items():
        others = [run for strategy, run in runs.items() if strategy != "adaptive"]
        state = runs["adaptive"].state / min(run.state for run in others)
        pace = runs["adaptive"].seconds / min(run.seconds for run in others)
        cells = [f"{amount(run.state)}B, {duration(run.seconds)}" for run in runs.values()]
        judged = verdict(state, 1.0, at_most=True), verdict(pace, TIME_BAR, at_most=True)
        lines.append([name, *cells, f"{state:.2f} {judged[0]}", f"{pace:.2f} {judged[1]}"])
    table(title, ["set", *STRATEGIES, "state / least", "time / fastest"], lines)


def picture(results: dict[str, dict[str, dict[str, Run]]]) -> None:
    """Peak state over the data sets, one panel a query, in the folder for what is built."""
    plt = import_module("matplotlib.pyplot")
    _, panels = plt.subplots(1, len(results), figsize=(5 * len(results), 4))
    for panel, (title, sets) in zip(panels, results.items(), strict=True):
        for name in STRATEGIES:
            panel.semilogy(list(sets), [runs[name].state / 1e3 for runs in sets.values()], marker="o", label=name)
        panel.set_title(title)
        panel.set_ylabel("peak state, kB")
        panel.legend()
    path = Path(__file__).parents[2] / "build" / "table_6_2.png"
    path.parent.mkdir(exist_ok=True)
    plt.savefig(path)
    print(f"picture: {path.name} in build")


def main(settings: Settings) -> None:
    rows, results = settings.rows(ROWS), {}
    for title, make in (("Q6-7, tumbling sum", tumbling), ("Q6-8, sliding count, three sources", sliding)):
        results[title] = {name: compare(make(rows, percent), settings.repeats) for name, percent in SETS.items()}
        report(f"{title}, {rows:,} rows", results[title])
    if find_spec("matplotlib") is not None:
        picture(results)
    else:
        print("no picture: matplotlib is not installed")


if __name__ == "__main__":
    main(begin(__doc__))
