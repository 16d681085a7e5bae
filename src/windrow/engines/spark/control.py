"""The end of streams that come as DataFrames: a source without rows that can say, once, that nothing follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from windrow.engines.spark.low import Lowering, told
from windrow.engines.spark.progress import Sighting
from windrow.engines.spark.wire import BODIES


def end_class(name: str, lowerings: Sequence[Lowering], close: bool) -> type[DataSource]:
    """The format `name`: silent, or with `close` one micro-batch that ends all these streams.

    It is part of every query over streaming DataFrames, because a checkpoint goes with its sources: a query that was
    drained with `Trigger.AvailableNow` can be closed by another run from the same checkpoint.
    """

    class EndSource(DataSource):  # defined in here so that it travels by value
        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return BODIES

        def streamReader(self, schema: Any) -> Any:  # noqa: N802
            return EndStream(lowerings, close)

    return EndSource


class EndStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offset 0 while the streams go on, 1 once they were ended."""

    def __init__(self, lowerings: Sequence[Lowering], close: bool) -> None:
        self.lowerings = lowerings
        self.close = close

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        pass

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"ended": 0}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        return {"ended": 1} if self.close else start

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [] if start == end else [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for lowering in self.lowerings:
            yield told(lowering, Sighting(ends=True))
