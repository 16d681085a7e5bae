"""Kept rows on Spark, compressed and not: bytes of state, bytes of checkpoint a micro-batch, and its time.

An exact median over a sliding window and one over a tumbling window that stays open, of rows that Windrow's own source
reads. `off` and `auto` run in turns. Bar: at most 1.15 of the time of `off`; below 1 where state is written and read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from _figures import Figure, Unit
from _harness import Settings, benchmark, verdict
from _spark_streams import SLIDE, Load, Measured, asked, measure, session, written
from pyspark.sql import DataFrame, SparkSession

import windrow as wr

MODES = "off", "auto"
BAR = 1.15


@dataclass(frozen=True)
class Case:
    name: str
    load: Load
    slides: int
    """SLIDE in seconds."""


def cases(settings: Settings) -> list[Case]:
    rows, files = settings.rows(500_000), 6 if settings.quick else 12
    sliding = Load(60, 1_000, rows // 2, rows, files, median=True)
    return [Case("median, RANGE/SLIDE 60", sliding, 1), Case("median, one pane of 60 s", sliding, 60)]


def query(folder: Path, case: Case, mode: str) -> wr.Query:
    if case.slides == 1:
        return asked(f"{folder}/*.parquet", case.load).compress(mode)
    stream = wr.stream(f"{folder}/*.parquet", time="time", progress=wr.slack(f"{SLIDE} us"), name="rows")
    length = f"{case.slides * SLIDE} us"
    return stream.group_by("key").window(range=length, slide=length).compress(mode).agg(middle=wr.median("value"))


def form(case: Case, mode: str) -> Callable[[SparkSession, Path, Load], DataFrame]:
    def framed(spark: SparkSession, folder: Path, load: Load) -> DataFrame:
        return query(folder, case, mode).to_spark(spark, batch_rows=load.file_rows)

    return framed


def line(spark: SparkSession, case: Case, rounds: int) -> list[object]:
    found: dict[str, list[Measured]] = {mode: [] for mode in MODES}
    with written(case.load) as folder:
        ask = {mode: partial(measure, spark, form(case, mode), folder, case.load) for mode in MODES}
        for _ in range(rounds):
            for mode in MODES:
                found[mode].append(ask[mode]())
    seconds = {mode: median(s for one in each for s in one.seconds) for mode, each in found.items()}
    state = {mode: Figure.once(each[-1].state, Unit.BYTES) for mode, each in found.items()}
    saved = {mode: Figure.once(median(one.written for one in each), Unit.BYTES) for mode, each in found.items()}
    ratios = [a / b for one, other in zip(found["auto"], found["off"], strict=True) for a, b in [_pair(one, other)]]
    over = Figure(median(ratios), min(ratios), max(ratios), Unit.COST)
    took = [Figure.once(seconds[mode], Unit.SECONDS) for mode in MODES]
    return [case.name, *state.values(), *saved.values(), *took, over, verdict(over.value, BAR, at_most=True)]


def _pair(one: Measured, other: Measured) -> tuple[float, float]:
    return median(one.seconds), median(other.seconds)


def main(settings: Settings) -> None:
    spark = session()
    lines = [line(spark, case, 1 if settings.quick else 3) for case in cases(settings)]
    headers = ["query", "state off", "state auto", "checkpoint off", "checkpoint auto", "time off", "time auto"]
    settings.report("a micro-batch", [*headers, "auto/off", "bar 1.15"], lines)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
