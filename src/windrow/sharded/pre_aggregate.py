"""The low level: what happens to rows where they are read, before anything is shuffled."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates import UserAggregate, register
from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Array, Integers
from windrow.operators.aggregate.partials import PaneAggregate, Partials
from windrow.operators.base import Batch, EarlyRows, GroupPunctuations, Operator
from windrow.operators.divided.routing import Shards, shards_of
from windrow.operators.expressions.tree import evaluate
from windrow.operators.input.group_promises import Singles
from windrow.operators.input.input import Input
from windrow.operators.input.policy import LeadLimit, lead_among_rows, settle, slack_rows_of
from windrow.operators.input.times import to_units
from windrow.operators.kernels.input import span
from windrow.operators.rowwise.meld import MeldOperator
from windrow.operators.rowwise.select_project import ProjectOperator, SelectOperator
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.physical.division.join_routing import Exchange
from windrow.physical.nodes import Grid
from windrow.plan import nodes
from windrow.plan.checks.nodes import shape_of
from windrow.semantics.progress.partitions import partitioned_by
from windrow.semantics.progress.policies import LIMIT, AtEnd, External, Punctuation, lead_of
from windrow.semantics.scalars.amounts import Domain
from windrow.semantics.scalars.expressions import columns_of
from windrow.sharded.partition_tally import PartitionTally
from windrow.sharded.replication import places
from windrow.sharded.task_progress import Sighting, Stretches
from windrow.sharded.wire import bodies_batch, pack
from windrow.sources.base import Given
from windrow.sources.rejects import Rejects

FLUSH_BYTES = 64 << 20
"""Partials of a task are sent on when they take more than this, so that many groups do not fill its memory."""


@dataclass(frozen=True)
class PreAggregation:
    """The low level of one stream: a description that travels to the workers."""

    exchange: Exchange
    place: int
    """Which of the plan's streams this is."""
    shards: tuple[int, ...]
    """The number Spark knows each shard by."""
    own: tuple[UserAggregate, ...] = ()
    """The user's own aggregates."""
    to: tuple[tuple[int, int], ...] = ()
    """The queries that get what is sent, with the place of the stream in each; the only query there is unless given."""
    shared: int | None = None
    """Which of the shared panes the cells are of."""
    told: tuple[tuple[int, int], ...] = ()
    """The queries, as in `to`, that are told of what no row could be made of; each is told once of one stream."""

    def note(self, kind: str, wall: float) -> dict[str, Any]:
        """Of every body: for whom it is and what it holds."""
        return {"to": self.to or [(0, self.place)], "kind": kind, "wall": wall, "shared": self.shared}

    def to_all(self, data: pa.Table, note: dict[str, Any]) -> pa.RecordBatch:
        """The same body for every shard."""
        return bodies_batch(list(self.shards), [pack(data.to_batches(), data.schema, note)] * len(self.shards))

    def rejected(self, rejects: Rejects) -> pa.RecordBatch:
        """What no row could be made of, for the shard that counts what a source gave."""
        note = {**self.note("rejected", time.time()), "to": self.told}
        return bodies_batch([0], [pack([rejects.batch], rejects.batch.schema, note)])

    def report(self, seen: Sighting) -> pa.RecordBatch:
        """What was seen, for every shard."""
        return self.to_all(pa.table({}), {**self.note("seen", seen.wall), "seen": asdict(seen)})


def bodies_of(
    lowerings: Sequence[PreAggregation],
    elements: Iterable[Given],
    *,
    order: int = 0,
    numbers: tuple[int, int] | None = None,
    ends: bool = False,
) -> Iterator[pa.RecordBatch]:
    """The low levels of several queries over one stream, which is read once: rows for the shards as they come, and to
    every shard at the end what was seen.

    Where its rows have numbers, these are those of the first that is read and of the one behind the last.
    """
    for lowering in lowerings:
        make_known(lowering.own)
    tasks = [Task(lowering, order, numbers) for lowering in lowerings]
    for element in elements:
        if isinstance(element, Rejects):
            yield from (lowering.rejected(element) for lowering in lowerings if lowering.told)
            continue
        for task in tasks:
            yield from task.take(element)
    for task in tasks:
        yield from task.finish(ends)


