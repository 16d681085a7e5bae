"""Running plans: pick the engine, take what it gives, and report what was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pyarrow as pa

from windrow.engines.base import check_engine, check_kind, engine_named, home_of
from windrow.engines.run import Receiver, Requests, Run, tagged, untagged
from windrow.errors import ConfigurationError
from windrow.events import is_heard
from windrow.physical.costs import Statistics, calibrated
from windrow.physical.explain.compression import keeps_rows
from windrow.physical.explain.plans import explain
from windrow.plan.checks.nodes import gives_early, shape_of
from windrow.plan.nodes import Node, OrderedOutput, WindowAggregate, walk
from windrow.plan.types.kinds import in_order
from windrow.query.late_rows import warn_of_lost_rows
from windrow.query.lost_datagrams import warn_of_lost_datagrams
from windrow.query.places import refuse_overwriting

if TYPE_CHECKING:
    from windrow.operations.attendance import Attendance
    from windrow.pipeline.metrics import Metrics
    from windrow.sources.base import Source

Item = TypeVar("Item")
OnProgress: TypeAlias = "Callable[[Metrics], None]"
LOCALHOST = "127.0.0.1"


@dataclass(frozen=True)
class Result:
    """A finished run: the answer, the late rows (under LATE SIDE) and what was counted on the way."""

    table: pa.Table
    late: pa.Table
    metrics: Metrics


def begin(
    plans: Sequence[Node],
    sources: Sequence[Mapping[str, Source]],
    item: Callable[[int, pa.RecordBatch], Item],
    *,
    engine: str | None = None,
    into: Receiver | None = None,
    follow: bool = False,
    keep_late: bool = True,
    on_progress: Callable[[Metrics], None] | None = None,
    inner: Mapping[str, Any] | None = None,
    metrics_port: int | None = None,
    attendance: Attendance | None = None,
    **options: Any,
) -> Run[Item]:
    """Run plans, each over its own sources, as `Engine.start` does; who waits for the end is warned of lost rows.

    Without an engine, queries over DataFrames of Spark run there, all others here; `inner` options are no user's.
    """
    named = [one for own in sources for one in own.items()]
    chosen = engine_named(home_of(source for _, source in named) if engine is None else engine)
    host = options.pop("metrics_host", LOCALHOST)
    settings = replace(chosen.options_of(options), **(inner or {}))
    refuse_overwriting(named, options)
    if attendance is None and (metrics_port is not None or is_heard()):
        attendance = _attendance(plans, dict(named), chosen.name, options, follow)
    with nullcontext() if attendance is None else attendance.serving(host, metrics_port) as served:
        run = chosen.start(
            plans,
            sources,
            settings,
            item,
            into=into,
            follow=follow,
            keep_late=keep_late,
            on_progress=_both(on_progress, attendance),
            on_end=partial(_warn, plans),
            attended=attendance,
        )
        return run if served is None else run.served(*served)


def _attendance(
    plans: Sequence[Node], sources: Mapping[str, Source], engine: str, options: Mapping[str, Any], follow: bool
) -> Attendance:
    from windrow.operations.attendance import attend

    return attend(plans, Requests(follow=follow), engine=engine, sources=sources, options=options)


def _both(on_progress: OnProgress | None, attendance: Attendance | None) -> OnProgress | None:
    """Progress is reported to whoever asked for it, and to who attends."""
    if on_progress is not None and not callable(on_progress):
        raise ConfigurationError("must be a function", parameter="on_progress", value=on_progress)
    if attendance is None:
        return on_progress
    attends = attendance.on_progress
    if on_progress is None:
        return attends

    def tell(metrics: Metrics) -> None:
        attends(metrics)
        on_progress(metrics)

    return tell


def _warn(plans: Sequence[Node], each: Sequence[Metrics]) -> None:
    warn_of_lost_rows(plans, each)
    warn_of_lost_datagrams(each)


def gather(
    plans: Sequence[Node], sources: Sequence[Mapping[str, Source]], **options: Any
) -> tuple[tuple[Result, ...], Metrics]:
    """Run plans to their end and keep everything: what each gave, and the metrics of all."""
    answers: list[list[pa.RecordBatch]] = [[] for _ in plans]
    late: list[list[pa.RecordBatch]] = [[] for _ in plans]
    into = Receiver(lambda query, batch: answers[query].append(batch), lambda query, batch: late[query].append(batch))
    run = begin(plans, sources, tagged, into=into, **options)
    metrics = run.wait()
    return tuple(map(_gathered, plans, answers, late, run.each)), metrics


def _gathered(plan: Node, answers: list[pa.RecordBatch], late: list[pa.RecordBatch], metrics: Metrics) -> Result:
    """All that a plan gave: the answer sorted by time and then by its columns from left to right.

    Early results, and what takes them back, stay in the order in which they came, and so does ordered output.
    """
    from windrow.operators.late.judging import late_columns

    shape = shape_of(plan)
    table = pa.Table.from_batches(answers, shape.answer)
    aside = pa.Table.from_batches(late, late[0].schema if late else late_columns(plan))
    settled = gives_early(plan) or isinstance(plan, OrderedOutput)
    table = table if settled else in_order(table, shape.time)
    return Result(pa.Table.from_arrays(table.columns, schema=shape.bounded_answer), aside, metrics)


def batches(plan: Node, sources: Mapping[str, Source], **options: Any) -> Iterator[pa.RecordBatch]:
    """The result batches one by one as windows close, until their reader stops; late rows are let go."""
    with begin([plan], [sources], untagged, follow=True, keep_late=False, **options) as run:
        yield from run


def _kept_rows(plan: Node, sources: Mapping[str, Source]) -> list[str]:
    """What rows that are kept would take, by the first rows of streams that are there to be read."""
    if not any(isinstance(node, WindowAggregate) and keeps_rows(node) for node in walk(plan)):
        return []
    from windrow.engines.local.kept_sample import describe_kept

    return [f"- {line}" for line in describe_kept(plan, sources)]


def explain_on(
    plan: Node, sources: Mapping[str, Source], engine: str | None, statistics: Statistics | None = None
) -> str:
    """The plan as text; on Spark, or in hardware, a section follows on how it runs there."""
    engine = home_of(sources.values()) if engine is None else engine
    check_engine(engine)
    check_kind("statistics", "Statistics", statistics)
    text = explain(plan) if statistics is None else explain(plan, statistics, calibrated())
    kept = _kept_rows(plan, sources) if engine != "hardware" else []
    text = "\n".join([text, *(["", "Kept rows", *kept] if kept else [])])
    if engine == "hardware":
        from windrow.engines.hardware.explain import explain_circuit

        return f"{text}\n\n{explain_circuit(plan)}"
    if engine != "spark":
        return text
    from windrow.engines.spark.query.explain import explain_spread

    return f"{text}\n\n{explain_spread(plan, sources)}"
