"""The end of streams that come as DataFrames: a source without rows that can report, once, that nothing follows.

What was read before the end counts in full, what comes after it is late; so it must not be reported while there is
something left to read, and a source does not see the others. But Spark shows it enough:

- with `Trigger.AvailableNow`, a source that does not know that trigger makes Spark read everything there is in one
  micro-batch, in which sources are asked for all they have (`ReadAllAvailable`); the end comes behind its rows;
- with other triggers Spark asks all sources again and again. Where none has anything new there is no micro-batch, and
  Spark commits nothing before it asks once more: then the end is due.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from windrow.engines.spark.session.loaded_later import LoadedLater
from windrow.errors import ConfigurationError
from windrow.sharded.wire import BODIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.sharded.pre_aggregate import PreAggregation

WRAPPER = "spark.sql.streaming.triggerAvailableNowWrapper.enabled"


def check_closing(spark: SparkSession) -> None:
    """Refuse a session that hides from a source what the end is known by."""
    if spark.conf.get(WRAPPER, None) == "true":
        raise ConfigurationError(
            "must be false where streams are closed: with it no source learns that everything was read",
            parameter=WRAPPER,
            value="true",
            hint=f"say spark.conf.set('{WRAPPER}', 'false')",
        )


def end_class(name: str, lowerings: Sequence[PreAggregation], close: bool) -> type[DataSource]:
    """The format `name`: silent, or with `close` one that ends all these streams when what is there has been read.

    Every query over streaming DataFrames has it, because a checkpoint goes with its sources: one that was drained with
    `Trigger.AvailableNow` can be closed by another run.
    """

    ended = LoadedLater(tuple(lowerings))

    class EndSource(DataSource):  # defined in here so that it travels by value
        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return BODIES

        def streamReader(self, schema: Any) -> Any:  # noqa: N802
            return ClosingStream(ended) if close else SilentStream(ended)

    return EndSource


class EndStream(DataSourceStreamReader):
    """Offset 0 while the streams go on, 1 once they were ended."""

    def __init__(self, lowerings: LoadedLater[tuple[PreAggregation, ...]]) -> None:
        self.lowerings = lowerings

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"ended": 0}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [] if start == end else [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from windrow.sharded.task_progress import Sighting

        for lowering in self.lowerings.value:
            yield lowering.report(Sighting(ends=True))


class SilentStream(EndStream, SupportsTriggerAvailableNow):
    """The streams go on, whatever happens."""

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        pass

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        return start


class ClosingStream(EndStream):
    """Ends the streams as soon as everything was read. That it does not support `Trigger.AvailableNow` is the point."""

    def __init__(self, lowerings: LoadedLater[tuple[PreAggregation, ...]]) -> None:
        super().__init__(lowerings)
        self.asked = -1
        """How often Spark has asked since it last committed; before its first micro-batch it has nothing to commit."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(1)  # any other than that of the last micro-batch

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        self.asked += 1
        all_is_read = isinstance(limit, ReadAllAvailable) or self.asked > 1
        return {"ended": 1} if all_is_read else start

    def commit(self, end: dict[str, int]) -> None:
        self.asked = 0