class Task:
    """The rows of one stream that one task of Spark reads in one micro-batch."""

    def __init__(self, lowering: PreAggregation, order: int, numbers: tuple[int, int] | None = None) -> None:
        self.lowering = lowering
        exchange = lowering.exchange
        self.stream = exchange.stream
        first, last = numbers or (None, 0)
        self.seen = Sighting(order=order, first=first, last=last, wall=time.time())
        self.input = Input(self.stream.name, self.stream.time, AtEnd(), lead=_limit(self.stream, self.seen.wall))
        lead = lead_among_rows(self.stream)
        self.judges = lead is None
        """Whether it knows of all its rows by itself which are early."""
        self.partitions = PartitionTally(self.stream) if partitioned_by(self.stream.policy) else None
        if self.partitions is not None:
            lead = None  # judged partition by partition
        self.stretches = None if lead is None else Stretches(self.stream.name, lead, slack_rows_of(self.stream))
        self.passed = None if lead is None else Stretches(self.stream.name, lead)
        self.path = path_operators(exchange.path)
        policy = self.stream.policy
        per = frozenset(policy.per if isinstance(policy, External) else ())
        self.singles = Singles(self.stream.name, policy, Grid(keys=per), self.stream.schema)
        self.promised: list[GroupPunctuations] = []
        self.sent = 0
        merging = exchange.merging
        self.merging = None if merging is None else PaneAggregate(merging, shape_of(exchange.asked))

    def take(self, element: pa.RecordBatch | Punctuation) -> Iterator[pa.RecordBatch]:
        """One element of the source through the path."""
        if isinstance(element, Punctuation):
            if element.group is None:
                self.seen.promised = max(self.seen.promised, element.value)
            elif self.partitions is not None:
                self.partitions.announce(element)
            else:
                self._promise(self.singles.one(element))
            return
        for made in self.input.process(Batch.unread(self._unpunctuated(element))):
            if isinstance(made, EarlyRows):
                yield from self._send_early(made.batch)
            else:
                assert isinstance(made, Batch)
                codes = self._codes(made)
                self._note_times(made.times, codes)
                yield from self._send(self._through(made, codes))

    def _codes(self, batch: Batch) -> Codes:
        """The number of each row's partition, where the stream has such."""
        return NO_CODES if self.partitions is None else self.partitions.codes(batch.data)

    def _unpunctuated(self, data: pa.RecordBatch) -> pa.RecordBatch:
        """The data rows; rows that carry a punctuation are taken note of."""
        policy = self.stream.policy
        if not isinstance(policy, External) or policy.column is None:
            return data
        marks = data.column(policy.column)
        if marks.null_count == len(marks):
            return data
        carried = data.filter(pc.is_valid(marks))
        promised = to_units(carried.column(policy.column), policy.column)
        single = self.singles.mask(carried, np.ones(len(carried), np.bool_))
        if not single.all():
            self.seen.promised = max(self.seen.promised, int(span(promised[~single])[1]))
        self._promise(self.singles.promises(carried.filter(pa.array(single)), promised[single]))
        return data.filter(pc.is_null(marks))

    def _promise(self, promises: Iterable[GroupPunctuations]) -> None:
        """Note promises for single groups, under the names that columns have at the end of the path."""
        found = list(promises)
        for operator in self.path:
            outs = [out for one in found for out in operator.punctuate_groups(one, 0)]
            found = [out for out in outs if isinstance(out, GroupPunctuations)]
        self.promised += found

    def _note_times(self, times: Integers, codes: Codes) -> None:
        seen, wanted = self.seen, slack_rows_of(self.stream)
        seen.rows += len(times)
        seen.high = max(seen.high, self.input.high)
        seen.least = min(seen.least, int(span(times)[0]))
        if self.partitions is not None:
            self.partitions.add(times, codes)
        elif self.stretches is not None:
            self.stretches.add(times)
        elif wanted:
            trail = np.concatenate([np.array(seen.recent, np.int64), times])
            seen.before, recent = settle(trail, wanted, seen.before)
            seen.recent = recent.tolist()

    def _through(self, batch: Batch, codes: Codes) -> Batch:
        """The rows behind the path. Where shards must know of which partition each is, its number is its bound."""
        labels = self.partitions is not None and self.partitions.lead is not None
        batch = replace(batch, bounds=codes.astype(np.int64) if labels else None)
        for operator in self.path:
            for out in operator.process(batch, 0):
                assert isinstance(out, Batch)
                batch = replace(out, bounds=batch.bounds) if isinstance(operator, MeldOperator) else out
        return batch

    def _labelled(self, batch: Batch) -> pa.RecordBatch:
        if self.partitions is None or batch.bounds is None:
            return batch.data
        return self.partitions.labelled(batch.data, batch.bounds)

    def _send(self, batch: Batch) -> Iterator[pa.RecordBatch]:
        if self.merging is not None:
            self.merging.add(batch)
            if self.merging.nbytes > FLUSH_BYTES:
                yield from self._flush(self.merging)
            return
        batch = batch.compact()
        if len(batch) == 0:
            return
        self.seen.latest = max(self.seen.latest, int(span(batch.times)[1]))
        if self.passed is not None:
            self.passed.add(batch.times)
        whole = self._labelled(batch)
        if self.partitions is not None and batch.bounds is not None:
            self.partitions.add_passed(batch.times, batch.bounds)
        for i, (rows, shards) in enumerate(self._places(batch.data)):
            data = whole if len(rows) == len(batch) else whole.take(arrow(rows))
            yield self._divided(data, shards, "copies" if i else "rows")

    def _places(self, data: pa.RecordBatch) -> Iterator[tuple[Integers, Shards]]:
        """The shards that rows go to, first of all of them their home; then where copies of some of them go."""
        exchange = self.lowering.exchange
        if exchange.copies is not None:
            yield from places(exchange.copies, data, len(self.lowering.shards))
        else:
            keys = [evaluate(e, data) for e in exchange.route]
            yield np.arange(len(data)), self._shards(keys, len(data))

    def _send_early(self, batch: Batch) -> Iterator[pa.RecordBatch]:
        """Rows that are too far ahead whatever other tasks see, to their homes."""
        self.seen.rows += len(batch)
        self.seen.early += len(batch)
        against = int(self.seen.wall * 1_000_000) if self.judges else None
        early = self._through(batch, self._codes(batch)).compact()
        if len(early):
            _, shards = next(self._places(early.data))
            yield self._divided(self._labelled(early), shards, "early", against=against)

    def _promises(self, promises: GroupPunctuations) -> pa.RecordBatch:
        """Promises for single groups, each to the shard of its groups, or to all where it names too little."""
        groups, route = promises.groups, self.lowering.exchange.route
        data = groups.append_column("promised", arrow(promises.values))
        if route and {name for e in route for name in columns_of(e)} <= set(groups.schema.names):
            return self._divided(data, self._shards([evaluate(e, groups) for e in route], len(groups)), "promises")
        return self.lowering.to_all(pa.Table.from_batches([data]), self.lowering.note("promises", self.seen.wall))

    def _shards(self, keys: Sequence[Array], rows: int) -> Shards:
        return shards_of(keys, rows, len(self.lowering.shards))

    def _flush(self, merging: PaneAggregate) -> Iterator[pa.RecordBatch]:
        partials = merging.take()
        if partials is not None:
            yield self._cells(partials)

    def _cells(self, partials: Partials) -> pa.RecordBatch:
        """Pane partials, each to the shard of its group."""
        exchange = self.lowering.exchange
        assert exchange.merging is not None
        names = [name for name, _ in exchange.merging.keys]
        known = pa.RecordBatch.from_arrays(partials.keys, names=names) if names else None
        keys = [evaluate(e, known) for e in exchange.key_route] if known is not None else []
        return self._divided(partials.to_batch(), self._shards(keys, len(partials)), "cells")

    def send_cells(self, partials: Partials, high: int) -> pa.RecordBatch:
        """Partials that were made elsewhere from all rows of their panes; `high` is the largest time of those."""
        self.seen.rows += partials.rows
        self.seen.high = max(self.seen.high, high)
        self.seen.latest = self.seen.high
        return self._cells(partials)

    def _divided(self, data: pa.RecordBatch, shards: Shards, kind: str, **more: Any) -> pa.RecordBatch:
        """One body for each shard that gets something, with its place among all that is sent in the micro-batch."""
        self.sent += 1
        note = {**self.lowering.note(kind, self.seen.wall), "order": [self.seen.order, self.sent], **more}
        if len(self.lowering.shards) == 1:
            return bodies_batch([self.lowering.shards[0]], [pack([data], data.schema, note)])
        order = np.argsort(shards, kind="stable")
        cuts = np.searchsorted(shards[order], np.arange(len(self.lowering.shards) + 1))
        ordered = data.take(arrow(order))
        present = [shard for shard in range(len(self.lowering.shards)) if cuts[shard + 1] > cuts[shard]]
        bodies = [pack([ordered.slice(cuts[s], cuts[s + 1] - cuts[s])], data.schema, note) for s in present]
        return bodies_batch([self.lowering.shards[s] for s in present], bodies)

    def finish(self, ends: bool) -> Iterator[pa.RecordBatch]:
        """The rest, then what was seen, to every shard."""
        if self.merging is not None:
            yield from self._flush(self.merging)
            self.seen.latest = max(self.seen.latest, self.merging.latest)
        for promises in self.promised:
            yield self._promises(promises)
        self.seen.filtered = sum(operator.counters.filtered for operator in self.path)
        self.seen.ends = ends
        if self.stretches is not None and self.passed is not None:
            self.seen.stretches, self.seen.passed = self.stretches.found, self.passed.found
        if self.partitions is not None:
            self.seen.partitions = self.partitions.found()
        yield self.lowering.report(self.seen)


def _limit(stream: nodes.Stream, wall: float) -> LeadLimit | None:
    """What a task can decide of its rows alone: by the clock as it began, else what is beyond all times."""
    lead = lead_of(stream.policy)
    if lead is None:
        return None
    if not lead.wall_clock:
        return LeadLimit(2 * LIMIT)
    return LeadLimit(lead.amount.resolve(Domain.TIME, "lead"), wall_clock=True, clock=lambda: wall)


def make_known(aggregates: Sequence[UserAggregate]) -> None:
    """Register a user's aggregates in a process that has not seen them."""
    for aggregate in aggregates:
        register(aggregate)


def path_operators(path: Sequence[nodes.Node]) -> list[Operator]:
    """The operators of nodes that remember nothing, bottom up; a union only brings columns to its types."""
    made: list[Operator] = []
    for node in path:
        if isinstance(node, nodes.Filter):
            made.append(SelectOperator(node.predicate))
        elif isinstance(node, nodes.Project):
            made.append(ProjectOperator(node.columns, shape_of(node).schema))
        else:
            made.append(MeldOperator(1, shape_of(node).schema))
    return made
