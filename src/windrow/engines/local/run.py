"""Run plans to the end of their sources."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa

from windrow.engines.accounts import (
    late_and_filtered,
    open_windows,
    rows_stored,
    state_bytes,
    strategies,
    waiting_and_evicted,
)
from windrow.engines.build import How, build
from windrow.engines.checkpoint_lock import CheckpointLock
from windrow.engines.local.checkpoint import Checkpoints
from windrow.engines.local.ledger import LATE, RESULTS, Ledger, kind_of
from windrow.engines.local.passes import passes, reading_order
from windrow.engines.local.reading import Reader, interleaved, read_ahead
from windrow.engines.metrics import Metrics, SourceMetrics, known, percentile, slowest
from windrow.engines.pipeline import Deliver, End, Stage
from windrow.errors import ConfigurationError
from windrow.operators.base import Batch
from windrow.operators.progress import Input
from windrow.operators.smoothing import EAGER, Flush, flush_of
from windrow.plan.calibration import calibrated
from windrow.plan.columns import columns_read, prune_together
from windrow.plan.costs import Statistics
from windrow.plan.nodes import Node
from windrow.semantics.progress import END, START, Punctuation
from windrow.sources.base import Source

_PROGRESS_EVERY = 0.2


@dataclass(frozen=True)
class Options:
    """How to run: threads, rows a batch, where and how often (in rows) to write checkpoints.

    Statistics of the stream, where given, choose the strategy; else its first rows do. `flush` says when closed windows
    are given: "eager", at once; "slow", those of `flush_rows` groups after each batch; "lazy", the same, but only in
    the last of `flush_windows` windows by which results may be behind. `flush_cells` is the size of the low level's
    table.
    """

    threads: int = 1
    batch_rows: int = 1 << 19
    checkpoint: str | None = None
    checkpoint_every: int | None = None
    restore: bool = False
    statistics: Statistics | None = None
    flush: str = EAGER.when.value
    flush_rows: int = Flush.rows
    flush_windows: int = Flush.windows
    flush_cells: int = Flush.cells

    def check(self) -> None:
        _flush(self)
        for name in ("threads", "batch_rows", "checkpoint_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError("must be at least 1", parameter=name, value=value)
        if (self.checkpoint_every or self.restore) and not self.checkpoint:
            raise ConfigurationError(
                "needs a folder",
                parameter="checkpoint",
                hint="give checkpoint='folder' with checkpoint_every or restore",
            )


class Runner:
    """One pass over the sources of one plan, or of several that share them."""

    def __init__(self, plans: Node | Sequence[Node], sources: Mapping[str, Source], options: Options) -> None:
        options.check()
        self.plans = list(plans) if isinstance(plans, Sequence) else [plans]
        self.options = options
        how = How(options.threads, options.statistics, calibrated(), trial=True, flush=_flush(options))
        self.pipeline = build(*prune_together(self.plans), how=how)
        columns = columns_read(*self.plans)
        self.sources = {name: _narrowed(_find(sources, name), columns[name]) for name in reading_order(self.plans)}
        self.read = dict.fromkeys(self.sources, 0)
        self.latencies: list[float] = []
        self.longest_stall = 0.0
        self.started = time.perf_counter()
        self.checkpoints = Checkpoints(options.checkpoint, self.plans) if options.checkpoint else None
        if self.checkpoints is not None and options.restore:
            self.read.update(self.checkpoints.restore(self.pipeline))
        elif self.checkpoints is not None:
            self.checkpoints.begin()

    def deliver(self, on_result: Deliver, on_late: Deliver | None, place: int = 0) -> None:
        """Where results and late rows of a query go; after a restore, what was given before comes first."""
        end = self.pipeline.ends[place]
        end.on_result = self._noted(kind_of(RESULTS, place), on_result)
        end.on_late = self._noted(kind_of(LATE, place), on_late or (lambda _: None))

    def _noted(self, kind: str, deliver: Deliver) -> Deliver:
        if self.checkpoints is None:
            return deliver
        for batch in self.checkpoints.replay(kind):
            deliver(batch)
        return _noting(self.checkpoints.ledger, kind, deliver)

    def run(self, on_progress: Callable[[Metrics], None] | None = None) -> Metrics:
        told = saved = 0.0
        for name, element in self._elements():
            self.feed(name, element)
            now = time.perf_counter()
            if on_progress is not None and now - told >= _PROGRESS_EVERY:
                on_progress(self.metrics())
                told = now
            every = self.options.checkpoint_every
            if self.checkpoints is not None and every and sum(self.read.values()) - saved >= every:
                self.save()
                saved = sum(self.read.values())
        if self.checkpoints is not None:
            self.save()
        metrics = self.metrics()
        if on_progress is not None:
            on_progress(metrics)
        return metrics

    def save(self) -> None:
        """Write a checkpoint now."""
        assert self.checkpoints is not None
        self.checkpoints.save(self.pipeline, self.read)

    def feed(self, name: str, element: pa.RecordBatch | Punctuation) -> None:
        """One element of one source through the plan."""
        before, results = time.perf_counter(), self.pipeline.results
        if isinstance(element, Punctuation):
            self.pipeline.push(name, element)
        else:
            self.read[name] += len(element)
            self.pipeline.push(name, Batch.unread(element))
        self.pipeline.resume()
        if element != Punctuation(END):
            self.longest_stall = max(self.longest_stall, time.perf_counter() - before)
        if self.pipeline.results > results and isinstance(element, Punctuation):
            self.latencies.append(time.perf_counter() - before)

    def _elements(self) -> Iterator[tuple[str, pa.RecordBatch | Punctuation]]:
        """Elements of all sources, each ended by the last punctuation."""
        rows = min(self.options.batch_rows, self.options.checkpoint_every or self.options.batch_rows)
        readers = {}
        for name, source in self.sources.items():
            elements = source.elements(batch_rows=rows, skip_rows=self.read[name])
            ahead = read_ahead(elements) if self.options.threads > 1 else elements
            readers[name] = Reader(ahead, self._input(name))
        return interleaved(readers)

    def _input(self, name: str) -> Input:
        operator = self.pipeline.inputs[name][0].operator
        assert isinstance(operator, Input)
        return operator

    def metrics(self) -> Metrics:
        """Of all queries together: rows are counted once for each query that took them, and once in `sources`."""
        return self._metrics(self.pipeline.ends, self.pipeline.stages)

    def metrics_of(self, end: End) -> Metrics:
        """Of one query; what it shares with others is counted in full."""
        return self._metrics([end], [stage for stage in self.pipeline.stages if end in stage.queries])

    def _metrics(self, ends: Sequence[End], stages: Sequence[Stage]) -> Metrics:
        rows_in = sum(stage.operator.counters.rows_in for end in ends for stage in end.entries)
        late, filtered = (sum(counts) for counts in zip(*map(late_and_filtered, ends), strict=True))
        inputs = [stage.operator for stage in stages if isinstance(stage.operator, Input)]
        waiting, evicted = waiting_and_evicted(stages)
        sources = {o.name: _progress_of(o) for o in inputs}
        return Metrics(
            rows_in=rows_in,
            rows_used=rows_in - late - filtered,
            rows_late=late,
            rows_filtered=filtered,
            results=sum(end.results for end in ends),
            low_watermark=known(min((o.bound for o in inputs), default=START)),
            high_watermark=known(max((o.high for o in inputs), default=START)),
            open_windows=open_windows(stages),
            state_bytes=state_bytes(stages),
            rows_stored=rows_stored(stages),
            latency_p50=percentile(self.latencies, 0.5),
            latency_p99=percentile(self.latencies, 0.99),
            elapsed=time.perf_counter() - self.started,
            sources=sources,
            held_back_by=slowest(sources),
            strategies=strategies(stages),
            longest_stall=self.longest_stall,
            results_waiting=waiting,
            cells_evicted=evicted,
        )


def _flush(options: Options) -> Flush:
    return flush_of(options.flush, options.flush_rows, options.flush_windows, options.flush_cells)


def _progress_of(source: Input) -> SourceMetrics:
    return SourceMetrics(source.counters.rows_in, known(source.high), known(source.bound), source.bound == END)


def _noting(ledger: Ledger, kind: str, deliver: Deliver) -> Deliver:
    def note(batch: pa.RecordBatch) -> None:
        ledger.note(kind, batch)
        deliver(batch)

    return note


def _find(sources: Mapping[str, Source], name: str) -> Source:
    if name not in sources:
        raise ConfigurationError(
            "has no data", parameter=name, hint=f"pass it when you run the query: {name}=table_or_path"
        )
    return sources[name]


def _narrowed(source: Source, columns: list[str]) -> Source:
    return source if columns == source.schema.names else source.select(columns)


def run(
    plan: Node,
    sources: Mapping[str, Source],
    *,
    on_result: Deliver,
    on_late: Deliver | None = None,
    on_progress: Callable[[Metrics], None] | None = None,
    options: Options = Options(),  # noqa: B008 - frozen
) -> Metrics:
    """Run a plan over its sources; results and late rows are handed over as they come."""
    return run_together([plan], sources, [(on_result, on_late)], on_progress=on_progress, options=options)[1]


def run_together(
    plans: Sequence[Node],
    sources: Mapping[str, Source],
    deliveries: Sequence[tuple[Deliver, Deliver | None]],
    *,
    on_progress: Callable[[Metrics], None] | None = None,
    options: Options = Options(),  # noqa: B008 - frozen
) -> tuple[list[Metrics], Metrics]:
    """Run several plans over the sources they share, in as few passes as may be: the metrics of each, and of all."""
    options.check()
    found: dict[int, Metrics] = {}
    whole: list[Metrics] = []
    with CheckpointLock(options.checkpoint) if options.checkpoint else nullcontext():
        for number, places in enumerate(passes(plans)):
            folder = options.checkpoint and (f"{options.checkpoint}/pass-{number}" if number else options.checkpoint)
            runner = Runner([plans[place] for place in places], sources, replace(options, checkpoint=folder))
            for own, place in enumerate(places):
                runner.deliver(*deliveries[place], own)
            whole.append(runner.run(on_progress))
            found.update(zip(places, map(runner.metrics_of, runner.pipeline.ends), strict=True))
    return [found[place] for place in range(len(plans))], reduce(Metrics.plus, whole)
