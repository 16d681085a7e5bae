"""The source behind what a user calls data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.semantics.progress.policies import Ordered, Slack
from windrow.semantics.scalars.amounts import Amount
from windrow.sources.addresses import SPARK, opener_of, scheme_of

if TYPE_CHECKING:
    from windrow.plan.nodes import Stream
    from windrow.sources.base import Source


def open_data(data: Any, *, name: str, schema: pa.Schema | None = None, in_process: bool = False) -> Source:
    """The source for a path, Arrow data, a frame, elements, or a DataFrame of Spark.

    With `in_process` an address that only Spark reads is refused. Neither that nor a scheme that nobody knows is found
    out by starting Spark.
    """
    kind = type(data)
    if kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql."):
        from windrow.engines.spark.connect.frame_sources import open_frame

        return open_frame(data, name=name, schema=schema)
    if not in_process and isinstance(data, str) and scheme_of(data) and opener_of(data, name) == SPARK:
        from windrow.engines.spark.connect.frame_sources import open_uri

        return open_uri(data, name=name, schema=schema)
    from windrow.sources import open_source

    return open_source(data, name=name, schema=schema)


def by_partition(source: Source, stream: Stream) -> tuple[Source, Stream]:
    """A stream whose rows have an order in each partition goes by these, unless its policy names others."""
    column, policy = source.partition_column, stream.policy
    if column is None or not isinstance(policy, (Ordered, Slack)) or policy.per not in ((), (column,)):
        return source, stream
    told = source.by_partition()
    return told, replace(stream, schema=told.schema, policy=replace(policy, per=(column,)))


def timed(source: Source, time: str) -> Source:
    """The source with the name of the column that the punctuations among its elements are about."""
    from windrow.sources.iterables.elements import IterableSource

    if not isinstance(source, IterableSource) or source.time == time:
        return source
    return replace(source, time=time)


def watermark_slack(source: Source, time: str) -> Slack | None:
    """The delay of a DataFrame's own watermark on its time column, as slack; None without one.

    A time column of a type that Windrow does not read is refused here, by its Spark type.
    """
    if not getattr(source, "is_frame", False):
        return None
    from windrow.engines.spark.connect.frame_sources import FrameSource
    from windrow.engines.spark.query.types import refuse_unread, watermark_of

    assert isinstance(source, FrameSource)
    refuse_unread(source.frame.schema, [time])
    delay = watermark_of(source.frame.schema, time)
    return None if delay is None else Slack(Amount.of(f"{delay} ms"))
