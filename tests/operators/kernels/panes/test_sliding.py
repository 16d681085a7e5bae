"""Windows from panes along a schedule equal windows put together from their cells, whatever is reported when."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from windrow.operators.kernels.panes import sliding
from windrow.operators.kernels.panes.sliding import ACTIVE, HEAD, LEAST, NEXT

GROUPS = 5
SHAPES = [(1, 1), (4, 1), (6, 2), (5, 3), (2, 5), (7, 4)]
"""Panes in a range, panes in a slide: tumbling, sliding, uneven, with holes."""


@dataclass
class Cells:
    """Sorted cells with a row count and a value that add, two that keep the greatest, and a pair."""

    panes: Any
    codes: Any
    adds: Any
    maxs: Any
    pairs: Any


def random_cells(chance: random.Random) -> Cells:
    places = {(chance.randrange(-30, 60), chance.randrange(GROUPS)) for _ in range(chance.randrange(40))}
    places |= {(1000 + chance.randrange(5), chance.randrange(GROUPS)) for _ in range(chance.randrange(3))}
    panes, codes = np.array(sorted(places), np.int64).reshape(-1, 2).T
    values = np.array([[chance.randrange(-9, 10) for _ in range(6)] for _ in places], np.int64).reshape(-1, 6)
    adds = np.stack([np.abs(values[:, 0]) + 1, values[:, 1]], axis=1)
    return Cells(panes.copy(), codes.astype(np.int32), adds, values[:, 2:4].copy(), values[:, 4:6].copy())


def by_definition(cells: Cells, range_: int, slide: int, windows: range, *, forever: bool) -> dict[Any, Any]:
    """(window, group) -> state, from the cells of each window."""
    found: dict[Any, Any] = {}
    for window in windows:
        inside = defaultdict(list)
        for i, pane in enumerate(cells.panes.tolist()):
            if (forever or pane >= window * slide - range_) and pane < window * slide:
                inside[int(cells.codes[i])].append(i)
        for code, rows in inside.items():
            adds, maxs = cells.adds[rows].sum(axis=0).tolist(), cells.maxs[rows].max(axis=0).tolist()
            found[window, code] = adds, maxs, max(cells.pairs[rows].tolist())
    return found


class Slider:
    """The kernels with the state they share, as a timeline has it."""

    def __init__(self, cells: Cells, range_: int, slide: int, *, forever: bool) -> None:
        self.cells, self.range, self.slide, self.forever = cells, range_, slide, forever
        self.position = np.zeros(4, np.int64)
        self.position[NEXT] = int(cells.panes[0]) // slide + 1 if len(cells.panes) else 0
        self.running = np.zeros((GROUPS, 2), np.int64)
        self.active, self.listed = np.zeros(GROUPS, np.int32), np.zeros(GROUPS, np.uint8)
        size = len(cells.panes)
        self.backs = [np.full((GROUPS, 2), LEAST, np.int64) for _ in range(2)]
        self.suffixes = [np.zeros((size, 2), np.int64) for _ in range(2)]
        self.followings = [np.zeros(size, np.int64) for _ in range(2)]
        self.heads = [np.full(GROUPS, -1, np.int64) for _ in range(2)]
        self.fronts = [0, 0]

    def report(self, last: int, steps_at_once: int) -> Iterator[tuple[Any, Any]]:
        """The answers up to window `last`; cells beyond it are not closed yet."""
        count = int(np.searchsorted(self.cells.panes, last * self.slide))
        while self.position[NEXT] <= last:
            yield from self._report(last, count, np.empty((steps_at_once, 8), np.int64))

    def _report(self, last: int, count: int, steps: Any) -> Iterator[tuple[Any, Any]]:
        cells, room = self.cells, 2 * GROUPS
        head, held = int(self.position[HEAD]), bool(self.forever and self.position[ACTIVE])
        planned = sliding.plan_steps(
            cells.panes, count, self.position, held, self.range, self.slide, last, self.forever, steps
        )
        windows, codes = np.empty(room, np.int64), np.empty(room, np.int32)
        taken, written = sliding.plan_answers(
            steps[:planned], cells.codes, cells.adds[:, 0], self.running[:, 0].copy(),
            self.active, self.listed, self.position, windows, codes,
        )  # fmt: skip
        steps, codes = steps[:taken], codes[:written]
        adds, maxs, pairs = (np.empty((written, 2), np.int64) for _ in range(3))
        sliding.slide_adds(steps, cells.codes, cells.adds, self.running, codes, adds)
        kinds: Any = ((0,), cells.maxs, maxs), ((0, 0), cells.pairs, pairs)
        for i, (together, state, out) in enumerate(kinds):
            shared = self.suffixes[i], self.followings[i], self.backs[i], self.heads[i], together
            self.fronts[i] = sliding.slide_greatest(
                steps, cells.codes, state, *shared, head, self.fronts[i], codes, out
            )
        for k in range(written):
            yield (int(windows[k]), int(codes[k])), (adds[k].tolist(), maxs[k].tolist(), pairs[k].tolist())


def reported(slider: Slider, stops: list[int], steps_at_once: int) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for stop in stops:
        for place, state in slider.report(stop, steps_at_once):
            assert place not in found
            found[place] = state
    return found


@pytest.mark.parametrize(("range_", "slide"), SHAPES)
@pytest.mark.parametrize("steps_at_once", [1, 3, 100])
def test_sliding_windows(range_: int, slide: int, steps_at_once: int) -> None:
    chance = random.Random(range_ * 100 + slide)
    for _ in range(60):
        cells = random_cells(chance)
        last = (1005 + range_) // slide + 1
        stops = sorted({chance.randrange(-30, 80) for _ in range(chance.randrange(6))} | {last})
        slider = Slider(cells, range_, slide, forever=False)
        expected = by_definition(cells, range_, slide, range(-40, last + 1), forever=False)
        assert expected == reported(slider, stops, steps_at_once)
        assert 0 == np.count_nonzero(slider.running)
        assert 0 == slider.position[ACTIVE]


@pytest.mark.parametrize("slide", [1, 3])
@pytest.mark.parametrize("steps_at_once", [1, 100])
def test_windows_that_keep_everything(slide: int, steps_at_once: int) -> None:
    chance = random.Random(slide)
    for _ in range(40):
        cells = random_cells(chance)
        if len(cells.panes) == 0:
            continue
        first, last = int(cells.panes[0]) // slide + 1, int(cells.panes[-1]) // slide + 1
        stops = sorted({chance.randrange(first, last + 1) for _ in range(3)} | {last})
        slider = Slider(cells, 1, slide, forever=True)
        expected = by_definition(cells, 1, slide, range(first, last + 1), forever=True)
        assert expected == reported(slider, stops, steps_at_once)


def test_a_stretch_without_cells_takes_one_step() -> None:
    panes, steps = np.array([0, 10**15], np.int64), np.empty((10, 8), np.int64)
    position = np.array([0, 0, 0, 1], np.int64)
    assert 3 == sliding.plan_steps(panes, 2, position, False, 1, 1, 10**15 + 1, False, steps)
    assert [1, 2, 10**15 + 1] == steps[:3, sliding.WINDOW].tolist()
