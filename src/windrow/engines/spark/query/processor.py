"""A shard behind each key of `transformWithStateInPandas`.

Spark also loads this in a process that only learns which state there is, so nothing else of the engine is loaded here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from windrow.engines.spark.session.loaded_later import LoadedLater

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle, ValueState

    from windrow.sharded.bundle import Bundle

KEY_COLUMNS = "name string, place bigint, block bigint, patch bigint"


class ShardProcessor(StatefulProcessor):
    """Runs the `Shards` of each key."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = LoadedLater(bundle)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.chunks: MapState = handle.getMapState("chunks", KEY_COLUMNS, "body binary")
        self.facts: ValueState = handle.getValueState("facts", "body binary")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        from windrow.engines.spark.query.saved_shards import SavedShards

        bodies = (body for frame in rows for body in frame["body"])
        yield SavedShards(self.bundle.value, self.chunks, self.facts).run(int(key[0]), bodies)
