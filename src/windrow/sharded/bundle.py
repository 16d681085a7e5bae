"""Queries that run together: the low level reads each stream once for all of them, and a shard works for each.

Windows over the same rows with the same keys share panes: their cells are sent once, and each takes them as its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from uuid import uuid4

import pyarrow as pa

from windrow.operators.aggregate.partials import Partials, SharedCells
from windrow.operators.late.judging import late_columns
from windrow.operators.state.changes import Saved, nested, under
from windrow.physical.division.join_routing import Divided
from windrow.physical.how import EAGER, Flush, How
from windrow.physical.make import make_divided
from windrow.pipeline.memory import limit
from windrow.plan.checks.nodes import gives_early, shape_of
from windrow.plan.nodes import Node, WindowAggregate
from windrow.sharded.pre_aggregate import PreAggregation
from windrow.sharded.shard import Job, Merged, Outcome, Shard
from windrow.sharded.wire import unpack

Reading: TypeAlias = tuple[PreAggregation, ...]
"""The low levels that read one stream together."""


@dataclass(frozen=True)
class Bundle:
    """What the high level of some queries needs to know: a description that travels to the workers."""

    jobs: tuple[Job, ...]
    shared: tuple[WindowAggregate, ...] = ()
    """The panes that several windows share."""
    memory: int | None = None
    """How many bytes of kept rows all shards together may have in memory; what is beyond goes to the disk."""

    @property
    def signature(self) -> list[str]:
        return [line for job in self.jobs for line in job.signature]

    @property
    def shards(self) -> tuple[int, ...]:
        return max((job.shards for job in self.jobs), key=len)


def bundled(
    plans: Sequence[Node], keys: tuple[int, ...], *, panes: bool = True, flush: Flush = EAGER
) -> tuple[Bundle, list[Reading]]:
    """Plans divided between the levels; `keys` are the shards, and without `panes` each window has its own."""
    divided = make_divided(plans, How(flush=flush))
    jobs = tuple(_job(plan, one, keys) for plan, one in zip(plans, divided, strict=True))
    readings: dict[Any, list[PreAggregation]] = {}
    told: set[tuple[int, str]] = set()
    for query, job in enumerate(jobs):
        places: dict[Any, int] = {}
        for place, exchange in enumerate(job.divided.exchanges):
            stream = exchange.stream.name, *exchange.stream.schema.names
            places[stream] = places.get(stream, -1) + 1  # a query that reads a stream twice does so twice
            to = ((query, place),)
            is_first = (query, exchange.stream.name) not in told
            told.add((query, exchange.stream.name))
            lowering = PreAggregation(exchange, place, job.shards, job.divided.own, to, told=to if is_first else ())
            readings.setdefault((stream, places[stream]), []).append(lowering)
    shared: list[WindowAggregate] = []
    made = [tuple(_sharing(reading, shared) if panes else reading) for reading in readings.values()]
    return Bundle(jobs, tuple(shared)), made


def _job(plan: Node, divided: Divided, keys: tuple[int, ...]) -> Job:
    shape = shape_of(plan)
    time = None if gives_early(plan) else shape.time  # what is given early and taken back keeps its order
    return Job(divided, (0,) if divided.one_shard else keys, shape.answer, late_columns(plan), time)


def _sharing(lowerings: list[PreAggregation], shared: list[WindowAggregate]) -> Iterator[PreAggregation]:
    """The same low levels, with one for all that would send the same, cells of shared panes among it."""
    alike: dict[Any, list[PreAggregation]] = {}
    for low in lowerings:
        one = low.exchange
        sent = one.merging if one.shared is None else id(one.shared)
        alike.setdefault((one.stream, one.path, one.route, one.copies, low.shards, sent), []).append(low)
    for same in alike.values():
        own = tuple({one.name: one for low in same for one in low.own}.values())
        to, told = (tuple(one for low in same for one in getattr(low, name)) for name in ("to", "told"))
        low = replace(same[0], own=own, to=to, told=told)
        common = low.exchange.shared
        if common is None:
            yield low
        else:
            shared.append(common.asked)
            yield replace(low, exchange=replace(low.exchange, merging=common.asked), shared=len(shared) - 1)


class Shards:
    """One shard of every query of a bundle."""

    def __init__(self, bundle: Bundle, number: int) -> None:
        self.bundle = bundle
        self.number = number
        self.each = [Shard(job, number, query) for query, job in enumerate(bundle.jobs)]
        self.lineage = uuid4().hex
        """Which state this is, through all its micro-batches."""
        if bundle.memory is not None:
            limit(
                [stage for shard in self.each for stage in shard.pipeline.stages], bundle.memory // len(bundle.shards)
            )

    def run(self, bodies: Iterable[bytes | pa.Buffer], *, whole: bool = False) -> Iterator[Outcome]:
        """All rows of a micro-batch, then the promises that hold after it. With `whole`, nothing follows."""
        for note, reader in map(unpack, bodies):
            batches = list(reader)
            cells = [self._cells(note["shared"], batch) for batch in batches] if note["kind"] == "cells" else []
            for query, place in note["to"]:
                self.each[query].take(place, note, batches, cells)
                yield from self.each[query].handed_over()
        for shard in self.each:
            yield from shard.finish(whole=whole)

    def _cells(self, shared: int | None, batch: pa.RecordBatch) -> Merged:
        cells = Partials.from_batch(batch)
        return cells if shared is None else SharedCells.of_partials(cells, self.bundle.shared[shared])

    def facts(self) -> dict[str, Any]:
        """What it knows besides tables."""
        first, *others = (shard.facts() for shard in self.each)
        size = len(self.bundle.shards)
        return {**first, "query": self.bundle.signature, "shards": size, "others": others}

    def tables(self) -> dict[str, Saved]:
        return nested({_prefix(query): shard.tables() for query, shard in enumerate(self.each)})

    def restore(self, facts: dict[str, Any], tables: dict[str, pa.Table]) -> None:
        """Remember what `facts` and `tables` gave."""
        for query, (shard, known) in enumerate(zip(self.each, [facts, *facts.get("others", [])], strict=True)):
            shard.restore(known, under(_prefix(query), tables))


def _prefix(query: int) -> str:
    return f"query {query + 1}/" if query else ""
