"""Running a plan: pick the engine, gather what it gives, in one order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from queue import Queue
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from windrow.aggregates.kinds.base import value_type
from windrow.errors import ConfigurationError
from windrow.physical.calibration import calibrated
from windrow.physical.planner import decided
from windrow.plan.checks.nodes import check_supported, gives_early, shape_of, walk
from windrow.plan.nodes import Node, OrderedOutput, Stream
from windrow.plan.types.schema import in_order
from windrow.query.late_rows import warn_of_lost_rows
from windrow.query.outputs import refuse_overwriting
from windrow.sinks.base import fitted
from windrow.sources.live import watched

if TYPE_CHECKING:
    from windrow.pipeline.metrics import Metrics
    from windrow.sources.base import Source

OnBatch: TypeAlias = "Callable[[pa.RecordBatch], None]"
OnProgress: TypeAlias = "Callable[[Metrics], None]"

_FLUSH = ("flush", "flush_rows", "flush_windows", "flush_cells")
_BOTH = ("batch_rows", "checkpoint", "restore", "statistics", *_FLUSH)
OPTIONS = {
    "local": ("threads", "checkpoint_every", "batch_wait", *_BOTH),
    "spark": ("shards", "memory", "rate", "spark", "json_lines", *_BOTH),
}
"""The options of a run, by engine."""
ENGINES = tuple(OPTIONS)


@dataclass(frozen=True)
class Result:
    """A finished run: the answer, the late rows (under LATE SIDE) and what was counted on the way."""

    table: pa.Table
    late: pa.Table
    metrics: Metrics


def execute(
    plan: Node,
    sources: Mapping[str, Source],
    on_result: OnBatch,
    *,
    on_late: OnBatch | None = None,
    on_progress: OnProgress | None = None,
    engine: str | None = None,
    until: threading.Event | None = None,
    **options: Any,
) -> Metrics:
    """Run a plan to its end, handing on each result batch as its windows close.

    Without an engine, a query over DataFrames of Spark runs there, any other in this process. With `until`, streams of
    Spark's that have no end are followed until it is set.
    """
    engine = engine_of(sources) if engine is None else engine
    given = [(on_result, on_late)]
    _, metrics = execute_together(
        [plan], sources, given, engine=engine, on_progress=on_progress, until=until, **options
    )
    return metrics


def execute_together(
    plans: Sequence[Node],
    sources: Mapping[str, Source],
    deliveries: Sequence[tuple[OnBatch, OnBatch | None]],
    *,
    engine: str,
    on_progress: OnProgress | None = None,
    until: threading.Event | None = None,
    **options: Any,
) -> tuple[list[Metrics], Metrics]:
    """Run plans over sources they share, handing on what each gives: the metrics of each plan, and of all."""
    for plan in plans:
        check_supported(plan)
    check_options(engine, options)
    if engine == "spark":  # where all micro-batches and shards must choose alike
        statistics = options.pop("statistics", None)
        plans = [decided(plan, statistics, calibrated()) for plan in plans]
        if until is not None:
            endless = any(getattr(source, "is_streaming", False) for source in sources.values())
            options.update(follow=endless, stop=until)
    bound = {name: source for plan in plans for name, source in _bound(plan, sources).items()}
    refuse_overwriting(bound.items(), options)
    run_together, settings = _engine(engine)
    fitting = [
        (_fitted(on_result, shape_of(plan).answer), on_late and _decoded(on_late))
        for plan, (on_result, on_late) in zip(plans, deliveries, strict=True)
    ]
    done: tuple[list[Metrics], Metrics] = run_together(
        plans, bound, fitting, on_progress=on_progress, options=settings(**options)
    )
    return done


def _fitted(deliver: OnBatch, schema: pa.Schema) -> OnBatch:
    return lambda batch: deliver(fitted(batch, schema))


def _decoded(deliver: OnBatch) -> OnBatch:
    return lambda batch: deliver(decoded(batch))


def _engine(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What runs plans, and its options.

    Imported here, because engines bring compiled kernels or a JVM with them.
    """
    if name == "spark":
        from windrow.engines.spark.session.prerequisites import check_packages

        check_packages()
        from windrow.engines.spark.running.run import Options as SparkOptions
        from windrow.engines.spark.running.run import run_together as run_on_spark

        return run_on_spark, SparkOptions
    from windrow.engines.local import Options, run_together

    return run_together, Options


