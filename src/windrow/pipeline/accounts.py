"""What became of the rows of a query's sources: late, early, filtered, or used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from windrow.operators.aggregate.last_rows import RowsOperator
from windrow.operators.aggregate.per_row import PerRowOperator
from windrow.operators.aggregate.sessions import SessionOperator
from windrow.operators.aggregate.sliding import WindowOperator
from windrow.operators.baselines.in_order_join import InOrderJoin
from windrow.operators.handshake.operator import HandshakeJoin
from windrow.operators.joins.asof import AsOfJoin
from windrow.operators.joins.operator import JoinOperator
from windrow.pipeline.graph import End, Stage
from windrow.semantics.progress.lateness import Account

WINDOWS = (WindowOperator, SessionOperator, PerRowOperator, RowsOperator)
JOINS = (JoinOperator, HandshakeJoin, AsOfJoin, InOrderJoin)


def account_of(end: End, rows: int) -> Account:
    """What became of so many rows of a query's sources; results of inner windows are not counted here."""
    ports = {port for entry in end.entries for port in _first_ports(entry, end)}  # those of a union once
    joins = [(stage.operator, port) for stage, port in ports if isinstance(stage.operator, JOINS)]
    stages = {stage for stage, _ in ports if not isinstance(stage.operator, JOINS)}
    counters = [stage.operator.counters for stage in stages]
    late = sum(c.late for c in counters) + sum(join.gate.late[port] for join, port in joins)
    filtered = sum(c.filtered for c in counters)
    early = end.early + sum(stage.operator.counters.early for stage in {stage for stage, _ in ports})
    return Account(rows - late - filtered - early, late, filtered, early)


def lost_rows(end: End) -> int:
    """Rows of a query's sources that were late or early where nobody chose what becomes of them."""
    ports = {port for entry in end.entries for port in _first_ports(entry, end)}
    late = sum(_lost(stage, port) for stage, port in ports if stage in end.unasked)
    early = sum(stage.operator.counters.early for stage in {stage for stage, _ in ports} if stage in end.unasked)
    return late + early + end.early


def _lost(stage: Stage, port: int) -> int:
    operator = stage.operator
    if isinstance(operator, JOINS):
        return operator.gate.late[port]
    corrects = isinstance(operator, WindowOperator) and operator.revisions is not None
    return operator.counters.uncorrected if corrects else operator.counters.late


def _first_ports(stage: Stage, end: End) -> Iterator[tuple[Stage, int]]:
    """The stages of a query that rows of a source themselves come to, and where they come in."""
    for above, port in stage.after:
        if end in above.queries:
            yield above, port
            if not isinstance(above.operator, (*WINDOWS, *JOINS)):
                yield from _first_ports(above, end)


def open_windows(stages: Iterable[Stage]) -> int:
    operators = [stage.operator for stage in stages]
    return sum(operator.open_windows for operator in operators if isinstance(operator, WINDOWS))


def state_bytes(stages: Iterable[Stage]) -> int:
    return sum(getattr(stage.operator, "state_bytes", 0) for stage in stages)


def rows_stored(stages: Iterable[Stage]) -> int:
    """Rows that joins keep for those that may still meet them."""
    return sum(stage.operator.stored_rows for stage in stages if isinstance(stage.operator, JOINS))


def strategies(stages: Iterable[Stage]) -> list[list[str]]:
    """For each window aggregate whose algorithm is settled, top down: its strategy, and the reasons for it."""
    found = [stage.operator for stage in stages if isinstance(stage.operator, WindowOperator)]
    return [o.algorithm.to_json() for o in found if o.algorithm.trial is None]


def waiting_and_evicted(stages: Iterable[Stage]) -> tuple[int, int]:
    """Cells of closed windows not given yet, and cells that others drove out of the low level's table."""
    operators = [stage.operator for stage in stages if isinstance(stage.operator, WindowOperator)]
    smooth = [o.smoothing.windower for o in operators if o.smoothing is not None]
    return sum(windower.waiting for windower in smooth), sum(windower.low.collisions for windower in smooth)
