"""Windrow on Spark against Spark's own window(): streaming, count + sum + max, same files, same micro-batches.

One embedded session on two cores with two shuffle partitions, RocksDB as the state store of both sides, results into
the `noop` sink. `files`: Windrow's own source reads. `frame`: Spark reads, rows reach Windrow through the JVM. Bars for
`files` as a multiple of Spark's own rows/s at RANGE/SLIDE 1, 10, 60, 600: 0.9, 2, 10, 100 (goals 1, 3, 15, 150); at
4096, where Spark's own is not tried, 0.8 of Windrow's rows/s at 10.

Where Spark's own would take too long it gets fewer rows a micro-batch. What a micro-batch costs without any rows then
weighs more, so such a line is marked when its micro-batches are short. State is what each side itself calls its state:
Windrow its tables, Spark the memory of RocksDB.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from _figures import Figure, Spread, Unit, duration
from _harness import Settings, benchmark, verdict
from _spark_streams import FORMS, WARM_UP, Load, Measured, answer, measure, session, written
from pyspark.sql import SparkSession

KEYS, PANE_ROWS = 100, 20_000
"""200 rows a pane and key."""
FILE_ROWS, FILES = 1_000_000, 8
QUICK = 10
BARS = {1: (0.9, 1.0), 10: (2.0, 3.0), 60: (10.0, 15.0), 600: (100.0, 150.0)}
FLAT = 0.8
LEAST_BATCH = 2.0
"""Seconds of a micro-batch with fewer rows, from which on its fixed cost hardly counts."""
HEADERS = ["case", "side", "rows a batch", "rows/s", "median batch", "state", "checkpoint a batch", "x native", "bar"]


@dataclass(frozen=True)
class Case:
    """A stream, and how many rows a file Spark's own window() gets of it; None where it is not tried."""

    name: str
    load: Load
    native_rows: int | None
    bars: tuple[float, float] | None = None

    def load_of(self, side: str) -> Load:
        return replace(self.load, file_rows=self.native_rows or 0) if side == "native" else self.load

    @property
    def sides(self) -> list[str]:
        return [side for side in FORMS if side != "native" or self.native_rows is not None]


def cases(quick: bool) -> list[Case]:
    """All of them; `quick` takes a tenth of the rows."""
    rows = FILE_ROWS // QUICK if quick else FILE_ROWS
    load = Load(10, KEYS, PANE_ROWS, rows, FILES)
    natives: dict[int, int | None] = {1: rows, 10: rows, 60: rows // 5, 600: rows // 50, 4096: None}
    shown = [
        Case(f"RANGE/SLIDE {ratio}", replace(load, ratio=ratio), native, BARS.get(ratio))
        for ratio, native in natives.items()
    ]
    shown.append(Case("5 rows a pane and key", replace(load, pane_rows=5 * KEYS), rows // 5))
    groups = {1: rows, 1000: rows, 1_000_000: rows // 20}
    for keys, native in groups.items():
        shown.append(Case(f"{keys:,} groups", replace(load, keys=keys, pane_rows=10 * PANE_ROWS), native))
    medians = {10: rows // 20, 60: rows // 100}
    for ratio, native in medians.items():
        shown.append(Case(f"median, RANGE/SLIDE {ratio}", replace(load, ratio=ratio, median=True), native))
    return shown


def check_answers(spark: SparkSession) -> None:
    """Figures of sides that give different answers would mean nothing."""
    for median in (False, True):
        load = Load(10, KEYS, PANE_ROWS, PANE_ROWS * 4, 3, median)
        with written(load) as folder:
            answers = {side: answer(spark, form, folder, load) for side, form in FORMS.items()}
        if not answers["native"].num_rows:
            raise SystemExit("no window was closed: nothing is compared")
        for side, found in answers.items():
            if found.to_pydict() != answers["native"].to_pydict():
                raise SystemExit(f"the answers of {side} and native differ")


def measured(spark: SparkSession, case: Case) -> dict[str, Measured]:
    """Every side over a short stream, not counted, then in full; sides with as many rows read the same files."""
    found: dict[str, Measured] = {}
    for load in dict.fromkeys(map(case.load_of, case.sides)):
        sides = [side for side in case.sides if case.load_of(side) == load]
        for stream in (replace(load, files=WARM_UP + 2), load):
            with written(stream) as folder:
                found |= {side: measure(spark, FORMS[side], folder, stream) for side in sides}
    return found


def lines(case: Case, found: dict[str, Measured]) -> list[list[object]]:
    """A line for each side."""
    rates = {side: case.load_of(side).file_rows / Spread.of(one.seconds).median for side, one in found.items()}
    made: list[list[object]] = []
    for side, one in found.items():
        spread, rows = Spread.of(one.seconds), case.load_of(side).file_rows
        state, checkpoint = (Figure.once(size, Unit.BYTES) for size in (one.state, one.written))
        times = rates[side] / rates["native"] if "native" in rates else None
        ratio = "-" if times is None else f"{times:.2f}x"
        rate = spread.rate(rows, {} if times is None else {"native": times})
        figures = rate, duration(spread.median), state, checkpoint
        kept = map(str, figures) if side == "native" else figures  # of the rival only the ratio is kept
        made.append([case.name, side, f"{rows:,}", *kept, ratio, _judged(case, side, times, spread)])
    return made


def _judged(case: Case, side: str, times: float | None, spread: Spread) -> str:
    """Only the form that reads files itself is measured against the bar; a rival that was cut too short is told."""
    if side == "native" and case.load_of(side) != case.load and spread.median < LEAST_BATCH:
        return "too short to compare"
    if case.bars is None or side != "files" or times is None:
        return ""
    bar, goal = case.bars
    return f"{bar:g}x {verdict(times, bar)}, goal {goal:g}x {verdict(times, goal)}"


def flatness(found: dict[str, dict[str, Measured]]) -> list[list[object]]:
    """Windrow at 4096 against itself at 10, where both were measured."""
    both = ("RANGE/SLIDE 4096", "RANGE/SLIDE 10")
    made: list[list[object]] = []
    for side in ("files", "frame") if all(name in found for name in both) else ():
        many, few = (Spread.of(found[name][side].seconds).median for name in both)
        made.append([side, Figure.once(few / many, Unit.GAIN), verdict(few / many, FLAT)])
    return made


def main(settings: Settings) -> None:
    named = {case.name: case for case in cases(settings.quick)}
    wanted = [named[name] for name in settings.chosen(named)]
    spark = session()
    check_answers(spark)
    print("answers of native, files and frame over the same small streams: the same", flush=True)
    found = {}
    for case in wanted:
        found[case.name] = measured(spark, case)
        counted = case.load.files - 1 - WARM_UP
        title = f"{case.name}: {counted} micro-batches"
        settings.report(title, HEADERS, lines(case, found[case.name]), labels=2)
    if flat := flatness(found):
        settings.report("rows/s at RANGE/SLIDE 4096 over rows/s at 10", ["side", "ratio", f"bar {FLAT}"], flat)
    spark.stop()


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
