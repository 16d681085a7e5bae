"""Latency against accuracy: the same windows behind a sort with slack, and out of order behind punctuations.

The latency of an answer is the time, by the clock of arrival, from the first row at or after the end of its window to
the answer: how long one waits once the stream shows that the window is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from _harness import table
from _in_order import Arrival, Floats, Ints, Told, in_order, out_of_order, told, units
from _pictures import Panel

import windrow as wr
from windrow.functions import AggregateSpec
from windrow.plan.nodes import Lateness, Node
from windrow.semantics.progress.policies import Policy, Punctuation

PIECE = 50
"""Rows that arrive at a time, and so the grain of the clock."""
Judge: TypeAlias = Callable[[dict[int, Told], dict[int, Told]], float]
Marks: TypeAlias = list[tuple[int, int]]
"""Punctuations as pairs: after how many rows, and what is promised."""


@dataclass(frozen=True)
class Case:
    """Rows in order of arrival with the clock in seconds, a window, and how far answers are from the truth."""

    title: str
    data: pa.Table
    clock: Floats
    range: str
    slide: str
    aggregate: AggregateSpec
    marks: Marks
    judge: Judge
    measure: str
    lateness: tuple[Lateness, ...] = (Lateness.CONSISTENT, Lateness.GENEROUS)

    def plan(self, progress: Policy, strategy: str, lateness: Lateness) -> Node:
        asked = wr.stream(self.data, time="ts", progress=progress, name="rows").window(
            range=self.range, slide=self.slide
        )
        return asked.strategy(strategy).lateness(lateness).agg(answer=self.aggregate).plan


@dataclass(frozen=True)
class Point:
    error: float
    latency: float


def exact_marks(times: Ints, slide: int) -> Marks:
    """A punctuation at each end of a window, as soon as the last row below it has come."""
    low = np.minimum.accumulate(np.append(times[1:], times.max() + 1)[::-1])[::-1] // slide
    places = np.flatnonzero(np.diff(low, prepend=low[0] - 1) > 0)
    return [(int(place) + 1, int(low[place]) * slide) for place in places]


def arrivals(case: Case, marks: Marks) -> Iterator[tuple[float, Arrival]]:
    """Rows by pieces, cut where punctuations are."""
    cuts = sorted({*range(0, len(case.data), PIECE), len(case.data), *(place for place, _ in marks)})
    said = dict(marks)
    start = 0
    for end in cuts:
        if end > start:
            piece = case.data.slice(start, end - start).combine_chunks().to_batches()[0]
            yield float(case.clock[end - 1]), ("rows", piece)
        start = end
        if end in said:
            yield float(case.clock[max(end - 1, 0)]), ("rows", Punctuation(said[end]))


def judged(case: Case, true: dict[int, Told], given: dict[int, Told]) -> Point:
    """Of the windows that end before the last row: no one can know that the last ones are over."""
    high = np.maximum.accumulate(units(case.data))
    ended = {end: int(np.searchsorted(high, end)) for end in true if end <= high[-1]}
    waits = [max(0.0, given[end].at - case.clock[place]) for end, place in ended.items() if end in given]
    known = {end: true[end] for end in ended}
    return Point(case.judge(known, given), float(np.mean(waits)))


def measured(case: Case, slacks: tuple[float, ...]) -> dict[str, list[tuple[str, Point]]]:
    """By approach: a point for each slack in seconds, and one for punctuations."""
    exact = out_of_order(case.plan(wr.at_end(), "panes", Lateness.GENEROUS))
    true = told(exact, arrivals(case, []), "answer")
    found: dict[str, list[tuple[str, Point]]] = {}
    for lateness in case.lateness:
        points = []
        for slack in slacks:
            plan = case.plan(wr.slack(f"{round(slack * 1000)} ms"), "buffer", lateness)
            given = told(in_order(plan, lateness), arrivals(case, []), "answer")
            points.append((f"{slack:g} s", judged(case, true, given)))
        found[f"{lateness.value} slack"] = points
    punctuated = out_of_order(case.plan(wr.punctuated(), "wid", Lateness.GENEROUS))
    found["punctuation"] = [("", judged(case, true, told(punctuated, arrivals(case, case.marks), "answer")))]
    return found


def report(case: Case, found: dict[str, list[tuple[str, Point]]]) -> Panel:
    rows = [
        [f"{name} {slack}".strip(), f"{point.error:.3f} %", f"{point.latency:.2f} s"]
        for name, points in found.items()
        for slack, point in points
    ]
    table(case.title, ["approach", case.measure, "latency"], rows)
    lines = {name: [(point.latency, point.error) for _, point in points] for name, points in found.items()}
    return Panel(case.title, "latency, s", f"{case.measure}, %", lines)
