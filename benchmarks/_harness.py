"""What every benchmark shares: the command line, timing side by side, tables, bars, and the history of its figures."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

from _figures import Figure, Spread
from _history import HEADERS, History, changes
from _machine import paces, this_machine

Work = Callable[[], object]
Found = TypeVar("Found")
ROOT = Path(__file__).parents[1]
KEPT = ROOT / "benchmarks" / "history"
QUICK = ROOT / "build" / "bench"
"""Where the figures of quick runs go: they have a history of their own, which is not kept with the sources."""
PACE = "this machine: a million numbers sorted"


# Timing


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


def piece(name: str, work: Callable[[], Found]) -> Found:  # noqa: ARG001  # the name is for `make compare`
    """What a work finds that looks at the clock itself; `make compare` times the whole of it."""
    return work()


def verdict(value: float, bar: float, *, at_most: bool = False) -> str:
    """`met` or `not met`."""
    return "met" if (value <= bar if at_most else value >= bar) else "not met"


# A run of a benchmark


@dataclass(frozen=True)
class Settings:
    """What the command line asked for, and the figures reported so far."""

    quick: bool
    only: tuple[str, ...] = ()
    figures: dict[str, Figure] = field(default_factory=dict)

    @property
    def repeats(self) -> int:
        return 2 if self.quick else 5

    def rows(self, full: int) -> int:
        """The rows of a workload, a tenth of them for a quick check."""
        return full // 10 if self.quick else full

    def chosen(self, names: Iterable[str]) -> list[str]:
        """The cases that `--only` asks for, all of them where it does not."""
        every = list(names)
        wanted = [name for name in every if not self.only or any(word in name for word in self.only)]
        if not wanted:
            raise SystemExit(f"--only names none of: {'; '.join(every)}")
        return wanted

    def report(self, title: str, headers: Sequence[str], rows: Iterable[Sequence[object]], labels: int = 1) -> None:
        """Print a table and note its figures for the history.

        A figure is called after the first cells of its line, so many as there are `labels`, and after its column.
        """
        lines = list(rows)
        for line in lines:
            pairs = list(zip(headers, line, strict=True))
            label = ", ".join(f"{header} {cell}".strip() for header, cell in pairs[:labels])
            for header, cell in pairs[labels:]:
                if isinstance(cell, Figure):
                    self._note(f"{label}: {header}", cell)
        table(title, headers, lines)

    def _note(self, name: str, figure: Figure) -> None:
        if name in self.figures:
            raise ValueError(f"two figures of one run are called {name!r}")
        self.figures[name] = figure


def begin(about: str | None) -> Settings:
    """Read the command line and print what the figures depend on."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, fewer repeats: figures mean little")
    parser.add_argument(
        "--only", action="append", default=[], help="cases whose name has this text, where there are cases"
    )
    asked = parser.parse_args()
    title = (about or "").strip().splitlines()
    print(title[0] if title else "")
    print(this_machine())
    return Settings(asked.quick, tuple(asked.only))


@contextmanager
def benchmark(about: str | None) -> Iterator[Settings]:
    """`begin`; at the end of the block its figures are compared with the last ones and added to the history.

    A run that fails in between adds nothing.
    """
    settings = begin(about)
    settings.figures[PACE] = Spread.of(paces()).time()
    yield settings
    keep(Path(sys.argv[0]).stem, settings.figures, QUICK if settings.quick else KEPT)


def keep(name: str, figures: Mapping[str, Figure], folder: Path) -> None:
    """Print how the figures of a benchmark changed since its last run on this machine, then add them to its history."""
    history = History(folder, this_machine())
    entries, broken = history.read()
    if broken:
        print(f"{history.path}: passed over what is no figure, on line {', '.join(map(str, broken))}", file=sys.stderr)
    last = {entry.name: entry for entry in entries if entry.benchmark == name}
    if last:
        title = f"{name}: change since the last run on this machine, above zero is better"
        table(title, HEADERS, changes(figures, last))
    history.append(name, figures, datetime.now(timezone.utc).isoformat(timespec="seconds"))
    print(f"\n{'added to' if last else 'the first run here, kept in'} {_short(history.path)}: {len(figures)} figures")


def _short(path: Path) -> Path:
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


# Tables


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
