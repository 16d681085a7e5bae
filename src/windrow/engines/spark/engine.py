"""The engine inside Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from windrow.engines.base import Engine
from windrow.engines.run import Outcome, Receiver, Requests
from windrow.engines.spark.session.prerequisites import check_packages
from windrow.engines.watching import WatchedSource
from windrow.errors import ConfigurationError
from windrow.physical.costs import calibrated
from windrow.physical.planner import decided
from windrow.plan.nodes import Node
from windrow.sources.base import Source
from windrow.sources.kafka.source import KafkaSource


class SparkEngine(Engine):
    """Runs the operators inside Structured Streaming. Its modules are loaded once it is known that Spark is there."""

    name = "spark"

    @property
    def options(self) -> type[Any]:
        check_packages()
        from windrow.engines.spark.running.run import SparkOptions

        return SparkOptions

    def run(
        self,
        plans: Sequence[Node],
        sources: Mapping[str, Source],
        receiver: Receiver,
        options: Any,
        requests: Requests,
    ) -> Outcome:
        from windrow.engines.spark.running.run import run

        refuse_unread(sources)
        # Strategies are decided here, because all micro-batches and shards must choose alike.
        sources = {name: _unwatched(source) for name, source in sources.items()}
        plans = [decided(plan, options.statistics, calibrated()) for plan in plans]
        return run(plans, sources, receiver, replace(options, statistics=None), requests)


def refuse_unread(sources: Mapping[str, Source]) -> None:
    """Refuse what can only be read in this process."""
    for name, source in sources.items():
        if source.in_process_only:
            raise ConfigurationError(
                "must be data that Spark can read",
                parameter=name,
                value=source.describe(),
                hint="say --engine local, or engine='local': it is read in this process",
            )


def _unwatched(source: Source) -> Source:
    """A topic itself, which Spark reads in other processes and stops by itself."""
    is_topic = isinstance(source, WatchedSource) and isinstance(source.source, KafkaSource)
    return source.source if is_topic and isinstance(source, WatchedSource) else source


ENGINE = SparkEngine()
