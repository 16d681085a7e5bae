"""WID against AdaptWID on skewed groups: peak state, latency and time on the data sets of table 6-2.

Query 6-7 is a tumbling sum over one source, query 6-8 a sliding count (RANGE 10 s, SLIDE 1 s) over two full sources
and one that is almost empty and lags behind. `wid` is the thesis' eager aggregation, `buffer` the lazy one; `panes`
are eager, too. Bars: the state of adaptive is at or below that of all others, its time within 1.1 of the fastest.
Time and latency are those of the processor, because neighbours on the machine lengthen any other; of the time the
least of the rounds, of the latency the median over punctuations. A second table has query 6-8 as the control link
lags more and more.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from _pictures import Panel, save
from table_6_2 import ROWS, SETS, data_set

sys.path.insert(0, str(Path(__file__).parents[1]))
from _figures import amount, duration
from _harness import Settings, begin, table, verdict

import windrow as wr
from windrow.engines.local import LocalOptions
from windrow.engines.local.run import Runner
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.base import Element
from windrow.query import Query
from windrow.semantics.progress.policies import Punctuation

STRATEGIES = ("wid", "panes", "buffer", "adaptive")
BATCH_ROWS = 1 << 16
LINK_RATE, CONTROL_RATE = 4_000, 40
LAGS = (0, 2, 5, 10)
TIME_BAR = 1.1
RIVALS = {"eager or lazy": ("wid", "buffer"), "panes": ("panes",)}
"""What its time is compared with: the thesis' eager and lazy aggregation, and panes, which it came before."""


def tumbling(rows: int, percent: int) -> Callable[[str], Query]:
    """Query 6-7: the bytes of each source address in windows of one second, rows in order."""
    main = wr.stream(data_set(rows, percent, seed=percent), time="ts", progress=wr.slack("0 s"), name="main")
    return lambda strategy: main.group_by("srcIP").window(range="1 s").strategy(strategy).agg(bytes=wr.sum("len"))


