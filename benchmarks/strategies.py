"""WID, Paned-WID and buffering for max: time over RANGE/SLIDE, and Paned-WID against WID over the shape of panes.

In shape the thesis' figures 6-10 and 6-15: the cost of WID grows with RANGE/SLIDE, that of Paned-WID does not, and
panes pay as soon as they hold a few rows. A picture is saved beside the figures where matplotlib is installed.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
from _figures import Spread, duration
from _harness import Settings, benchmark, side_by_side

import windrow as wr
from windrow.engines.local import Receiver, run
from windrow.query import Query

ROWS = 100_000
SHAPE_ROWS = 100_000
SPACING = 10
"""Units of the progressing attribute between rows."""
RATIOS = (1, 4, 16, 64, 256, 1024, 4096)
STRATEGIES = ("wid", "panes", "buffer")
PER_PANE = (1, 2, 5, 10, 20, 50, 100)
PER_WINDOW = (2, 5, 10, 15, 20)
BAND = 200
"""How many rows late a row may be."""
TOO_LONG = 3e7
"""Rows times windows a row is in, from where buffering is left out: it would take minutes."""


def disordered(rows: int) -> pa.Table:
    """Rows `SPACING` apart that arrive up to `BAND` rows late, and a value of each."""
    chance = np.random.default_rng(6)
    times = np.arange(rows) * SPACING
    order = np.argsort(times + chance.integers(0, BAND * SPACING, rows), kind="stable")
    columns = {"ts": times[order], "price": chance.integers(0, 1_000_000, rows)}
    return pa.table({name: pa.array(column) for name, column in columns.items()})


def query(data: pa.Table, length: int, slide: int, strategy: str) -> Query:
    stream = wr.stream(data, time="ts", progress=wr.slack(BAND * SPACING))
    return stream.window(range=length, slide=slide).strategy(strategy).agg(price=wr.max("price"))


def total(asked: Query) -> int:
    """The sum of all answers: what the strategies must agree on."""
    results: list[pa.RecordBatch] = []
    run([asked.plan], asked.sources, Receiver.of_one(results.append))
    return sum(int(np.asarray(batch.column("price")).sum()) for batch in results)


def compare(data: pa.Table, length: int, slide: int, names: tuple[str, ...], repeats: int) -> dict[str, Spread]:
    asked = {name: query(data, length, slide, name) for name in names}
    works = {name: lambda one=one: total(one) for name, one in asked.items()}
    return side_by_side(works, repeats, lambda answers: len(set(answers)) == 1)


def by_ratio(data: pa.Table, repeats: int) -> dict[int, dict[str, Spread]]:
    """Seconds of each strategy with a fixed RANGE of 4096 rows, over RANGE/SLIDE."""
    found = {}
    for ratio in RATIOS:
        names = STRATEGIES if ratio * data.num_rows < TOO_LONG else ("wid", "panes")
        found[ratio] = compare(data, 4096 * SPACING, 4096 // ratio * SPACING, names, repeats)
    return found


def by_shape(data: pa.Table, repeats: int) -> dict[tuple[int, int], float]:
    """Time of Paned-WID over that of WID, by rows in a pane and panes in a window."""
    found = {}
    for per_pane in PER_PANE:
        for per_window in PER_WINDOW:
            slide = per_pane * SPACING
            spreads = compare(data, per_window * slide, slide, ("panes", "wid"), repeats)
            found[per_pane, per_window] = spreads["panes"].median / spreads["wid"].median
    return found


def cell(spreads: dict[str, Spread], name: str) -> object:
    return spreads[name].time() if name in spreads else "left out"


def picture(found: dict[int, dict[str, Spread]]) -> None:
    """Time over RANGE/SLIDE, in the folder for what is built."""
    plt = import_module("matplotlib.pyplot")
    for name in STRATEGIES:
        known = {ratio: spreads[name].median for ratio, spreads in found.items() if name in spreads}
        plt.loglog(list(known), list(known.values()), marker="o", label=name)
    plt.xlabel("RANGE/SLIDE")
    plt.ylabel("seconds")
    plt.legend()
    path = Path(__file__).parents[1] / "build" / "strategies.png"
    path.parent.mkdir(exist_ok=True)
    plt.savefig(path)
    print(f"picture: {path.name} in build")


def main(settings: Settings) -> None:
    data = disordered(settings.rows(ROWS))
    found = by_ratio(data, settings.repeats)
    lines = [[ratio, *(cell(spreads, name) for name in STRATEGIES)] for ratio, spreads in found.items()]
    settings.report(f"max over {data.num_rows:,} rows, RANGE 4096 rows", ["RANGE/SLIDE", *STRATEGIES], lines)
    flat = [spreads["panes"].median for spreads in found.values()]
    print(f"panes: fastest ratio {duration(min(flat))}, slowest {duration(max(flat))}")
    shape = by_shape(disordered(settings.rows(SHAPE_ROWS)), settings.repeats)
    rows = [[p, *(f"{shape[p, w]:.2f}" for w in PER_WINDOW)] for p in PER_PANE]
    settings.report("time of panes / time of wid", ["rows a pane", *(f"{w} panes a window" for w in PER_WINDOW)], rows)
    if find_spec("matplotlib") is not None:
        picture(found)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
