"""How a handshake join scales: the highest rate by cores, for windows of ten and fifteen minutes.

Real chains of one and two threads, by bisection on the rate that is kept up with. Longer chains are simulated: by a
random schedule of all workers, which tells how evenly they share comparisons; the rate is that of so many workers as
fast as the real one, of which the busiest sets the pace. The work grows with the square of the rate.
"""

from __future__ import annotations

import sys
from pathlib import Path

from _pictures import Panel, save

sys.path.insert(0, str(Path(__file__).parents[1]))
from _band_join import full_windows, measured, sustained
from _handshake_simulation import Balance, balance
from _harness import Settings, begin, table

WINDOWS = (10, 15)
CORES = (1, 2, 4, 8, 16, 32, 44)
PAPER = {8: 1_400, 44: 3_290}
"""Rows a second with windows of fifteen minutes, as far as the paper says in words."""
BLOCKS = 12
"""A worker and side, in windows and through them."""


def real(settings: Settings, minutes: int, threads: int) -> float:
    seconds, steps = (0.5, 2) if settings.quick else (3.0, 5)
    return sustained(minutes, threads, seconds, low=700, high=7_000, steps=steps)


def comparisons_of_one(settings: Settings) -> float:
    """What one worker compares in a second."""
    run = measured(full_windows(WINDOWS[-1], 1_500, 1), 1_500, 1.0 if settings.quick else 4.0)
    return run.comparisons / run.processor


def simulated(one: float, cores: int, shares: Balance, minutes: int) -> float:
    return float((one * cores / shares.busiest_over_mean / (2 * minutes * 60)) ** 0.5)


def main() -> None:
    settings = begin(__doc__)
    measured(full_windows(1, 500, 2), 500, 1.0)  # compiles the loops
    one = comparisons_of_one(settings)
    cores = CORES[:4] if settings.quick else CORES
    shares = {n: balance(n, blocks=BLOCKS * n, window=BLOCKS * n, seed=n) for n in cores}
    lines: dict[str, list[tuple[float, float]]] = {}
    rows = []
    for minutes in WINDOWS:
        measured_rates = {threads: real(settings, minutes, threads) for threads in (1, 2)}
        rates = {n: simulated(one, n, shares[n], minutes) for n in cores}
        lines[f"{minutes} min, threads"] = [(n, rate**2 / 1e6) for n, rate in measured_rates.items()]
        lines[f"{minutes} min, simulated"] = [(n, rate**2 / 1e6) for n, rate in rates.items()]
        for n in cores:
            found = f"{measured_rates[n]:,.0f}" if n in measured_rates else ""
            paper = f"{PAPER[n]:,}" if minutes == WINDOWS[-1] and n in PAPER else ""
            rows.append([minutes, n, found, f"{rates[n]:,.0f}", f"{shares[n].busiest_over_mean:.2f}", paper])
    headers = ("minutes", "cores", "threads: rows/s", "simulated: rows/s", "busiest over mean", "paper")
    table("the highest rate of each stream", headers, rows)
    save([Panel("Figure 16: scaling", "cores", "(1,000 rows/s of each stream) squared", lines)])


if __name__ == "__main__":
    main()
