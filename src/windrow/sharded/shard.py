"""One shard: the operators above the shuffle for the groups that live there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.aggregate.early_results import Early
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.aggregate.partials import Partials, SharedCells
from windrow.operators.base import Batch, Counters, EarlyRows, GroupPunctuations
from windrow.operators.input.input import Input
from windrow.operators.input.policy import Disorder, lead_among_rows, slack_of, slack_rows_of
from windrow.operators.input.times import to_units
from windrow.operators.joins.base import AnyJoin
from windrow.operators.kernels.input import span
from windrow.operators.late.judging import below
from windrow.operators.state.changes import Saved, nested, under
from windrow.physical.division.join_routing import Divided, Exchange
from windrow.pipeline.build import connect
from windrow.pipeline.graph import Pipeline, Stage, account_of, kept_by, lost_rows, state_bytes, waiting_and_evicted
from windrow.pipeline.metrics import SourceMetrics, known
from windrow.plan.checks.nodes import gives_early
from windrow.plan.nodes import Stream, WindowAggregate
from windrow.semantics.progress.partitions import partitioned_by
from windrow.semantics.progress.policies import LIMIT, START, Punctuation
from windrow.semantics.windows.kinds import Landmark
from windrow.sharded.chunks import VERSION
from windrow.sharded.partition_tally import unlabelled
from windrow.sharded.pre_aggregate import make_known
from windrow.sharded.signature import signature
from windrow.sharded.task_progress import Progress, Sighting
from windrow.sharded.wire import COUNTS, LATE, REJECTED, RESULT, pack, seal
from windrow.sinks.base import fitted
from windrow.sources.rejects import REJECTS

Merged: TypeAlias = Partials | SharedCells
"""Cells that a window aggregate merges, its own or shared ones."""


@dataclass(frozen=True)
class Outcome:
    """A row that a shard gives: a body of results or late rows, or the counts so far."""

    kind: int
    query: int = 0
    """Which of the queries that run together it is of."""
    time: int | None = None
    body: bytes | None = None
    late: int | None = None
    early: int | None = None
    filtered: int | None = None
    lost: int | None = None
    results: int | None = None
    windows: int | None = None
    bytes: int | None = None
    stored: int | None = None
    waiting: int | None = None
    evicted: int | None = None
    kept: int | None = None
    raw: int | None = None
    held: int | None = None
    hits: int | None = None
    misses: int | None = None
    spilled: int | None = None
    written: int | None = None
    sources: str | None = None


@dataclass
class Taken:
    """Rows or cells of one body, with where they stand among those of the micro-batch."""

    order: list[int]
    place: int
    batches: list[pa.RecordBatch]
    cells: list[Merged]
    is_copy: bool = False


@dataclass(frozen=True)
class Job:
    """What the high level of a query needs to know: a description that travels to the workers."""

    divided: Divided
    shards: tuple[int, ...]
    answer: pa.Schema
    """The columns of the results."""
    late: pa.Schema
    """The columns of the late rows; none when the query gives none."""
    time: str | None
    """The column that results are in order of, if it is one of theirs."""

    @property
    def streams(self) -> list[Stream]:
        return [exchange.stream for exchange in self.divided.exchanges]

    @property
    def signature(self) -> list[str]:
        return signature(self.divided)


class Shard:
    """Takes the bodies of one query, one micro-batch after another, and gives what they complete."""

    def __init__(self, job: Job, number: int, query: int = 0) -> None:
        self.job = job
        self.number = number
        self.query = query
        make_known(job.divided.own)
        self.pipeline: Pipeline = connect((job.divided.high,))
        self.progress = [Progress() for _ in job.streams]
        self.given: list[Outcome] = []
        self.leads = [lead_among_rows(stream) for stream in job.streams]
        """How far rows of each stream may be ahead of its others."""
        self.counts_given = gives_early(job.divided.asked)
        self.steps = 0
        """How many bodies were given, where their order says something."""
        self.pipeline.ends[0].on_result = lambda batch: self._give(RESULT, batch, job.answer)
        self.pipeline.ends[0].on_late = lambda batch: self._give(LATE, batch, job.late)
        self.now = 0.0
        """The time of day at the tasks, for idle times by the clock."""
        self.pipeline.go_by(self._clock)
        for early, _, _ in self._early():
            early.by_row = False
        self._begin()

    def _begin(self) -> None:
        """A micro-batch."""
        self.sightings: list[list[Sighting]] = [[] for _ in self.progress]
        self.promises: list[tuple[int, pa.RecordBatch]] = []
        self.aside: list[tuple[int, pa.RecordBatch, int | None]] = []
        """Rows that a task knew to be too far ahead, and of what if not of the other rows."""
        self.waiting: list[Taken] = []
        """Rows whose order says something, or of which some may be early."""

    def _clock(self) -> float:
        return self.now

    def _give(self, kind: int, batch: pa.RecordBatch, schema: pa.Schema) -> None:
        if len(schema):
            first = self._first(kind, batch)
            body = seal(pack([fitted(batch, schema)], schema), (kind, self.query, first))
            self.given.append(Outcome(kind, self.query, first, body))

    def _first(self, kind: int, batch: pa.RecordBatch) -> int | None:
        """What results can be put in order by: their least time, or, with early ones, when they came."""
        if self.counts_given:
            self.steps += 1
            return self.steps
        if kind != RESULT or self.job.time is None:
            return None
        return int(span(to_units(batch.column(self.job.time)))[0])

    def take(self, place: int, note: dict[str, Any], batches: list[pa.RecordBatch], cells: list[Merged]) -> None:
        """A body that came for the input at a place; `cells` are its pane partials, if it holds any."""
        if self.now == 0.0:  # silence begins with the first body
            self.now = note["wall"]
            self.pipeline.go_by(self._clock)
        self.now = max(self.now, note["wall"])
        if note["kind"] == "seen":
            self.sightings[place].append(Sighting.from_json(note["seen"]))
        elif note["kind"] == "rejected":
            for batch in batches:
                self.progress[place].rejected += len(batch)
                self._give(REJECTED, batch.replace_schema_metadata(None), REJECTS)
        elif note["kind"] == "promises":
            self.promises += [(place, batch.replace_schema_metadata(None)) for batch in batches]
        elif note["kind"] == "early":
            self.aside += [(place, batch.replace_schema_metadata(None), note["against"]) for batch in batches]
        else:
            taken = Taken([place, *note["order"]], place, batches, cells, is_copy=note["kind"] == "copies")
            if self.leads[place] is not None or (self.job.divided.in_order and not taken.is_copy):
                self.waiting.append(taken)
            else:
                self._feed(taken)

    def _feed(self, taken: Taken) -> None:
        stage = self.pipeline.entries[taken.place]
        for merged in taken.cells:
            self.pipeline.merge(stage, merged)
        for batch in taken.batches if not taken.cells else ():
            data = self._timely(taken.place, batch) if taken.is_copy else batch
            self.pipeline.feed(stage, Batch.unread(data.replace_schema_metadata(None)))

    def _timely(self, place: int, copies: pa.RecordBatch) -> pa.RecordBatch:
        """Copies of rows that are not late: those that are, are counted and given in their home."""
        join, port = next(self.pipeline.takers_of(self.pipeline.entries[place]))
        assert isinstance(join.operator, AnyJoin)
        return copies.filter(pa.array(~below(self._input(place).times_of(copies), join.operator.bounds[port])))

    def _input(self, place: int) -> Input:
        operator = self.pipeline.entries[place].operator
        assert isinstance(operator, Input)
        return operator

    def finish(self, *, whole: bool = False) -> Iterator[Outcome]:
        """After all rows of a micro-batch, the promises that hold then. With `whole`, nothing follows."""
        self._set_early_aside()
        for taken in sorted(self.waiting, key=lambda one: one.order):
            self._feed(taken)
        self._advance(whole)
        self._begin()
        yield from self.handed_over()
        yield self.counts()

    def _set_early_aside(self) -> None:
        """Once all of a micro-batch is there, take the rows out that are too far ahead: each shard finds the same."""
        reaches: list[int | dict[str, int]] = [START] * len(self.progress)
        for place, (stream, lead) in enumerate(zip(self.job.streams, self.leads, strict=True)):
            if lead is not None:
                seen, progress = self.sightings[place], self.progress[place]
                if partitioned_by(stream.policy):
                    reaches[place] = each = progress.reaches(seen, lead)
                    self.sightings[place] = [one.up_to_each(each) for one in seen]
                else:
                    reaches[place] = reach = progress.reach(seen, lead)
                    self.sightings[place] = [one.up_to(reach, slack_rows_of(stream)) for one in seen]
        for taken in self.waiting:
            if self.leads[taken.place] is not None:
                taken.batches = [self._in_reach(taken, batch, reaches[taken.place]) for batch in taken.batches]
        for place, data, against in self.aside:
            self._feed_early(place, data, reaches[place] if against is None else against)

    def _in_reach(self, taken: Taken, batch: pa.RecordBatch, reach: int | dict[str, int]) -> pa.RecordBatch:
        """The rows of a batch that are not early; the others are given to the operators as such, copies to none."""
        data, limits = _limits(batch, reach)
        early = self._times(taken.place, data) > limits
        if early.any() and not taken.is_copy:
            self._feed_early(taken.place, batch.filter(pa.array(early)).replace_schema_metadata(None), reach)
        return data.filter(pa.array(~early)) if early.any() else data

    def _feed_early(self, place: int, data: pa.RecordBatch, against: int | dict[str, int]) -> None:
        data, limits = _limits(data, against)
        times = self._times(place, data)
        bounds = np.where(limits == START, LIMIT - 1, limits)
        source = self.job.streams[place].name
        self.pipeline.feed(self.pipeline.entries[place], EarlyRows(Batch(data, times, None, source, bounds)))

    def _times(self, place: int, data: pa.RecordBatch) -> Integers:
        time = self._input(place).time
        return to_units(data.column(time), time, capped=True)

    def handed_over(self) -> Iterator[Outcome]:
        given, self.given = self.given, []
        yield from given

    def _advance(self, whole: bool) -> None:
        """After the rows of a micro-batch, the promises for single groups, then those for all rows of a stream."""
        for stream, progress, seen in zip(self.job.streams, self.progress, self.sightings, strict=True):
            progress.check(seen, stream.name)
            progress.see(seen, stream)
            progress.ended = progress.ended or whole
        self._hear()
        self._witness()
        for place, data in self.promises:
            last = data.num_columns - 1
            known = GroupPunctuations(data.remove_column(last), np.asarray(data.column(last)))
            self.pipeline.feed(self.pipeline.entries[place], known)
        for stage, stream, progress in zip(self.pipeline.entries, self.job.streams, self.progress, strict=True):
            before = progress.bound
            if progress.advance(stream, self.now) > before:
                self.pipeline.feed(stage, Punctuation(progress.bound))
        self.pipeline.pass_time()
        self.pipeline.resume()
        self._give_early()

    def _hear(self) -> None:
        """Before any promise of the micro-batch, so that no input that sent something is taken for silent: its rows may
        live in other shards, be filtered out, or have come as cells."""
        for stage, seen in zip(self.pipeline.entries, self.sightings, strict=True):
            if any(one.rows > one.early or one.promised > START for one in seen):
                self.pipeline.hear(stage)

    def _entries(self) -> Iterator[tuple[Stage, Exchange, Progress]]:
        return zip(self.pipeline.entries, self.job.divided.exchanges, self.progress, strict=True)

    def _early(self) -> Iterator[tuple[Early, Stage, Progress]]:
        """The windows that give early results, each with its stage and the progress of an input below it."""
        for stage, exchange, progress in self._entries():
            if isinstance(exchange.head, WindowAggregate) and exchange.head.early is not None:
                for window, _ in self.pipeline.takers_of(stage):
                    if isinstance(window.operator, WindowAggregateOperator) and window.operator.early is not None:
                        yield window.operator.early, window, progress

    def _give_early(self) -> None:
        """Early results after a micro-batch, once for all inputs of a window that have come far enough."""
        due = [window for early, window, progress in self._early() if early.is_due(progress.latest)]
        for window in dict.fromkeys(due):
            self.pipeline.give_early(window)

    def _witness(self) -> None:
        """Landmark windows go on to the last row of any group, in whichever shard it lives."""
        for stage, exchange, progress in self._entries():
            head = exchange.head
            if isinstance(head, WindowAggregate) and isinstance(head.window, Landmark) and progress.latest != START:
                for window, _ in self.pipeline.takers_of(stage):
                    if isinstance(window.operator, WindowAggregateOperator):
                        window.operator.witness(progress.latest)

    def counts(self) -> Outcome:
        """Everything so far; rows of the sources are counted by one shard alone, and number 0 is always one."""
        account = account_of(self.pipeline.ends[0], 0)
        waiting, evicted = waiting_and_evicted(self.pipeline.stages)
        kept = kept_by(self.pipeline.stages)
        first = self.number == 0
        return Outcome(
            COUNTS,
            self.query,
            late=account.late,
            early=account.early,
            filtered=account.filtered + (sum(progress.filtered for progress in self.progress) if first else 0),
            lost=lost_rows(self.pipeline.ends[0]),
            results=self.pipeline.results,
            windows=sum(stage.operator.open_windows for stage in self.pipeline.stages),
            bytes=state_bytes(self.pipeline.stages),
            stored=sum(stage.operator.stored_rows for stage in self.pipeline.stages),
            waiting=waiting,
            evicted=evicted,
            kept=kept.rows,
            raw=kept.raw_bytes,
            held=kept.bytes,
            hits=kept.hits,
            misses=kept.misses,
            spilled=kept.spilled_bytes,
            written=kept.written,
            sources=json.dumps(self._sources()) if first else None,
        )

    def _sources(self) -> dict[str, dict[str, Any]]:
        """By the name of the stream; one that is read in several places is counted in each."""
        found: dict[str, dict[str, Any]] = {}
        for stream, progress in zip(self.job.streams, self.progress, strict=True):
            again = sum(name.partition(" ")[0] == stream.name for name in found)
            name = f"{stream.name} ({again + 1})" if again else stream.name
            found[name] = asdict(_metrics_of(stream, progress, self.now))
        return found

    # State

    def facts(self) -> dict[str, Any]:
        """What it knows besides tables."""
        return {
            "version": VERSION,
            "query": self.job.signature,
            "shards": len(self.job.shards),
            "progress": [asdict(progress) for progress in self.progress],
            "counters": {name: vars(stage.operator.counters) for name, stage in self._named()},
            "results": self.pipeline.results,
            "early": self.pipeline.ends[0].early,
            "steps": self.steps,
            "now": self.now,
        }

    def tables(self) -> dict[str, Saved]:
        return nested({f"{place}/": stage.operator.state() for place, stage in self._named()})

    def _named(self) -> Iterator[tuple[str, Stage]]:
        """Every stage under its kind and number among those, top down: filters may come and go, others stay."""
        seen: Counter[str] = Counter()
        for stage in self.pipeline.stages:
            kind = stage.label.partition(" ")[2]
            seen[kind] += 1
            yield f"{kind} {seen[kind]}", stage

    def restore(self, facts: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        """Remember what `facts` and `tables` gave."""
        self.now = facts["now"]
        for place, stage in self._named():
            stage.operator.restore(under(f"{place}/", tables))
            vars(stage.operator.counters).update(facts["counters"].get(place, vars(Counters())))
        self.progress = [Progress.from_json(saved) for saved in facts["progress"]]
        self.pipeline.ends[0].results, self.pipeline.ends[0].early = facts["results"], facts.get("early", 0)
        self.steps = facts["steps"]


def _limits(data: pa.RecordBatch, against: int | dict[str, int]) -> tuple[pa.RecordBatch, Integers]:
    """The rows as they go on, and what each is measured against: all alike, or each by its partition."""
    if isinstance(against, dict):
        return unlabelled(data, against)
    return data, np.full(len(data), against, np.int64)


def _metrics_of(stream: Stream, progress: Progress, now: float) -> SourceMetrics:
    disorder = Disorder(progress.notes)
    jump = disorder.jump(progress.rows, slack_of(stream), "micro-batch")
    low, high = known(progress.bound), known(progress.high)
    partitions: dict[str, Any] = {}
    if partitioned_by(stream.policy):
        partitions = {"partitions": len(progress.partitions), "held_back_by": progress.held_back_by(stream, now)}
    told = progress.rows, high, low, progress.ended, progress.early, disorder.behind, jump
    return SourceMetrics(*told, rejected=progress.rejected, **partitions)
