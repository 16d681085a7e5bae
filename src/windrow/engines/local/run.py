"""Run plans to the end of their sources, in the thread of the caller."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import pyarrow as pa

from windrow.durable.folder_lock import CheckpointLock
from windrow.engines.base import Engine, within
from windrow.engines.local.background import BackgroundWriter
from windrow.engines.local.checkpoint import LATE, RESULTS, Checkpoints, Draft
from windrow.engines.local.options import LocalOptions, seconds_of
from windrow.engines.local.outputs import refuse_held_back
from windrow.engines.local.passes import passes, reading_order, shortest_silence
from windrow.engines.local.reading import Clock, ReadAheadReader, Reading, interleaved
from windrow.engines.local.reporting import Reporter, awaited
from windrow.engines.local.schedule import Schedule
from windrow.engines.run import Outcome, Receiver, Requests
from windrow.errors import ConfigurationError
from windrow.operators.base import Batch
from windrow.operators.input.input import Input
from windrow.physical.costs import calibrated
from windrow.physical.how import How, flush_of
from windrow.pipeline.build import build
from windrow.pipeline.graph import (
    Deliver,
    End,
    Stage,
    account_of,
    kept_by,
    lost_rows,
    progress_of,
    state_bytes,
    waiting_and_evicted,
)
from windrow.pipeline.memory import bytes_of, limit, refuse_plain_rows
from windrow.pipeline.metrics import Metrics, known, percentiles, slowest
from windrow.plan.columns import columns_read, prune_together
from windrow.plan.nodes import Node
from windrow.semantics.progress.policies import END, START, Punctuation
from windrow.sources.base import TICK_SECONDS, Delivery, Given, Source, lost_by
from windrow.sources.rejects import Rejects

LATENCIES = 1 << 14
"""Of how many punctuations the latencies are kept: a run may last for weeks."""
_USUAL = LocalOptions()


class Runner:
    """One pass over the sources of one plan, or of several that share them."""

    def __init__(
        self,
        plans: Node | Sequence[Node],
        sources: Mapping[str, Source],
        options: LocalOptions,
        requests: Requests | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        """`clock` is what idle times by the clock go by."""
        options.check()
        self.requests = requests or Requests()
        self.plans = list(plans) if isinstance(plans, Sequence) else [plans]
        self.options = options
        self.checkpoints = Checkpoints(options.checkpoint, self.plans) if options.checkpoint else None
        self.writer = BackgroundWriter(self.checkpoints) if self.checkpoints is not None else None
        self.schedule = Schedule.of(options.checkpoint_every)
        self.pipeline = build(*prune_together(self.plans), how=self._how(options))
        if options.memory is not None:
            refuse_plain_rows(self.plans)
            limit(self.pipeline.stages, bytes_of(options.memory))
        self.pipeline.go_by(clock)
        columns = columns_read(*self.plans)
        self.sources = {name: _narrowed(sources[name], columns[name]) for name in reading_order(self.plans)}
        self.read = dict.fromkeys(self.sources, 0)
        self.rejected = dict.fromkeys(self.sources, 0)
        self.on_reject: Deliver | None = None
        self.latencies: deque[float] = deque(maxlen=LATENCIES)
        self.longest_stall = 0.0
        self.started = time.perf_counter()
        positions: dict[str, Any] = {}
        if self.checkpoints is not None and options.restore:
            read, positions = self.checkpoints.restore(self.pipeline)
            self.read.update(read)
            self.rejected.update({name: place.get("rejected", 0) for name, place in positions.items()})
        elif self.checkpoints is not None:
            self.checkpoints.begin()
        self.schedule.note(sum(self.read.values()), self.pipeline.results)
        self.readings = {name: self._reading(name, positions.get(name, {}), clock) for name in self.sources}

    def _how(self, options: LocalOptions) -> How:
        """Groups are divided among as many shards as there are threads, or as there were when state was saved."""
        found = self.checkpoints.look() if self.checkpoints is not None and options.restore else None
        shards = options.threads if found is None else found
        if self.checkpoints is not None:
            self.checkpoints.shards = shards
        return How(
            options.threads,
            options.statistics,
            calibrated(),
            trial=shards == 1,
            flush=flush_of(options),
            shards=shards,
        )

    def deliver(self, on_result: Deliver, on_late: Deliver | None, place: int = 0) -> None:
        """Where results and late rows of a query go; after a restore, what was given before comes first.

        Not so of streams that never end, where outputs keep their own places.
        """
        end, suffix = self.pipeline.ends[place], f".{place}" if place else ""
        end.on_result = self._noted(RESULTS + suffix, on_result)
        end.on_late = self._noted(LATE + suffix, on_late or (lambda _: None))

    def _noted(self, kind: str, deliver: Deliver) -> Deliver:
        if self.checkpoints is None or any(source.is_endless for source in self.sources.values()):
            return deliver
        for batch in self.checkpoints.replay(kind):
            deliver(batch)
        ledger = self.checkpoints.ledger

        def note(batch: pa.RecordBatch) -> None:
            ledger.note(kind, batch)
            deliver(batch)

        return note

    def deliver_all(self, receiver: Receiver) -> Metrics:
        """Run to the end; everything goes where it is wanted."""
        try:
            self._begin(receiver)
        except BaseException:  # nobody reads, and what was opened would stay open
            for reading in self.readings.values():
                reading.reader.close()
            raise
        return self.run(receiver.on_progress, receiver.on_each)

    def _begin(self, receiver: Receiver) -> None:
        """Say where everything goes, and give what was given before."""
        on_late = receiver.on_late
        self.on_reject = receiver.on_reject
        if self.requests.follow and not self.options.checkpoint_every:
            refuse_held_back(receiver.sinks)
        if self.checkpoints is not None and receiver.sinks:
            self.checkpoints.go_on(receiver.sinks)
            if self.checkpoints.last is None:  # so that what is given before the first one can be taken back, too
                self.save()
        for query in range(len(self.plans)):
            self.deliver(partial(receiver.on_result, query), on_late and partial(on_late, query), query)

    def run(
        self,
        on_progress: Callable[[Metrics], None] | None = None,
        on_each: Callable[[int, Metrics], None] | None = None,
    ) -> Metrics:
        """To the end of the sources, or until the run is to be left; then a last checkpoint is written, too."""
        reporter = Reporter(self, on_progress, on_each)
        if on_progress is not None and self.options.threads == 1:  # with more, others wait for the sources
            self.requests.on_idle = reporter.look
        try:
            with closing(self._elements(reporter)) as elements:  # so that what reads ahead stops when a run breaks off
                self._feed_all(elements, reporter)
                if self.writer is not None:
                    self.save()
        finally:
            if self.writer is not None:
                self.writer.wait()
        return reporter.tell()

    def _feed_all(
        self,
        elements: Iterable[tuple[str, Given]],
        reporter: Reporter,
    ) -> None:
        for name, element in elements:
            self.requests.heed()
            before = time.perf_counter()
            self.feed(name, element)
            if self._save_if_due():  # what comes next waits for the element and for what is taken of the state
                self.longest_stall = max(self.longest_stall, time.perf_counter() - before)
            self.requests.pulse.work()
            reporter.look()
            if self.requests.leaves():
                return

    def _save_if_due(self) -> bool:
        """Begin to write a checkpoint when it is time for one; whether one was taken."""
        if self.writer is None:
            return False
        self.writer.heed()
        rows = sum(self.read.values())
        if not self.schedule.is_due(rows, self.pipeline.results) or not self.writer.offer(self._taken):
            return False
        self.schedule.note(rows, self.pipeline.results)
        return True

    def _taken(self) -> Draft:
        assert self.checkpoints is not None
        positions = {
            name: {**reading.position, "rejected": self.rejected[name]} for name, reading in self.readings.items()
        }
        return self.checkpoints.take(self.pipeline, self.read, positions)

    def save(self) -> None:
        """Write a checkpoint now, and wait until it counts."""
        assert self.writer is not None
        self.writer.settle()
        self.writer.offer(self._taken)
        self.writer.settle()

    def feed(self, name: str, element: Given) -> None:
        """One element of one source through the plan."""
        before = time.perf_counter()
        if isinstance(element, Rejects):
            self.rejected[name] += len(element)
            if self.on_reject is not None:
                self.on_reject(element.batch)
            return
        if not isinstance(element, Punctuation):
            self.read[name] += len(element)
            self.pipeline.push(name, Batch.unread(element))
            self.pipeline.resume()
            self.longest_stall = max(self.longest_stall, time.perf_counter() - before)
            return
        results = self.pipeline.results
        self.pipeline.push(name, element)
        self.pipeline.resume()
        taken = time.perf_counter() - before
        if element.value != END or element.group is not None:
            self.longest_stall = max(self.longest_stall, taken)
        if self.pipeline.results > results:
            self.latencies.append(taken)

    def _elements(self, reporter: Reporter | None = None) -> Generator[tuple[str, Given], None, None]:
        """Elements of all sources, each ended by the last punctuation; time passes while none comes."""
        is_told = reporter is not None and reporter.on_progress is not None
        is_timed = any(reading.silence is not None for reading in self.readings.values())
        is_timed |= self.writer is not None and self.schedule.seconds is not None
        is_timed |= self.checkpoints is not None and bool(self.checkpoints.outputs.sinks)  # to give what they kept back
        is_live = is_told and any(source.is_live for source in self.sources.values())

        def tick() -> bool:
            self.pipeline.pass_time()
            self._save_if_due()
            self.requests.pulse.tick(awaited(self.readings))
            self.requests.heed()
            if reporter is not None:
                reporter.look()
            return self.requests.leaves()

        return interleaved(self.readings, TICK_SECONDS if is_timed or is_live else None, tick)

    def _reading(self, name: str, position: Mapping[str, Any], clock: Clock) -> Reading:
        """The reading of a source, from where it was when the checkpoint was written."""
        rows = min(self.options.batch_rows, self.schedule.rows or self.options.batch_rows)
        wait = seconds_of(self.options.batch_wait)
        reader = self.sources[name].open(position.get("at"), batch_rows=rows, batch_wait=wait)
        tick = TICK_SECONDS if self.sources[name].is_endless else None
        ahead = ReadAheadReader(reader, tick=tick) if self.options.threads > 1 else reader
        stage, silence = self.pipeline.inputs[name][0].operator, shortest_silence(self.plans, name)
        assert isinstance(stage, Input)
        is_gone = self.sources[name].delivery is Delivery.AT_MOST_ONCE  # then no row behind the place comes again
        return Reading(ahead, stage, done=0 if is_gone else position.get("done", 0), silence=silence, clock=clock)

    def metrics(self) -> Metrics:
        """Of all queries together: rows are counted once for each query that took them, and once in `sources`."""
        return self._metrics(self.pipeline.ends, self.pipeline.stages)

    def metrics_of(self, end: End) -> Metrics:
        """Of one query; what it shares with others is counted in full."""
        return self._metrics([end], [stage for stage in self.pipeline.stages if end in stage.queries])

    def _metrics(self, ends: Sequence[End], stages: Sequence[Stage]) -> Metrics:
        accounts = [account_of(end, sum(stage.operator.counters.rows_in for stage in end.entries)) for end in ends]
        inputs = [stage.operator for stage in stages if isinstance(stage.operator, Input)]
        waiting, evicted = waiting_and_evicted(stages)
        kept = kept_by(stages)
        sources = {o.name: replace(progress_of(o), **self._missed(o.name)) for o in inputs}
        return Metrics(
            rows_in=sum(account.rows_in for account in accounts),
            rows_used=sum(account.used for account in accounts),
            rows_late=sum(account.late for account in accounts),
            rows_filtered=sum(account.filtered for account in accounts),
            rows_early=sum(account.early for account in accounts),
            rows_lost=sum(map(lost_rows, ends)),
            rows_rejected=sum(source.rejected for source in sources.values()),
            results=sum(end.results for end in ends),
            low_watermark=known(min((o.bound for o in inputs), default=START)),
            high_watermark=known(max((o.high for o in inputs), default=START)),
            open_windows=sum(stage.operator.open_windows for stage in stages),
            state_bytes=state_bytes(stages),
            rows_kept=kept.rows,
            raw_bytes=kept.raw_bytes,
            kept_bytes=kept.bytes,
            spilled_bytes=kept.spilled_bytes,
            spilled_so_far=kept.written,
            cache_hits=kept.hits,
            cache_misses=kept.misses,
            kept_ratios=kept.ratios,
            rows_stored=sum(stage.operator.stored_rows for stage in stages),
            latency_p50=percentiles(self.latencies, 0.5)[0],
            latency_p99=percentiles(self.latencies, 0.99)[0],
            elapsed=time.perf_counter() - self.started,
            sources=sources,
            held_back_by=slowest(sources),
            strategies=[settled for stage in stages if (settled := stage.operator.settled) is not None],
            longest_stall=self.longest_stall,
            results_waiting=waiting,
            cells_evicted=evicted,
            datagrams_lost=sum(source.lost for source in sources.values()),
            **self._checkpoint_metrics(),
        )

    def _missed(self, name: str) -> dict[str, Any]:
        """What a source gave no row for."""
        return {"rejected": self.rejected[name], "lost": lost_by(self.readings[name].reader)}

    def _checkpoint_metrics(self) -> dict[str, Any]:
        """Of the checkpoints that this run wrote."""
        if self.writer is None:
            return {}
        written = self.writer.written
        return {
            "checkpoints": written.count,
            "checkpoints_skipped": written.skipped,
            "checkpoint_seconds": written.seconds,
            "checkpoint_bytes": written.bytes,
        }


def _narrowed(source: Source, columns: list[str]) -> Source:
    return source if columns == source.schema.names else source.select(columns)


def _refuse_second_passes(plans: Sequence[Node], sources: Mapping[str, Source]) -> None:
    endless = next((name for name, source in sources.items() if source.is_endless), None)
    if endless is not None and len(passes(plans)) > 1:
        raise ConfigurationError(
            "is read once, and these queries read their streams in different orders",
            parameter=endless,
            hint="run each query by itself",
        )


def run(
    plans: Sequence[Node],
    sources: Mapping[str, Source],
    receiver: Receiver,
    options: LocalOptions = _USUAL,
    requests: Requests | None = None,
) -> Outcome:
    """Run plans over the sources they share, in as few passes as may be; what they give is handed on as it comes."""
    options.check()
    found: dict[int, Metrics] = {}
    done: list[Metrics] = []
    _refuse_second_passes(plans, sources)
    with CheckpointLock(options.checkpoint) if options.checkpoint else nullcontext():
        for number, places in enumerate(passes(plans)):
            folder = options.checkpoint and (f"{options.checkpoint}/pass-{number}" if number else options.checkpoint)
            runner = Runner([plans[place] for place in places], sources, replace(options, checkpoint=folder), requests)
            done.append(runner.deliver_all(within(receiver, places, done)))
            each = (replace(runner.metrics_of(end), elapsed=done[-1].elapsed) for end in runner.pipeline.ends)
            found.update(zip(places, each, strict=True))
            if runner.requests.left:
                break
    return [found.get(place, Metrics()) for place in range(len(plans))], reduce(Metrics.plus, done)


class LocalEngine(Engine):
    """Pushes elements through the operators in this process."""

    name = "local"
    options = LocalOptions
    run = staticmethod(run)


ENGINE = LocalEngine()
