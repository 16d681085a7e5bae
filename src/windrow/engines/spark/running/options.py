"""How to run on Spark, and in which session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windrow.engines.base import INNER
from windrow.engines.spark.connect.frame_sources import FrameSource
from windrow.engines.spark.query.frames import Settings
from windrow.engines.spark.session.sessions import check, embedded
from windrow.errors import ConfigurationError
from windrow.physical.costs import Statistics
from windrow.sources.base import Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SparkOptions(Settings):
    """How to run: where the checkpoint is, the session (an embedded one unless given)."""

    shards: int | None = None
    memory: str | None = None
    spark: SparkSession | None = None
    json_lines: str | None = None
    """Where to write the metrics of each micro-batch."""
    checkpoint: str | None = None
    restore: bool = False
    statistics: Statistics | None = None
    """Of the stream, to choose strategies by."""
    output: str | None = field(default=None, metadata=INNER)
    """An address that Spark itself writes results to; they are not handed over then."""
    late_output: str | None = field(default=None, metadata=INNER)
    once: bool = field(default=False, metadata=INNER)
    """Whether what goes to an address ends when what is there now has been read."""

    def check(self) -> None:
        for name in ("batch_rows", "shards", "rate"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError("must be at least 1", parameter=name, value=value)
        if self.restore and not self.checkpoint:
            raise ConfigurationError("needs a folder", parameter="checkpoint", hint="give checkpoint='folder'")

    def session(self) -> SparkSession:
        if self.spark is None:
            return embedded(shards=self.shards, memory=self.memory)
        check(self.spark)
        return self.spark


def session_of(sources: Mapping[str, Source]) -> SparkSession | None:
    """The session that the query's DataFrames live in."""
    for source in sources.values():
        if isinstance(source, FrameSource):
            check(source.frame.sparkSession)
            return source.frame.sparkSession
    return None
