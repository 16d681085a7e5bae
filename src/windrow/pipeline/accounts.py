"""What became of the rows of a query's sources: late, early, filtered, or used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from windrow.pipeline.graph import End, Stage
from windrow.semantics.progress.lateness import Account


def account_of(end: End, rows: int) -> Account:
    """What became of so many rows of a query's sources; results of inner windows are not counted here."""
    ports = {port for entry in end.entries for port in _first_ports(entry, end)}  # those of a union once
    counters = [stage.operator.counters for stage in {stage for stage, _ in ports}]
    late = sum(stage.operator.late_rows(port) for stage, port in ports)
    filtered = sum(c.filtered for c in counters)
    early = end.early + sum(c.early for c in counters)
    return Account(rows - late - filtered - early, late, filtered, early)


def lost_rows(end: End) -> int:
    """Rows of a query's sources that were late or early where nobody chose what becomes of them."""
    ports = {port for entry in end.entries for port in _first_ports(entry, end) if port[0] in end.unasked}
    late = sum(stage.operator.lost_rows(port) for stage, port in ports)
    early = sum(stage.operator.counters.early for stage in {stage for stage, _ in ports})
    return late + early + end.early


def _first_ports(stage: Stage, end: End) -> Iterator[tuple[Stage, int]]:
    """The stages of a query that rows of a source themselves come to, and where they come in."""
    for above, port in stage.after:
        if end in above.queries:
            yield above, port
            if not above.operator.makes_results:
                yield from _first_ports(above, end)


def open_windows(stages: Iterable[Stage]) -> int:
    return sum(stage.operator.open_windows for stage in stages)


def state_bytes(stages: Iterable[Stage]) -> int:
    return sum(stage.operator.state_bytes for stage in stages)


def rows_stored(stages: Iterable[Stage]) -> int:
    """Rows that joins keep for those that may still meet them."""
    return sum(stage.operator.stored_rows for stage in stages)


def strategies(stages: Iterable[Stage]) -> list[list[str]]:
    """For each window aggregate whose algorithm is settled, top down: its strategy, and the reasons for it."""
    return [settled for stage in stages if (settled := stage.operator.settled) is not None]


def waiting_and_evicted(stages: Iterable[Stage]) -> tuple[int, int]:
    """Cells of closed windows not given yet, and cells that others drove out of the low level's table."""
    waiting = [stage.operator.waiting_and_evicted for stage in stages]
    return sum(cells for cells, _ in waiting), sum(driven_out for _, driven_out in waiting)
