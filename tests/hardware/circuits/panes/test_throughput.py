"""One row a cycle, and two for a punctuation and one for each window it closes, of however many panes: none is lost."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.hardware.reference import Promise, Row, Stream, results, words
from windrow.hardware.circuits.top import circuit_of
from windrow.hardware.design import AggregateDesign, BitLayout, CircuitPart, Field, Function, WindowQuery
from windrow.hardware.simulate.simulation import Simulation
from windrow.hardware.simulate.trace import Ended
from windrow.semantics.scalars.expressions import Column

X = Column("x")
LAYOUT = BitLayout((Field("x", 16),))
PARTS = (
    CircuitPart(Function.COUNT),
    CircuitPart(Function.SUM, X, 48, signed=True),
    CircuitPart(Function.MIN, X, 16, signed=True),
    CircuitPart(Function.MAX, X, 16, signed=True),
)
SLIDE = 4


def bursts(slides: int) -> tuple[Stream, list[list[int]]]:
    """Up to six rows for each slide, in runs of few and of many, each slide closed by its own punctuation."""
    random, stream, panes = Random(slides), Stream(), []
    for slide in range(slides):
        most = 1 if slide // 50 % 2 else 6
        panes.append([random.randrange(-(1 << 15), 1 << 15) for _ in range(random.randint(0, most))])
        stream += [Row(slide * SLIDE + random.randrange(SLIDE), {"x": value}) for value in panes[-1]]
        stream.append(Promise((slide + 1) * SLIDE))
    return [*stream, Promise(slides * SLIDE, last=True)], panes


def windows(panes: list[list[int]], ratio: int) -> list[tuple[int, tuple[int, ...]]]:
    """From sums before each pane, and from all panes of a window side by side."""
    nothing: list[list[int]] = [[]] * (ratio - 1)
    padded = [*nothing, *panes, *nothing]
    count, total = (np.cumsum([0, *map(of, padded)]) for of in (len, sum))
    least, greatest = ([of(pane, default=worst) for pane in padded] for of, worst in ((min, 1 << 20), (max, -1 << 20)))
    shown = np.lib.stride_tricks.sliding_window_view
    lows, highs = shown(np.array(least), ratio).min(axis=1), shown(np.array(greatest), ratio).max(axis=1)
    found: list[tuple[int, tuple[int, ...]]] = []
    for at in range(len(panes) + ratio - 1):
        rows = int(count[at + ratio] - count[at])
        if rows:
            sums = int(total[at + ratio] - total[at])
            found.append(((at + 1) * SLIDE, (rows, sums, int(lows[at]), int(highs[at]))))
    return found


@pytest.mark.parametrize("ratio", [10, 4096])
def test_one_element_a_cycle_with_bursts_of_panes(ratio: int) -> None:
    query = WindowQuery(ratio * SLIDE, SLIDE, 0, PARTS)
    design = AggregateDesign(LAYOUT, (query,), time_width=24)
    stream, panes = bursts(ratio + 500)
    trace = Simulation(circuit_of(design), soon=True).run(words(design, stream))
    expected = windows(panes, ratio)
    assert Ended.DONE is trace.ended
    assert expected == [(end, parts) for end, _, parts in results(design, trace.results)[0]]
    closes = len(panes) + ratio
    # A punctuation right after a row waits one more cycle, until it is known which windows hold the row.
    assert trace.cycles <= len(stream) + closes + len(panes) + 100
