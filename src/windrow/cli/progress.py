"""How far a run is, on standard error: a live line on a terminal, else a plain line every few seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from windrow.cli.logs import is_logged
from windrow.plan.nodes import Node, WindowAggregate, walk
from windrow.query.late_rows import SQL, sentences, shown_moment
from windrow.query.lost_datagrams import lost_datagrams
from windrow.semantics.progress.policies import END, START
from windrow.semantics.scalars.amounts import Domain
from windrow.semantics.windows.kinds import Sliding

if TYPE_CHECKING:
    from windrow.pipeline.metrics import Metrics
    from windrow.query import Query

PLAIN_SECONDS = 5.0
"""A log that nobody watches wants few lines."""


def describe(metrics: Metrics, domain: Domain, seconds: float) -> str:
    """One line: rows, rate, watermark and who holds it back, open windows, late rows, the last micro-batch."""
    rate = metrics.rows_in / seconds if seconds > 0 else 0.0
    held = f" (held back by {metrics.held_back_by})" if metrics.held_back_by else ""
    ended = metrics.sources and all(source.ended for source in metrics.sources.values())
    low = "the end" if ended else watermark(metrics.low_watermark, domain)
    parts = [
        f"{metrics.rows_in:,} rows",
        f"{short(rate)} rows/s",
        f"watermark {low}{held}",
        f"{metrics.open_windows:,} open windows",
        *([f"{metrics.rows_late:,} late"] if metrics.rows_late else []),
        *([f"{metrics.rows_early:,} early"] if metrics.rows_early else []),
        *([f"micro-batch {metrics.batch_seconds:.2f} s"] if metrics.batch_seconds is not None else []),
    ]
    return ", ".join(parts)


def short(number: float) -> str:
    """A number in three digits.

    >>> short(950), short(12_345), short(2_400_000)
    ('950', '12.3 k', '2.4 M')
    """
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.0f}"


def watermark(value: int | None, domain: Domain) -> str:
    """A watermark in the user's terms; none before the first punctuation."""
    if value is None or value <= START:
        return "none yet"
    if value >= END:
        return "the end"
    return str(value) if domain is Domain.INTEGER else shown_moment(value)


def closing_line(metrics: Metrics) -> str:
    """The account of all rows: none vanishes."""
    rate = metrics.rows_in / metrics.elapsed if metrics.elapsed > 0 else 0.0
    spilled = f"; {short(metrics.spilled_so_far)} bytes of kept rows went to the disk" if metrics.spilled_so_far else ""
    early = f" + early {metrics.rows_early:,}" if metrics.rows_early else ""
    return (
        f"rows in {metrics.rows_in:,} = used {metrics.rows_used:,} + late {metrics.rows_late:,}{early} + filtered "
        f"{metrics.rows_filtered:,}; {metrics.results:,} results in {metrics.elapsed:.2f} s ({short(rate)} rows/s)"
        f"{spilled}"
    )


def warning_lines(queries: Sequence[Query], done: Sequence[Metrics]) -> list[str]:
    """What was lost that nobody chose to lose, and what would have helped: the last lines of a run."""
    lines = []
    for place, (query, metrics) in enumerate(zip(queries, done, strict=True), 1):
        which = f"query {place}: " if len(queries) > 1 else ""
        lost = sentences(query.plan, metrics, SQL) if metrics.rows_lost else []
        lines += [f"warning: {which}{sentence}" for sentence in lost]
    return [*lines, *(f"warning: {sentence}" for sentence in lost_datagrams(done))]


def native_line(plan: Node, metrics: Metrics) -> str | None:
    """What Spark's own sliding window would have done with the same rows, where that differs."""
    windows = [node.window for node in walk(plan) if isinstance(node, WindowAggregate)]
    used = metrics.rows_in - metrics.rows_filtered
    if len(windows) != 1 or not isinstance(windows[0], Sliding) or windows[0].is_tumbling or not used:
        return None
    copies = -(-windows[0].range // windows[0].slide)
    late = metrics.rows_late
    dropped = f" and dropped {late:,} late row{'s' if late > 1 else ''} unseen" if late else ""
    return (
        f"Spark's own window() would have copied each row into {copies:,} windows, {short(used * copies)} rows "
        f"in place of {short(used)}{dropped}; here each row went into one pane"
    )


class Reporting:
    """A report that draws a line on a terminal until someone else writes there.

    From then on, and where nobody watches, it writes a plain line every few seconds.
    """

    def __init__(self, domain: Domain, bar: Any = None, task: int = 0, clock: Callable[[], float] = monotonic) -> None:
        self._domain = domain
        self._bar, self._task = bar, task
        self._clock = clock
        self._started = self._last = clock()

    def __call__(self, metrics: Metrics) -> None:
        now = self._clock()
        if self._bar is None and now - self._last < PLAIN_SECONDS:
            return
        text = describe(metrics, self._domain, now - self._started)
        if self._bar is not None:
            self._bar.update(self._task, completed=metrics.rows_in, description=text)
        else:
            self._last = now
            click.echo(text, err=True)

    def make_way(self) -> None:
        """Someone else is about to write to the terminal."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class _Unheard(Reporting):
    """Where all that is said is events, which have their own."""

    def __call__(self, metrics: Metrics) -> None:
        return


@contextmanager
def reporting(domain: Domain, total_rows: int | None, doing: str = "") -> Iterator[Reporting]:
    """A report for the time of a run; what it drew on a terminal is gone afterwards."""
    if is_logged():
        yield _Unheard(domain)
        return
    if not sys.stderr.isatty():
        yield Reporting(domain)
        return
    with progress_bar(total_rows) as bar:
        yield Reporting(domain, bar, bar.add_task(doing, total=total_rows))


@contextmanager
def stepping(what: str, steps: int) -> Iterator[Callable[[str], None]]:
    """A bar over named steps of a long job; nothing where nobody watches."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with progress_bar(steps) as bar:
        task = bar.add_task(what, total=steps + 1)
        yield lambda name: bar.update(task, advance=1, description=f"{what}: {name}")


def progress_bar(total_rows: int | None) -> Any:
    """A bar on standard error, which is gone when it ends."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    columns = [SpinnerColumn(), TextColumn("{task.description}")]
    timed = [BarColumn(bar_width=24), TimeRemainingColumn()] if total_rows else []
    return Progress(*columns, *timed, console=Console(stderr=True), transient=True, redirect_stdout=False)