def sliding(rows: int, percent: int, lag: int = 2) -> Callable[[str], Query]:
    """Query 6-8: the packets of each source address over three links, of which the control link lags behind."""
    links = [link(rows // 2, percent, seed, "main") for seed in (1, 2)]
    control = link(rows // (2 * LINK_RATE) * CONTROL_RATE, percent, 3, "control", lag)
    union = links[0].union(links[1]).union(control)
    asked = union.group_by("srcIP").window(range="10 s", slide="1 s")
    return lambda strategy: asked.strategy(strategy).agg(packets=wr.count())


def link(rows: int, percent: int, seed: int, kind: str, lag: int = 0) -> Query:
    data = data_set(rows, percent, seed=10 * percent + seed, rate=LINK_RATE if kind == "main" else CONTROL_RATE)
    return wr.stream(data.select(["srcIP", "ts"]), time="ts", progress=wr.slack(f"{lag} s"), name=f"{kind}{seed}")


@dataclass(frozen=True)
class Run:
    """The least seconds over some rounds, the most bytes of state, the median seconds from promise to last result."""

    seconds: float
    state: int
    latency: float


def timed(query: Query) -> float:
    """Seconds of the processor for one run."""
    runner = Runner(query.plan, query.sources, LocalOptions(batch_rows=BATCH_ROWS))
    gc.collect()
    started = time.process_time()
    runner.run()
    return time.process_time() - started


def weighed(query: Query) -> tuple[int, int, float]:
    """The number of answers, the most bytes of state after any element, and the latency."""
    runner = Runner(query.plan, query.sources, LocalOptions(batch_rows=BATCH_ROWS))
    feed, states, latencies = runner.feed, [0], timing(runner)

    def feed_and_weigh(name: str, element: pa.RecordBatch | Punctuation) -> None:
        feed(name, element)
        states.append(runner.metrics().state_bytes)

    setattr(runner, "feed", feed_and_weigh)  # noqa: B010 - a method is not assigned to elsewhere
    return runner.run().results, max(states), statistics.median(latencies)


def timing(runner: Runner) -> list[float]:
    """Where the seconds will be, from a promise coming to the windows until their last result."""
    operator = next(s.operator for s in runner.pipeline.stages if isinstance(s.operator, WindowAggregateOperator))
    punctuate, found = operator.punctuate, list[float]()

    def timed_punctuate(punctuation: Punctuation, port: int = 0) -> Iterator[Element]:
        started, results = time.process_time(), operator.counters.results
        yield from list(punctuate(punctuation, port))
        if operator.counters.results > results:
            found.append(time.process_time() - started)

    setattr(operator, "punctuate", timed_punctuate)  # noqa: B010
    return found


def compare(ask: Callable[[str], Query], repeats: int) -> dict[str, Run]:
    """All strategies in turn, weighed after a run that warms them up; their answers must be as many."""
    for name in STRATEGIES:
        timed(ask(name))
    found = {name: weighed(ask(name)) for name in STRATEGIES}
    if len({answers for answers, _, _ in found.values()}) > 1:
        raise SystemExit(f"the answers differ: {found}")
    seconds: dict[str, list[float]] = {name: [] for name in STRATEGIES}
    for _ in range(repeats):
        for name, taken in seconds.items():
            taken.append(timed(ask(name)))
    return {name: Run(min(seconds[name]), state, latency) for name, (_, state, latency) in found.items()}


def report(title: str, results: dict[str, dict[str, Run]]) -> None:
    lines = []
    for name, runs in results.items():
        others = [run for strategy, run in runs.items() if strategy != "adaptive"]
        state = runs["adaptive"].state / min(run.state for run in others)
        paces = [runs["adaptive"].seconds / min(runs[one].seconds for one in rivals) for rivals in RIVALS.values()]
        cells = [f"{amount(r.state)}B, {duration(r.latency)}, {duration(r.seconds)}" for r in runs.values()]
        times = [f"{pace:.2f} {verdict(pace, TIME_BAR, at_most=True)}" for pace in paces]
        lines.append([name, *cells, f"{state:.2f} {verdict(state, 1.0, at_most=True)}", *times])
    headers = ["set", *STRATEGIES, "state / least", *(f"time / {rivals}" for rivals in RIVALS)]
    table(f"{title}: state, latency, time", headers, lines)


def panels(title: str, results: dict[str, dict[str, Run]]) -> list[Panel]:
    """Graphs a, b and c: memory, latency and time over the percentage of rows in small groups."""

    def lines(value: Callable[[Run], float]) -> dict[str, list[tuple[float, float]]]:
        return {s: [(SETS[name], value(runs[s])) for name, runs in results.items()] for s in STRATEGIES}

    x = "percent of the rows in small groups"
    return [
        Panel(f"{title}: memory", x, "peak state, kB", lines(lambda run: run.state / 1e3), log_y=True),
        Panel(f"{title}: latency", x, "ms", lines(lambda run: run.latency * 1e3), log_y=True),
        Panel(f"{title}: time", x, "ms of the processor", lines(lambda run: run.seconds * 1e3)),
    ]


def main(settings: Settings) -> None:
    rows, drawn = settings.rows(ROWS), list[Panel]()
    for title, make in (("Q6-7, tumbling sum", tumbling), ("Q6-8, sliding count", sliding)):
        results = {name: compare(make(rows, percent), settings.repeats) for name, percent in SETS.items()}
        report(f"{title}, {rows:,} rows", results)
        drawn += panels(title, results)
    lags = {f"lag {lag} s": compare(sliding(rows, SETS["DS3"], lag), 2) for lag in LAGS}
    report(f"Q6-8 on DS3 by the lag of the control link, {rows:,} rows", lags)
    save(drawn)


if __name__ == "__main__":
    main(begin(__doc__))