def engine_of(sources: Mapping[str, Source]) -> str:
    """Where a query runs unless its user says: where its data lives."""
    return "spark" if any(getattr(source, "is_frame", False) for source in sources.values()) else "local"


def _bound(plan: Node, sources: Mapping[str, Source]) -> dict[str, Source]:
    names = [node.name for node in walk(plan) if isinstance(node, Stream)]
    for name in names:
        if name not in sources:
            raise ConfigurationError(
                "has no data", parameter=name, hint=f"say FROM 'path' in CREATE STREAM, or give data as {name}=..."
            )
    return {name: sources[name] for name in names}


def check_options(engine: str, options: Mapping[str, Any]) -> None:
    """Refuse an engine there is not, and options it does not have."""
    if engine not in ENGINES:
        raise ConfigurationError("must be a known engine", parameter="engine", value=engine, allowed=ENGINES)
    for name in options:
        if name not in OPTIONS[engine]:
            raise ConfigurationError(
                f"is not an option of a run on the {engine} engine", parameter=name, allowed=OPTIONS[engine]
            )
    threads = options.get("threads", 1)
    if not isinstance(threads, int) or threads < 1:
        raise ConfigurationError("must be a whole number of at least 1", parameter="threads", value=threads)


def gather(plan: Node, sources: Mapping[str, Source], **options: Any) -> Result:
    """Run a plan and keep everything."""
    answers: list[pa.RecordBatch] = []
    late: list[pa.RecordBatch] = []
    metrics = execute(plan, sources, answers.append, on_late=late.append, **options)
    warn_of_lost_rows([plan], [metrics])
    return gathered(plan, answers, late, metrics)


def gathered(plan: Node, answers: list[pa.RecordBatch], late: list[pa.RecordBatch], metrics: Metrics) -> Result:
    """All that a plan gave: the answer sorted by time and then by its columns from left to right.

    Early results, and what takes them back, stay in the order in which they came, and so does ordered output.
    """
    from windrow.operators.late.judging import late_columns

    shape = shape_of(plan)
    table = pa.Table.from_batches(answers, shape.answer)
    aside = pa.Table.from_batches(late, late[0].schema if late else late_columns(plan))
    settled = gives_early(plan) or isinstance(plan, OrderedOutput)
    return Result(table if settled else in_order(table, shape.time), aside, metrics)


def decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with plain values in place of dictionaries."""
    return fitted(batch, pa.schema([(field.name, value_type(field.type)) for field in batch.schema]))


class _Abandoned(Exception):
    """The reader of the batches has gone."""


_DONE = object()


def stream_batches(plan: Node, sources: Mapping[str, Source], **options: Any) -> Iterator[pa.RecordBatch]:
    """The result batches one by one as windows close; the run waits while the reader is busy.

    The engine pushes and the reader pulls, so the run has a thread of its own and at most a few batches wait between
    them. When the reader stops early, the run ends at its next result, or while it waits for a source; on Spark soon.
    A streaming DataFrame has no end, so the batches of a query over one come until the reader stops.
    """
    waiting: Queue[Any] = Queue(maxsize=4)
    abandoned = threading.Event()
    done: list[Metrics] = []

    def look_around() -> bool:
        if abandoned.is_set():
            raise _Abandoned
        return False

    def hand_over(batch: pa.RecordBatch) -> None:
        look_around()
        waiting.put(batch)

    sources = {name: watched(source, look_around) for name, source in sources.items()}

    def work() -> None:
        outcome: Any = _DONE
        try:
            done.append(execute(plan, sources, hand_over, until=abandoned, **options))
        except BaseException as error:
            outcome = error
        waiting.put(outcome)

    worker = threading.Thread(target=work, name="windrow-run", daemon=True)
    worker.start()
    try:
        yield from _received(waiting)
        warn_of_lost_rows([plan], done)
    finally:
        abandoned.set()
        _drain(waiting, worker)


def _received(waiting: Queue[Any]) -> Iterator[pa.RecordBatch]:
    while (item := waiting.get()) is not _DONE:
        if isinstance(item, BaseException):
            raise item
        yield item


def _drain(waiting: Queue[Any], worker: threading.Thread) -> None:
    """Make room until the worker has seen that nobody reads any more."""
    while worker.is_alive():
        while not waiting.empty():
            waiting.get_nowait()
        worker.join(timeout=0.05)
