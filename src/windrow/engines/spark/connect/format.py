"""The format `windrow` for Spark's own readers: files and generated streams, replayed row by row as they arrived.

    spark.dataSource.register(WindrowSource)
    spark.readStream.format("windrow").option("path", "trades.parquet").option("batchRows", 10000).load()

With `punctuate`, a column `punctuation` of the time's type is added and every micro-batch ends with a row that has
only that: the highest time so far less the slack. The row at the end of the data closes everything: for timestamps it
says 2262-01-01, the last year that clocks of nanoseconds hold (or one unit after the highest time, where that is
later), for integers the largest one of the column's type.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute
from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from windrow.engines.spark.connect.format_options import FormatOptions, read_options
from windrow.engines.spark.connect.replay import Replay, ReplayBatch, ReplayStream
from windrow.engines.spark.query.types import spark_schema
from windrow.errors import ConfigurationError
from windrow.semantics.progress.policies import Punctuation
from windrow.semantics.scalars.amounts import Domain
from windrow.sources import Element
from windrow.sources.conform import conform, convert
from windrow.sources.replayed.spans import Offset, RowSpan, Tape, clear_errors, span_between

pc: Any = pyarrow.compute  # the stubs know fewer argument types than the functions take

MARK = "punctuation"
_CLOSE = int(datetime(2262, 1, 1, tzinfo=timezone.utc).timestamp()) * 1_000_000


class WindrowSource(DataSource):
    """Files or generated streams as a stream, or at once; see `format_options.KNOWN` for what can be asked for."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self.asked = read_options(options)
        self.token = uuid.uuid4().hex  # made here, once a query: every process that reads for it gets the same one

    @classmethod
    def name(cls) -> str:
        return "windrow"

    def schema(self) -> StructType:
        """The source's columns in Spark's types, all nullable, then `punctuation` where it was asked for."""
        columns, marks = self.asked.source.schema, self.asked.marks
        return spark_schema(columns.append(columns.field(marks.time).with_name(MARK)) if marks else columns)

    def streamReader(self, schema: StructType) -> Any:  # noqa: N802
        replay = self._replay(schema)
        return MarkedStream(replay, self._high()) if self.asked.marks else ReplayStream(replay)

    def reader(self, schema: StructType) -> Any:
        replay = self._replay(schema)
        return MarkedBatch(replay, self._high()) if self.asked.marks else ReplayBatch(replay)

    def _high(self) -> High:
        kind = to_arrow_schema(self.schema(), timezone="UTC").field(MARK).type
        return High(self.asked, _CLOSE if pa.types.is_timestamp(kind) else int((1 << (kind.bit_width - 1)) - 1))

    def _replay(self, schema: StructType) -> Replay:
        asked, columns = self.asked, to_arrow_schema(schema, timezone="UTC")
        if asked.marks and MARK not in columns.names:
            raise ConfigurationError(
                "must have the column `punctuation`, because `punctuate` was asked for",
                parameter="schema",
                value=", ".join(columns.names),
                hint="add the column, or leave `punctuate` out",
            )
        names = [name for name in columns.names if not (asked.marks and name == MARK)]
        source = asked.source.select(names)
        return Replay(source, SpanRows(columns), asked.batch_rows, asked.partitions, asked.rate, self.token)


@dataclass(frozen=True)
class MarkedSpan(RowSpan):
    """A span that a punctuation follows."""

    mark: int | None = None


@dataclass(frozen=True)
class SpanRows:
    """Gives the rows of a span in the types that Spark expects, and after them the punctuation's row."""

    columns: pa.Schema

    def __call__(self, elements: Iterator[Element], span: RowSpan) -> Iterator[pa.RecordBatch]:
        for element in elements:
            if not isinstance(element, Punctuation):
                if MARK in self.columns.names and MARK not in element.schema.names:
                    element = element.append_column(MARK, pa.nulls(len(element), self.columns.field(MARK).type))
                yield conform(element, self.columns, "the data", "path")
        if isinstance(span, MarkedSpan) and span.mark is not None:
            mark = pa.array([span.mark], pa.int64())
            row: list[Any] = [mark.cast(f.type) if f.name == MARK else pa.nulls(1, f.type) for f in self.columns]
            yield pa.RecordBatch.from_arrays(row, schema=self.columns)


class High:
    """The highest time of a source's first rows, found by reading the one column, onwards."""

    def __init__(self, asked: FormatOptions, last_mark: int) -> None:
        """After `last_mark` nothing comes."""
        assert asked.marks
        self.marks = asked.marks
        self.last_mark = last_mark
        self.source = asked.source.select([self.marks.time])
        self.tape: Tape | None = None

    def between(self, first: int, last: int) -> int | None:
        """The highest time among these rows, in microseconds or units of the attribute; None when all are null."""
        with clear_errors(self.source):
            if self.tape is None or self.tape.row > first:
                self.tape = Tape(self.source, first)
            self.tape.forward(first)
            highs = [self._of(e.column(0)) for e in self.tape.take(last) if isinstance(e, pa.RecordBatch)]
        return max((high for high in highs if high is not None), default=None)

    def _of(self, times: pa.Array[Any]) -> int | None:
        if self.marks.domain is Domain.TIME:
            times = convert(times, pa.timestamp("us", cast(Any, times.type).tz))
        return cast("int | None", pc.max(times.cast(pa.int64())).as_py())

    def mark(self, high: int | None, ends: bool) -> int | None:
        """The punctuation after rows up to `high`; at the end, one that closes everything."""
        if not ends:
            return None if high is None else high - self.marks.slack
        return self.last_mark if high is None else max(self.last_mark, high + (self.marks.domain is Domain.TIME))


class MarkedStream(ReplayStream):
    """Keeps the highest time in the offset, so that punctuations are the same again after a restart."""

    def __init__(self, replay: Replay, high: High) -> None:
        super().__init__(replay)
        self.high = high

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        end = super().latestOffset(start, limit)
        if span_between(start, end) == RowSpan(start["rows"], start["rows"], False):
            return start
        highs = [start.get("high"), self.high.between(start["rows"], end["rows"])]
        high = max((value for value in highs if value is not None), default=None)
        return end if high is None else {**end, "high": high}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        span = span_between(start, end)
        mark = self.high.mark(end.get("high"), span.ends)
        return [InputPartition(MarkedSpan(span.first, span.last, span.ends, mark))]


class MarkedBatch(ReplayBatch):
    """The whole source, then the punctuation that closes everything."""

    def __init__(self, replay: Replay, high: High) -> None:
        super().__init__(replay)
        self.high = high

    def partitions(self) -> Sequence[InputPartition]:
        total = self.replay.total
        mark = self.high.mark(self.high.between(0, total), ends=True)
        return [InputPartition(MarkedSpan(0, total, True, mark))]
