"""What vector instructions gain in a handshake join: the paper's band join, windows of fifteen minutes.

`scalar` leaves a pair at the first value out of bounds; `vector` computes both conditions for many pairs at once, on
the values of 32 bits (the paper's optimization); `codes` does so on codes of 16 bits and compares values only where
these agree (what Windrow runs). The rate follows from the comparisons: those of a second are twice rate times window.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _pictures import Panel, save
from numba import njit

sys.path.insert(0, str(Path(__file__).parents[1]))
from _band_join import full_windows, measured
from _figures import amount
from _harness import begin, table

from windrow.aggregates.kinds.base import Integers
from windrow.operators.handshake.blocks import Block, BlockRows, Unsigned
from windrow.operators.handshake.chain import Outlet
from windrow.operators.handshake.driver import MakeLocal
from windrow.operators.handshake.scanning import PROBES, Scan

MINUTES = 15
CHUNK = 1024
FULL, QUICK = 800, 200
"""Rows a second of each stream as it is measured: slow loops take several seconds for one at more."""


@njit(nogil=True)
def scalar(x: Any, y: Any, lows: Any, highs: Any, other_lows: Any, other_highs: Any, out: Any) -> int:
    """Pair by pair, the second value only where the first is near."""
    found = 0
    for start in range(0, len(x), CHUNK):
        here, there = x[start : start + CHUNK], y[start : start + CHUNK]
        for p in range(len(lows)):
            for i in range(len(here)):
                if lows[p] <= here[i] <= highs[p] and other_lows[p] <= there[i] <= other_highs[p]:
                    out[found, 0], out[found, 1] = p, start + i
                    found += 1
    return found


@njit(nogil=True)
def near(here: Any, there: Any, low: Any, high: Any, other_low: Any, other_high: Any) -> Any:
    found = np.uint32(0)
    for i in range(len(here)):
        is_near = (low <= here[i]) & (here[i] <= high) & (other_low <= there[i]) & (there[i] <= other_high)
        found = np.uint32(found + np.uint32(is_near))
    return found


@njit(nogil=True)
def vector(x: Any, y: Any, lows: Any, highs: Any, other_lows: Any, other_highs: Any, out: Any) -> int:
    """All conditions of all pairs of a chunk, then where any pair is near, which."""
    found = 0
    for start in range(0, len(x), CHUNK):
        here, there = x[start : start + CHUNK], y[start : start + CHUNK]
        for p in range(len(lows)):
            if near(here, there, lows[p], highs[p], other_lows[p], other_highs[p]):
                for i in range(len(here)):
                    if (lows[p] <= here[i] <= highs[p]) and (other_lows[p] <= there[i] <= other_highs[p]):
                        out[found, 0], out[found, 1] = p, start + i
                        found += 1
    return found


class Values(Scan):
    """A worker that compares values by a loop of this file."""

    def __init__(self, loop: Callable[..., int], outlet: Outlet) -> None:
        super().__init__(outlet)
        self.loop = loop
        self.out = np.empty((1 << 20, 2), np.int64)

    def compare(self, side: int, block: Block, start: int, end: int) -> None:
        if start == end:
            return
        self.comparisons += len(block) * (end - start)
        ids, times, columns = self.held[1 - side].part(start, end)
        for first in range(0, len(block), PROBES):
            probing = block.rows.take(slice(first, first + PROBES))
            found = self.out[: self.loop(*bounds(columns, probing), self.out)]
            kept = within(probing, times, found)
            self.report(side, probing.ids[kept[:, 0]], ids[kept[:, 1]])


def bounds(columns: list[Unsigned], probing: BlockRows) -> Iterator[Any]:
    """Two columns of values, and the least and greatest that each probe admits of them."""
    yield from (column.view(np.int32) for column in columns)
    for low, width in zip(probing.lows, probing.widths, strict=True):
        yield low.view(np.int32)
        yield (low + width).view(np.int32)


def within(probing: BlockRows, times: Integers, found: Any) -> Any:
    moments, probes = times[found[:, 1]], found[:, 0]
    return found[(probing.firsts[probes] <= moments) & (moments <= probing.lasts[probes])]


LOOPS: dict[str, MakeLocal] = {
    "scalar": lambda outlet, _: Values(scalar, outlet),
    "vector": lambda outlet, _: Values(vector, outlet),
    "codes": Scan,
}


def main() -> None:
    settings = begin(__doc__)
    rate, seconds = (QUICK, 1.0) if settings.quick else (FULL, 4.0)
    lines: dict[str, list[tuple[float, float]]] = {name: [] for name in LOOPS}
    rows = []
    for threads in (1, 2):
        for name, local in LOOPS.items():
            measured(full_windows(1, 100, threads, local), 100, 1.0)  # compiles the loop
            runs = [measured(full_windows(MINUTES, rate, threads, local), rate, seconds) for _ in range(2)]
            best = max(run.comparisons / run.seconds for run in runs)
            processor = max(run.comparisons / run.processor for run in runs)
            reached = (best / (2 * MINUTES * 60)) ** 0.5
            lines[name].append((threads, reached))
            rows.append([threads, name, amount(best), amount(processor), f"{reached:,.0f}", runs[0].results])
    headers = ("threads", "loop", "comparisons/s", "of a core", "rows/s a stream", "results")
    table(f"windows of {MINUTES} minutes", headers, rows)
    save([Panel("Figure 15: vector instructions", "threads", "rows/s of each stream", lines)])


if __name__ == "__main__":
    main()
