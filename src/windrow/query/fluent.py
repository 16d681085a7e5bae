"""The fluent API: every step gives a new query; a wrong step is refused at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.engines.run import Run, untagged
from windrow.errors import ConfigurationError, QueryError
from windrow.functions import AggregateSpec
from windrow.functions import idle as make_idle
from windrow.plan.build.queries import (
    Length,
    WindowSpec,
    align,
    as_said,
    change_windows,
    flatten_union,
    is_aggregated,
    rename_streams,
)
from windrow.plan.checks.nodes import shape_of
from windrow.plan.checks.progress import timed_by
from windrow.plan.nodes import (
    AggregateCall,
    Distinct,
    Filter,
    Node,
    OrderedOutput,
    Project,
    Stream,
    WindowAggregate,
    walk,
)
from windrow.plan.types.expressions import column_type
from windrow.query.joining import Joins, fresh_names
from windrow.query.opening import by_partition, open_data, timed, watermark_slack
from windrow.query.running import Result, batches, begin, explain_on, gather
from windrow.query.settings import WindowSettings
from windrow.semantics.progress.policies import AtEnd, External, Idle, Ordered, Policy, Slack, SlackRows
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal
from windrow.semantics.windows.kinds import Align, Window
from windrow.sources.addresses import without_secrets

if TYPE_CHECKING:
    import pandas
    import polars
    from pyspark.sql import DataFrame, SparkSession

    from windrow.physical.costs import Statistics
    from windrow.pipeline.metrics import Metrics
    from windrow.sources.base import Source


def stream(
    data: Any,
    *,
    time: str,
    progress: Policy | None = None,
    name: str | None = None,
    idle: Idle | Length | None = None,
    schema: pa.Schema | None = None,
) -> Query:
    """A query over all rows of a stream; `time` is its progressing attribute.

    `data` is a path, an Arrow table or reader, a pandas or polars frame, a DataFrame of PySpark (static or
    streaming), or an iterator of elements. Without `progress`, only the end of the input is a promise, or, for a
    DataFrame with a watermark on `time`, the delay of that watermark is the slack.
    """
    if progress is not None and not isinstance(progress, (AtEnd, Ordered, Slack, SlackRows, External)):
        raise QueryError(
            "must be a progress policy",
            parameter="progress",
            value=progress,
            hint="wr.slack('60 s'), wr.ordered(), wr.punctuated() or wr.at_end()",
        )
    for parameter, value, kind in (("name", name, str), ("schema", schema, pa.Schema)):
        if value is not None and not isinstance(value, kind):
            hint = "name='trades'" if kind is str else "schema=pa.schema([('time', pa.int64())])"
            raise QueryError(f"must be a {kind.__name__}", parameter=parameter, value=value, hint=hint)
    path = without_secrets(str(data)) if isinstance(data, (str, Path)) else None
    name = name or _name_from(path)
    source = open_data(data, name=name, schema=schema)
    progress = progress or watermark_slack(source, time)
    waits = idle if idle is None or isinstance(idle, Idle) else make_idle(idle)
    node = Stream(name, source.schema, time, progress or AtEnd(), waits, path)
    source, node = by_partition(source, node)
    shape_of(node)
    return Query(node, {name: timed(source, time)})


def _name_from(path: str | None) -> str:
    """A stream is named after its file, where that makes a name."""
    stem = re.sub(r"\W+", "_", Path(path.partition("?")[0]).name.split(".")[0]).strip("_") if path else ""
    return stem if stem and not stem[0].isdigit() else "stream"


def to_expression(value: str | Expression, schema: pa.Schema, plan: Node | None = None) -> Expression:
    """A column by its exact name, else an expression read from text; expressions stay as they are."""
    if isinstance(value, (Column, Literal, Call)):
        return value
    if not isinstance(value, str):
        raise QueryError(
            "must be text or an expression", parameter="expression", value=value, hint="write it like 'price * 2'"
        )
    if schema.get_all_field_indices(value):
        return Column(value)
    from windrow.language import parse_expression

    return parse_expression(value, schema, plan)


def _named(columns: Iterable[Any], schema: pa.Schema) -> Iterator[str]:
    """The columns of these names; a list of names stands for those in it."""
    for name in columns:
        if isinstance(name, (list, tuple)):
            yield from _named(name, schema)
        elif not isinstance(name, str):
            raise QueryError(
                "must be the name of a column",
                parameter="columns",
                value=name,
                hint="give names, and expressions by keyword: group_by('symbol', hour='hour(time)')",
            )
        else:
            column_type(name, schema)
            yield name


class GroupingSteps(WindowSettings):
    """The steps that set for which groups and windows there are results, in either order; go on with `agg(...)`."""

    def _grouped(self) -> GroupedQuery:
        raise NotImplementedError

    def group_by(self, *columns: str | Sequence[str], **expressions: str | Expression) -> GroupedQuery:
        """Groups by columns, then by expressions with names: `group_by("symbol", hour="hour(time)")`."""
        grouped = self._grouped()
        return replace(grouped, keys=grouped.keys + grouped.query._columns(columns, expressions))

    def window(
        self,
        *,
        range: Length | None = None,
        slide: Length | None = None,
        origin: Length | datetime | date | None = None,
        gap: Length | None = None,
        rows: int | None = None,
        on: str | None = None,
        by: str | None = None,
        partition: str | tuple[str, ...] = (),
        order_by: str | None = None,
        align: Align | str | None = None,
    ) -> GroupedQuery:
        """One window: sliding (`range`, `slide`), tumbling (`range` alone), session (`gap`), landmark
        (`range="unbounded"`, `slide`), the last rows (`rows`, or `range="100 rows"`), or per row (`slide="1 row"`).

        `partition` names columns that the results are grouped by, and of whose every value the last rows are meant;
        `on` may be any time of a join below, or "earlier" or "later" of both; `order_by` counts rows by the progressing
        attribute, where otherwise they count as they arrive; `align="start"` has windows start at multiples of a slide
        that does not divide their range, where otherwise they end there.
        """
        if rows is not None and range is not None:
            raise QueryError("does not go with range", parameter="rows", value=rows, hint="say range='100 rows'")
        length = range if rows is None else f"{rows} rows"
        timed = on or order_by
        grouped = self._grouped()
        query = grouped.query if timed is None else grouped.query._with(timed_by(grouped.query.plan, timed))
        parts = tuple(_named([partition], query.schema))
        spec = WindowSpec(length, slide, origin, gap, on, by, parts, order_by, align)
        return replace(grouped, query=query, spec=spec.window(shape_of(query.plan)), partition=parts)


@dataclass(frozen=True, eq=False)
class Query(GroupingSteps, Joins):
    """A plan and the data its streams are bound to. Nothing runs until an answer is asked for."""

    plan: Node
    sources: Mapping[str, Source] = field(repr=False)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the answer."""
        return shape_of(self.plan).bounded_answer

    def _with(self, plan: Node) -> Query:
        shape_of(plan)
        return Query(plan, self.sources)

    def where(self, predicate: str | Expression) -> Query:
        """The rows for which the predicate is true."""
        return self._with(Filter(self.plan, to_expression(predicate, self.schema, self.plan)))

    def having(self, predicate: str | Expression) -> Query:
        """The results for which the predicate is true; it reads the columns of the answer."""
        if not is_aggregated(self.plan):
            raise QueryError("comes after agg(...)", parameter="having", hint="use where(...) for the rows themselves")
        return self.where(predicate)

    def select(self, *columns: str | Sequence[str], **expressions: str | Expression) -> Query:
        """These columns, then new ones from expressions: `select("symbol", value="price * volume")`."""
        return self._with(Project(self.plan, self._columns(columns, expressions)))

    def _columns(
        self, columns: Iterable[Any], expressions: Mapping[str, str | Expression]
    ) -> tuple[tuple[str, Expression], ...]:
        schema = self.schema
        made = ((name, to_expression(text, schema, self.plan)) for name, text in expressions.items())
        return *((name, Column(name)) for name in _named(columns, schema)), *made

    def distinct(self) -> Query:
        """Each different row once."""
        return self._with(Distinct(self.plan))

    def union(self, *others: Query) -> Query:
        """All rows of all queries as they come; progress is the least of all."""
        plans, sources = [self.plan], dict(self.sources)
        for other in others:
            if not isinstance(other, Query):
                raise QueryError("must be a query", parameter="other", value=other, hint="wr.stream(...) makes one")
            names = fresh_names(other.sources, sources)
            plans.append(align(rename_streams(other.plan, names), shape_of(self.plan).schema.names))
            sources.update({names[name]: source for name, source in other.sources.items()})
        plan = flatten_union(*plans) if others else self.plan
        shape_of(plan)
        return Query(plan, sources)

    def ordered_output(self) -> Query:
        """The results in order of the progressing attribute, ties by the other columns; the last step of a query."""
        return self._with(OrderedOutput(self.plan))

    def _grouped(self) -> GroupedQuery:
        return GroupedQuery(self)

    def _set(self, **settings: Any) -> Query:
        return self._with(change_windows(self.plan, **settings))

    def run(self, **options: Any) -> Result:
        """Run to the end and keep the answer, the late rows and the metrics.

        A streaming DataFrame has no end: what is there now is read, then everything is closed.

        Options: engine, on_progress, metrics_port and metrics_host (where metrics and health are served over HTTP for
        as long as it runs; port 0 is one that is free), batch_rows, checkpoint, restore, statistics (of the stream, to
        choose strategies by); in process also threads, checkpoint_every (rows) and batch_wait (how long rows of an
        iterator wait for others, "10 ms" by default); on Spark also spark (the session), shards, memory,
        rate and json_lines; in hardware instead algorithm, variant, widths, groups, time_width, simulator and others.
        """
        return gather([self.plan], [self.sources], **options)[0][0]

    def collect(self, **options: Any) -> pa.Table:
        """The answer as an Arrow table, sorted by window end, then by its columns; options as in `run`."""
        return self.run(**options).table

    def batches(self, **options: Any) -> Iterator[pa.RecordBatch]:
        """The results as windows close, batch by batch; options as in `run`.

        Over a streaming DataFrame they come until the iterator is closed, and no window is closed before its time.
        """
        return batches(self.plan, self.sources, **options)

    def start(self, **options: Any) -> Run[pa.RecordBatch]:
        """Start the query and go on: the `Run` gives its results as windows close, and stops or closes it.

        Options as in `run`. A streaming DataFrame is followed until the run is stopped or closed. With `metrics_port`,
        metrics are served until it is stopped or nobody holds it any more; its `metrics_url` says where.
        """
        return begin([self.plan], [self.sources], untagged, follow=True, **options)

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """The answer as a pandas frame; options as in `run`."""
        _need("pandas")
        return self.collect(**options).to_pandas()

    def to_polars(self, **options: Any) -> polars.DataFrame:
        """The answer as a polars frame; options as in `run`."""
        _need("polars")
        import polars

        return polars.DataFrame(self.collect(**options))

    def write(
        self,
        target: str | Path | Callable[[pa.RecordBatch], object],
        *,
        late: str | Path | None = None,
        rejected: str | Path | None = None,
        follow: bool = False,
        **options: Any,
    ) -> Metrics:
        """Write results as windows close: to a `.parquet`, `.csv` or `.jsonl` file, an address, or a function that
        takes batches; options as in `run`.

        The text files grow under their name; a run that breaks off leaves what it gave up to then. With `follow`,
        streams that have no end are followed until someone interrupts it.
        """
        from windrow.query.writing import write_results

        return write_results(self.plan, self.sources, target, late, rejected, follow=follow, **options)

    def to_spark(self, spark: SparkSession | None = None, **settings: Any) -> DataFrame:
        """The answer as a plain DataFrame, streaming unless all data is static: go on with it as with any other.

        Settings: batch_rows and rate of replayed files, partitions (tasks that read them), close (end the streams
        when all that is there has been read; a run from the same checkpoint closes what is open), flush and what
        belongs to it.
        """
        from windrow.query.frames import make_frames

        return make_frames(self, spark, settings).results

    def late_to_spark(self, spark: SparkSession | None = None, **settings: Any) -> DataFrame:
        """The late rows of LATE SIDE as a DataFrame: the row, how late it was, the windows it missed, its source."""
        from windrow.query.frames import make_frames

        return make_frames(self, spark, settings).late

    def explain(self, engine: str | None = None, *, statistics: Statistics | None = None) -> str:
        """The plan as text, with the strategy and its reasons; on Spark also how it is divided there.

        Without an engine, the one that the query would run on. With statistics of the stream, strategies are chosen by
        the time and the memory that each would take, which is shown, too.
        """
        return explain_on(self.plan, self.sources, engine, statistics)

    def sql(self) -> str:
        """The query as SQL text, after the declarations of its streams."""
        from windrow.language import stream_sql, to_sql

        streams = dict.fromkeys(node for node in walk(self.plan) if isinstance(node, Stream))
        return ";\n".join([*map(stream_sql, streams), to_sql(self.plan)])


