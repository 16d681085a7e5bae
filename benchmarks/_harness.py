"""What every benchmark shares: timing side by side, the machine's line, tables, bars."""

from __future__ import annotations

import argparse
import gc
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import windrow

Work = Callable[[], object]
PACKAGES = ("numpy", "numba", "pyarrow", "duckdb", "polars", "windrow")


@dataclass(frozen=True)
class Spread:
    """Least, middle and greatest seconds over the repeats."""

    low: float
    median: float
    high: float

    @staticmethod
    def of(seconds: Sequence[float]) -> Spread:
        return Spread(min(seconds), statistics.median(seconds), max(seconds))

    def __str__(self) -> str:
        return f"{duration(self.median)} ({duration(self.low)}..{duration(self.high)})"

    def rate(self, rows: int) -> str:
        """Rows a second: median, and in brackets the slowest and the fastest repeat."""
        return f"{amount(rows / self.median)} ({amount(rows / self.high)}..{amount(rows / self.low)})"


def duration(seconds: float) -> str:
    """Seconds in the unit that reads best.

    >>> duration(0.00042), duration(1.5)
    ('420 us', '1.5 s')
    """
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def amount(number: float) -> str:
    """A large number in three digits.

    >>> amount(2_345_678), amount(812)
    ('2.35 M', '812')
    """
    for factor, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= factor:
            return f"{number / factor:.3g}{unit}"
    return f"{number:.3g}"


def side_by_side(
    works: Mapping[str, Work], repeats: int = 5, same: Callable[[list[Any]], bool] | None = None
) -> dict[str, Spread]:
    """Seconds of each work: one warm-up, then rounds in which every work runs once, so that noise hits them all.

    `same` judges the answers of the warm-up: figures of works that do not agree would mean nothing.
    """
    answers = [work() for work in works.values()]
    if same is not None and not same(answers):
        raise SystemExit(f"the answers of {', '.join(works)} differ")
    del answers
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            seconds[name].append(timed(work))
    return {name: Spread.of(taken) for name, taken in seconds.items()}


def timed(work: Work) -> float:
    """Seconds of one call, without the cost of garbage made before."""
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def verdict(value: float, bar: float, *, at_most: bool = False) -> str:
    """`met` or `not met`."""
    return "met" if (value <= bar if at_most else value >= bar) else "not met"


@dataclass(frozen=True)
class Settings:
    """What the command line asked for."""

    quick: bool

    @property
    def repeats(self) -> int:
        return 2 if self.quick else 5

    def rows(self, full: int) -> int:
        """The rows of a workload, a tenth of them for a quick check."""
        return full // 10 if self.quick else full


def begin(about: str | None) -> Settings:
    """Read the command line and print what the figures depend on."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, fewer repeats: figures mean little")
    settings = Settings(parser.parse_args().quick)
    title = (about or "").strip().splitlines()
    print(title[0] if title else "")
    print(machine())
    return settings


def machine() -> str:
    """Processor, cores, versions and commit in one line."""
    found = [f"python {platform.python_version()}", *filter(None, map(_installed, PACKAGES))]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {cores} cores; {', '.join(found)}; commit {_commit()}"


def _installed(package: str) -> str | None:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:  # run from the source tree, or one that is not compared
        return f"windrow {windrow.__version__}" if package == "windrow" else None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _commit() -> str:
    """The commit that is checked out; files may have changed since."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=12", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def table(title: str, headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table: framed on a terminal, plain aligned text elsewhere."""
    texts = [[str(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _framed(title, headers, texts)
    else:
        print(f"\n{title}")
        print(aligned([list(headers), *texts]))
    sys.stdout.flush()


def _framed(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    framed = Table(title=title, title_justify="left")
    for place, header in enumerate(headers):
        framed.add_column(header, justify="right" if place else "left")
    for row in rows:
        framed.add_row(*row)
    Console().print(framed)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text in columns: the first to the left, the others to the right.

    >>> print(aligned([["a", "b"], ["long", "12"]]))
    a      b
    long  12
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        first, *others = (
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    return "\n".join(lines)


def ratios(spreads: Mapping[str, Spread], ours: str) -> dict[str, str]:
    """How many times as long as `ours` each took; above 1 means `ours` is faster."""
    return {name: f"{spread.median / spreads[ours].median:.2f}x" for name, spread in spreads.items()}
