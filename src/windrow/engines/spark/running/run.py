"""Run plans on Spark: streams to their end or for as long as they are followed, static frames as a whole.

What a micro-batch of a stream gave is handed over when that micro-batch has ended, from the ledger.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from windrow.durable.sealed_files import read_json, write_json
from windrow.engines.base import within
from windrow.engines.run import Outcome, Receiver, Requests
from windrow.engines.spark.connect.frame_sources import FrameSource
from windrow.engines.spark.query.frames import Frames, frames
from windrow.engines.spark.running.checkpoint import METRICS, SPARK, claim, whole, working_folder
from windrow.engines.spark.running.following import run_to_addresses
from windrow.engines.spark.running.ledger import Deliver, SparkLedger, deliver_in_order, has_ties
from windrow.engines.spark.running.logs import last
from windrow.engines.spark.running.observing import OBSERVED, Watch, metrics_of
from windrow.engines.spark.running.options import SparkOptions, session_of
from windrow.engines.spark.session.faults import clear_words
from windrow.engines.spark.session.own_thread import on_own_thread
from windrow.pipeline.metrics import Metrics
from windrow.plan.nodes import Node, Stream, walk
from windrow.sharded.wire import COUNTED, COUNTS, LATE, RESULT
from windrow.sources.base import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run(
    plans: Sequence[Node],
    sources: Mapping[str, Source],
    receiver: Receiver,
    options: SparkOptions,
    requests: Requests,
) -> Outcome:
    """Run plans over sources they share, in one query of Spark.

    Streams are drained and closed unless they are followed, static frames are read whole. With an address to write to,
    Spark writes, and nothing is handed over.
    """
    if options.output is not None:
        (plan,) = plans
        metrics = run_to_addresses(plan, sources, receiver.on_progress, options, requests)
        return [metrics], metrics
    found: dict[int, Metrics] = {}
    kinds = [_is_static(plan, sources) for plan in plans]
    for kind in dict.fromkeys(kinds):  # static frames are read whole, and all else is a stream
        places = [place for place, one in enumerate(kinds) if one is kind]
        each = _run([plans[i] for i in places], sources, within(receiver, places), options, requests)
        found.update(zip(places, each, strict=True))
    each = [found[place] for place in range(len(plans))]
    return each, replace(reduce(Metrics.plus, each), elapsed=max(metrics.elapsed for metrics in each))


def _is_static(plan: Node, sources: Mapping[str, Source]) -> bool:
    used = [sources[node.name] for node in walk(plan) if isinstance(node, Stream)]
    return all(isinstance(source, FrameSource) and not source.is_streaming for source in used)


def _run(
    plans: Sequence[Node],
    sources: Mapping[str, Source],
    receiver: Receiver,
    options: SparkOptions,
    requests: Requests,
) -> list[Metrics]:
    started = time.perf_counter()
    names = {node.name for plan in plans for node in walk(plan) if isinstance(node, Stream)}
    sources = {name: source for name, source in sources.items() if name in names}
    given = [_deliveries(receiver, query) for query in range(len(plans))]
    with clear_words(), working_folder(options.checkpoint, restore=options.restore) as folder:
        spark = session_of(sources) or options.session()
        settings = options.settings(folder)

        def work() -> list[Metrics]:
            made = frames(spark, plans, sources, settings)
            if not made[0].outcomes.isStreaming:
                return _whole(made, given)
            closing = partial(frames, spark, plans, sources, replace(settings, close=True))
            ledger = SparkLedger(spark, folder, made, given)
            return _Streaming(made, closing, sources, ledger, options, requests, receiver.on_progress).run()

        each = on_own_thread(spark, work, requests.stop)
    return [replace(metrics, elapsed=time.perf_counter() - started) for metrics in each]


def _deliveries(receiver: Receiver, query: int) -> dict[int, Deliver]:
    on_late = receiver.on_late
    return {RESULT: partial(receiver.on_result, query), LATE: partial(on_late, query) if on_late else lambda _: None}


def _whole(made: Sequence[Frames], deliveries: Sequence[Mapping[int, Deliver]]) -> list[Metrics]:
    rows = made[0].outcomes.orderBy("time").toArrow().to_pylist()
    each = []
    for frame, given in zip(made, deliveries, strict=True):
        mine = [row for row in rows if row["query"] == frame.query]
        counts = [row for row in mine if row["kind"] == COUNTS]
        rest = (row for row in mine if row["kind"] != COUNTS)
        deliver_in_order(rest, given, frame.job.time, ties=has_ties(frame.job))
        sums: dict[str, Any] = {name: sum(row[name] for row in counts) for name in COUNTED}
        told = next((row["sources"] for row in counts if row["sources"] is not None), "{}")
        each.append(metrics_of({"observedMetrics": {OBSERVED: {**sums, "sources": told}}}))
    return each


class _Streaming:
    """One run of a streaming query, and of its end."""

    def __init__(
        self,
        made: Sequence[Frames],
        closing: Callable[[], Sequence[Frames]],
        sources: Mapping[str, Source],
        ledger: SparkLedger,
        options: SparkOptions,
        requests: Requests,
        on_progress: Callable[[Metrics], None] | None,
    ) -> None:
        self.made = made
        self.closing = closing
        self.framed = [source for source in sources.values() if isinstance(source, FrameSource)]
        self.ledger = ledger
        self.folder = ledger.folder
        self.options = options
        self.requests = requests
        self.on_progress = on_progress
        self.told = ledger.folder / METRICS
        self.keep = options.checkpoint is not None

    def run(self) -> list[Metrics]:
        """Follow where that is wanted; then drain and, where the streams do not end by themselves, end them."""
        claim(self.folder, self.made[0], ledger=True)
        outcomes = self.made[0].outcomes
        if self.requests.follow and self.framed:
            self.ledger.hand_over(keep=self.keep)  # what was given before a restore: nothing may come for long
            self._hand_over_until_end(outcomes, follow=True)
        self._hand_over_until_end(outcomes)
        if self.framed:
            self._hand_over_until_end(self.closing()[0].outcomes)
        return self._checked()

    def _hand_over_until_end(self, outcomes: DataFrame, *, follow: bool = False) -> None:
        """Hand over what each micro-batch gave once it has ended; until the run is closed, or all is read."""
        prepared = self.ledger.writer(outcomes, keep=self.keep)
        query = (prepared if follow else prepared.trigger(availableNow=True)).start()
        watch = Watch(
            query,
            lambda metrics: self._tell(metrics, watch),
            json_lines=self.options.json_lines,
            queries=len(self.made),
            stop=self.requests.stop,
        )
        handed = watch.batch
        try:
            while not watch.has_ended() and not (follow and self.requests.close.is_set()):
                if watch.batch != handed:
                    handed = watch.batch
                    self.ledger.hand_over(keep=self.keep)
        except BaseException:
            with suppress(Exception):  # a JVM that is gone has nothing to stop
                query.stop()
            raise
        query.stop()
        self.ledger.hand_over(keep=self.keep)

    def _tell(self, metrics: Metrics, watch: Watch) -> None:
        with whole(self.folder):
            write_json(self.told, {"batch": watch.batch, "each": [one.to_dict() for one in watch.each]})
        if self.on_progress is not None:
            self.on_progress(metrics)

    def _checked(self) -> list[Metrics]:
        """The metrics of the last micro-batch, for which the ledger has as many results as were given.

        A run that was killed may have missed to write them; then nobody knows how many there should be.
        """
        if not self.told.exists():
            return [Metrics() for _ in self.made]
        with whole(self.folder):
            told = read_json(self.told)
        each = [Metrics.from_dict(one) for one in told["each"]]
        if any(metrics.results for metrics in each):
            self.ledger.hand_over_from_afar()
        if told["batch"] == last(self.folder / SPARK / "commits"):
            self.ledger.check([metrics.results for metrics in each])
        return each
