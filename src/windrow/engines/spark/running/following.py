"""Run a query from and to addresses of Spark's: results leave as windows close, until the streams end or it is stopped.

Late rows are a second query with a checkpoint of its own: each sink is then written exactly once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from windrow.engines.run import Requests
from windrow.engines.spark.connect.connectors import Output, writer
from windrow.engines.spark.query.frames import Frames, frames
from windrow.engines.spark.running.checkpoint import LATE, SPARK, claim, refuse_moved_output, working_folder
from windrow.engines.spark.running.observing import Watch
from windrow.engines.spark.running.options import SparkOptions, session_of
from windrow.engines.spark.session.faults import clear_words
from windrow.engines.spark.session.own_thread import on_own_thread
from windrow.pipeline.metrics import Metrics
from windrow.plan.checks.nodes import gives_early
from windrow.plan.nodes import Node
from windrow.sources.addresses import FILES
from windrow.sources.base import Source

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


def run_to_addresses(
    plan: Node,
    sources: Mapping[str, Source],
    on_progress: Callable[[Metrics], None] | None,
    options: SparkOptions,
    requests: Requests,
) -> Metrics:
    """Start the query and watch it; with `once`, stop when all that is there now has been read."""
    assert options.output is not None
    started = time.perf_counter()
    with clear_words(), working_folder(options.checkpoint, restore=options.restore) as folder:
        spark = session_of(sources) or options.session()

        def work() -> Metrics:
            (made,) = frames(spark, [plan], sources, options.settings(folder))
            claim(folder, made, ledger=False)
            bounded = not any(getattr(source, "is_frame", False) for source in sources.values())
            running = _started(made, options, folder, early=gives_early(plan), now=options.once or bounded)
            return _watched(running, on_progress, options.json_lines, requests.stop)

        metrics = on_own_thread(spark, work, requests.stop)
    return replace(metrics, elapsed=time.perf_counter() - started)


def _started(made: Frames, options: SparkOptions, folder: Path, *, early: bool, now: bool) -> list[StreamingQuery]:
    assert options.output is not None
    started = [_start(writer(made.results, options.output, {}, early=early), folder / SPARK, now=now)]
    if options.late_output is not None:
        started.append(_start(writer(made.late, options.late_output, {}), folder / LATE, now=now))
    return started


def _start(output: Output, checkpoint: Path, *, now: bool) -> StreamingQuery:
    if output.place.format in FILES:
        refuse_moved_output(output.place.target)
    prepared = output.writer.option("checkpointLocation", str(checkpoint))
    return replace(output, writer=prepared.trigger(availableNow=True) if now else prepared).start()


def _watched(
    running: list[StreamingQuery],
    on_progress: Callable[[Metrics], None] | None,
    json_lines: str | None,
    stop: Event,
) -> Metrics:
    """To the end of all queries; a request to stop or the fault of one stops them all in good order."""
    first = Watch(running[0], on_progress, json_lines=json_lines, stop=stop)
    watches = [first, *(Watch(query, stop=stop) for query in running[1:])]
    try:
        while sum(not watch.has_ended() for watch in watches):  # each of them is asked, each time
            pass
    finally:
        for query in running:
            query.stop()
    return first.metrics
