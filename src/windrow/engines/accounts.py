"""What became of the rows of a query's sources: late, filtered, or used."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.engines.build import Pipeline, Stage
from windrow.operators.per_row_aggregate import PerRowOperator
from windrow.operators.rows_aggregate import RowsOperator
from windrow.operators.session_aggregate import SessionOperator
from windrow.operators.window_aggregate import WindowOperator

WINDOWS = (WindowOperator, SessionOperator, PerRowOperator, RowsOperator)


def late_and_filtered(pipeline: Pipeline) -> tuple[int, int]:
    """Late and filtered rows of the sources: what happens to results of inner windows is not counted here."""
    counters = {id(stage): stage.operator.counters for stage in _first_stages(pipeline)}  # a union's stages once
    return sum(c.late for c in counters.values()), sum(c.filtered for c in counters.values())


def _first_stages(pipeline: Pipeline) -> Iterator[Stage]:
    """The stages that rows of the sources themselves come to, once for each source."""
    for stage in pipeline.entries:
        after = stage.after
        while after is not None:
            yield after
            if isinstance(after.operator, WINDOWS):
                break
            after = after.after


def windows_of(pipeline: Pipeline) -> list[WindowOperator | SessionOperator | PerRowOperator | RowsOperator]:
    operators = [stage.operator for stage in pipeline.stages]
    return [operator for operator in operators if isinstance(operator, WINDOWS)]


def open_windows(pipeline: Pipeline) -> int:
    return sum(operator.open_windows for operator in windows_of(pipeline))


def state_bytes(pipeline: Pipeline) -> int:
    return sum(getattr(stage.operator, "state_bytes", 0) for stage in pipeline.stages)


def strategies(pipeline: Pipeline) -> list[list[str]]:
    """For each window aggregate whose algorithm is settled, top down: its strategy, and the reasons for it."""
    found = [operator for operator in windows_of(pipeline) if isinstance(operator, WindowOperator)]
    return [o.algorithm.to_json() for o in found if o.algorithm.trial is None]


def waiting_and_evicted(pipeline: Pipeline) -> tuple[int, int]:
    """Cells of closed windows not given yet, and cells that others drove out of the low level's table."""
    operators = [stage.operator for stage in pipeline.stages if isinstance(stage.operator, WindowOperator)]
    smooth = [o.smoothing.windower for o in operators if o.smoothing is not None]
    return sum(windower.waiting for windower in smooth), sum(windower.low.collisions for windower in smooth)