def _need(package: str) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise ConfigurationError(
            "is not installed", parameter=package, hint=f"pip install windrow[{package}], or use collect() for Arrow"
        )


@dataclass(frozen=True, eq=False)
class GroupedQuery(GroupingSteps):
    """Rows that wait for their aggregates: groups and a window, in either order, then `agg(...)`."""

    query: Query
    keys: tuple[tuple[str, Expression], ...] = ()
    spec: Window | None = None
    partition: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def _grouped(self) -> GroupedQuery:
        return self

    def _set(self, **settings: Any) -> GroupedQuery:
        return replace(self, settings={**self.settings, **settings})

    def agg(self, **named: AggregateSpec) -> Query:
        """The aggregates of each window and group under their names: `agg(number=wr.count())`."""
        if self.spec is None:
            raise QueryError(
                "must be given before agg(...), because state would be unbounded",
                parameter="window",
                hint="say window(range='10 min', slide='1 min'), or window(range='unbounded', slide='1 min')",
            )
        schema = self.query.schema
        calls = tuple(self._call(name, spec, schema) for name, spec in named.items())
        known = [expression for _, expression in self.keys]
        keys = self.keys + tuple((name, Column(name)) for name in self.partition if Column(name) not in known)
        node = WindowAggregate(self.query.plan, self.spec, keys, calls, **as_said(self.settings))
        return self.query._with(node)

    def _call(self, name: str, spec: AggregateSpec, schema: pa.Schema) -> AggregateCall:
        if not isinstance(spec, AggregateSpec):
            raise QueryError("must be an aggregate", parameter=name, value=spec, hint=f"say {name}=wr.sum('price')")
        argument = None if spec.argument is None else to_expression(spec.argument, schema, self.query.plan)
        return AggregateCall(name, spec.function, argument, spec.parameters)
