"""`windrow run`: answers to the terminal or to a file, progress and the account of rows to standard error."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from windrow.cli.circuits import FLAGS, circuit_options, circuit_settings
from windrow.cli.circuits import NAMES as CIRCUIT_NAMES
from windrow.cli.exits import Interrupted
from windrow.cli.logs import say
from windrow.cli.operating import Operation, check_operating, kind_of_log, operated, operating_options, told_endings
from windrow.cli.texts import compress_option, compressed, read_queries, text_options
from windrow.errors import ConfigurationError, reason_of

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.pipeline.metrics import Metrics
    from windrow.query import Query
    from windrow.query.places import Outputs

ONLY = {
    "local": ("threads", "every", "memory_budget", "once", "rejected"),
    "spark": ("shards", "max_shards", "memory", "memory_budget", "rate", "json_lines", "once", "rejected"),
    "hardware": CIRCUIT_NAMES,
}
"""Options that not all engines have."""
RUNNING = ("checkpoint", "batch_rows", "flush", "flush_rows", "flush_windows")
"""Options of engines that run for long, which a simulation does not."""
OPTIONS = {"local": {"every": "checkpoint_every", "memory_budget": "memory"}, "spark": {}}
"""What an engine calls options that have another name here."""
_COUNT = click.IntRange(min=1, max=2**62 - 1)


class _Every(click.ParamType):  # type: ignore[type-arg]  # a generic in later versions of click only
    """A number of rows, or a length of time, which the engine reads."""

    name = "rows or a length of time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return _COUNT.convert(value, param, ctx) if value.strip().lstrip("+-").isdigit() else value


@click.command("run")
@text_options
@click.option(
    "--engine",
    type=click.Choice(["spark", "local", "hardware"]),
    help="Where to run; spark, unless a stream is read that only this process can (local). hardware: on a simulated "
    "circuit, see windrow synth.",
)
@click.option(
    "--output",
    metavar="PATH",
    help="Write the answer to .parquet, .csv or .jsonl instead of the terminal, or to kafka://HOST:PORT/TOPIC; on "
    "Spark also to table:NAME, parquet:FOLDER, json:FOLDER, csv:FOLDER or console:.",
)
@click.option("--late", metavar="PATH", help="Write late rows with the windows they missed (LATE SIDE).")
@click.option("--rejected", metavar="PATH", help="Write messages that no row could be made of, and why.")
@click.option(
    "--strategy",
    metavar="NAME",
    help="How to compute, whatever the text says: auto; for windows panes, wid, adaptive, buffer; for joins index, "
    "scan, handshake, opib.",
)
@compress_option
@click.option("--checkpoint", metavar="DIR", help="Keep the state of the run in DIR.")
@click.option("--restore", is_flag=True, help="Go on from the last checkpoint in DIR.")
@click.option("--batch-rows", type=_COUNT, metavar="N", help="Rows a micro-batch; in process, a batch.")
@click.option("--metrics", metavar="PATH", help="Write the counts of the run as JSON; - is standard output.")
@click.option("--limit", type=_COUNT, metavar="N", help="Show at most N rows of an answer.")
@click.option("--shards", type=_COUNT, metavar="N", help="Spark: into how many shards groups go; may change later.")
@click.option("--max-shards", type=_COUNT, metavar="N", help="Spark: how many shards there can ever be.")
@click.option(
    "--memory-budget",
    metavar="SIZE",
    help="Kept rows beyond this size, such as '2 GB', go to the disk; the run takes longer.",
)
@click.option("--memory", metavar="SIZE", help="Spark: memory of the embedded JVM, such as 4g.")
@click.option("--rate", type=click.FloatRange(min=1), metavar="N", help="Spark: replay at N rows a second.")
@click.option("--json-lines", metavar="PATH", help="Spark: write the metrics of every micro-batch as JSON lines.")
@click.option("--once", is_flag=True, help="Stop when what is there now has been read.")
@click.option("--threads", type=_COUNT, help="In process: threads to use.")
@click.option("--every", type=_Every(), metavar="N", help="In process: checkpoint every N rows, or every '10 s'.")
@click.option(
    "--flush",
    type=click.Choice(["eager", "slow", "lazy"]),
    help="Whether closed windows are given at once, or in slices between batches.",
)
@click.option("--flush-rows", type=_COUNT, metavar="N", help="Groups in a slice.")
@click.option("--flush-windows", type=_COUNT, metavar="N", help="Windows by which slices may be late.")
@operating_options
@circuit_options
def command(file: str | None, text: str | None, bindings: tuple[str, ...], **settings: Any) -> None:
    """Run the queries of FILE together and show their answers. FILE may be - for standard input.

    \b
    Example, with trades.sql:
      CREATE STREAM trades (symbol STRING, price INT, volume INT, time TIMESTAMP)
        FROM 'trades.parquet' PROGRESS ON time SLACK 60 SECONDS;
      SELECT symbol, count(*) AS number
      FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE WATTR time]
      GROUP BY symbol;

    \b
    Streams join in windows, in intervals of time, or as of a time:
      SELECT t.symbol, t.price, q.bid, t.time
      FROM trades AS t ASOF JOIN quotes AS q
        ON t.symbol = q.symbol AND t.time >= q.time;

    \b
      windrow run trades.sql
      windrow run trades.sql --engine local
      windrow run trades.sql --engine hardware --algorithm wid --width volume=24
      windrow run trades.sql --output answer.parquet --late late.parquet
      windrow run trades.sql --checkpoint state --output parquet:answers
      windrow run trades.sql --set trades=other.parquet --strategy wid
      windrow run trades.sql --checkpoint state --metrics-port 9464 --log json --restart on-failure
    """
    with told_endings(settings):
        queries = _read(file, text, bindings, settings)
        live = any(_is_live(query, settings) or _has_no_end(query) for query in queries)
        with told_endings({**settings, "log": kind_of_log(settings, live=live)}):
            _run(queries, settings, live=live)


def _run(queries: Sequence[Query], settings: dict[str, Any], *, live: bool) -> None:
    """All queries, and what is written about their run."""
    if len(queries) > 1:
        _refuse_shared_files(settings, len(queries))
    if settings["metrics"]:
        _write_metrics(settings["metrics"], None)
    with _in_words_of_the_command(settings), operated(queries, settings, live=live) as operation:
        done = operation.repeat(lambda asked: run_queries(queries, asked, operation))
    if settings["metrics"]:
        _write_metrics(settings["metrics"], _text_of(done))


def _read(file: str | None, text: str | None, bindings: tuple[str, ...], settings: dict[str, Any]) -> Sequence[Query]:
    """The queries, once the settings are right; where to run is decided by what they read, unless it is said."""
    _check(settings)
    if settings["engine"]:
        _check_engine(settings)
    in_process = settings["engine"] not in ("spark", None)
    queries = read_queries(file, text, bindings, _outputs(settings), in_process=in_process)
    if not settings["engine"]:
        read = [source for query in queries for source in query.sources.values()]
        here = any(source.in_process_only or source.is_endless for source in read)
        settings["engine"] = "local" if here else "spark"
        _check_engine(settings)
    return queries


@contextmanager
def _in_words_of_the_command(settings: dict[str, Any]) -> Iterator[None]:
    """What ends a run names flags, not parameters, and says how to go on."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        way_on = "The same command with --restore goes on." if settings["checkpoint"] else ""
        raise Interrupted(interrupt, way_on) from interrupt
    except ConfigurationError as error:
        flags = {called: _flag(name) for name, called in OPTIONS.get(settings["engine"], {}).items()}
        error.parameter = flags.get(error.parameter or "", error.parameter)
        raise


def _flag(name: str) -> str:
    return FLAGS.get(name, "--" + name.replace("_", "-"))


def _check(settings: dict[str, Any]) -> None:
    check_operating(settings)
    for name, value in settings.items():
        if value == "":
            hint = "leave the option out, or see to the variable that was to fill it"
            raise ConfigurationError("must not be empty", parameter=_flag(name), hint=hint)
    for name in ("every", "restore"):
        if settings[name] and not settings["checkpoint"]:
            raise ConfigurationError("needs --checkpoint DIR", parameter=_flag(name))
    for name in ("flush_rows", "flush_windows"):
        if settings[name] and settings["flush"] in (None, "eager"):
            raise ConfigurationError("needs --flush slow or --flush lazy", parameter=_flag(name))
    if settings["limit"] and settings["output"]:
        raise ConfigurationError("is for the terminal", parameter="--limit", hint="leave out --limit or --output")


def _check_engine(settings: dict[str, Any]) -> None:
    """Refuse what the engine has not."""
    for other in (engine for engine in ONLY if engine != settings["engine"]):
        for name in ONLY[other]:
            if settings[name] and name not in ONLY[settings["engine"]]:
                hint = f"leave it out, or say --engine {other}"
                raise ConfigurationError(f"is for the {other} engine", parameter=_flag(name), hint=hint)
    for name in RUNNING if settings["engine"] == "hardware" else ():
        if settings[name]:
            hint = "leave it out, or say --engine local"
            raise ConfigurationError("is not for the hardware engine", parameter=_flag(name), hint=hint)


def _outputs(settings: dict[str, Any]) -> Outputs:
    """All that the run writes, by the flag that names it."""
    from windrow.query.places import Outputs

    names = ("output", "late", "rejected", "metrics", "json_lines", "checkpoint", "vcd")
    return Outputs({_flag(name): settings[name] for name in names})


def _refuse_shared_files(settings: dict[str, Any], count: int) -> None:
    for name in ("output", "late", "rejected", "checkpoint"):
        if settings[name]:
            raise ConfigurationError(
                "takes one query", parameter=f"--{name}", value=f"{count} of them", hint="put each in its own file"
            )


def _notes(queries: Sequence[Query], settings: dict[str, Any]) -> Iterator[str]:
    """What somebody should know who runs these."""
    from windrow.physical.explain.notes import endless_notes, week_notes

    for query in queries:
        yield from week_notes(query.plan)
        named = query.sources.items()
        endless = [name for name, one in named if one.is_endless or getattr(one, "is_streaming", False)]
        yield from endless_notes(query.plan, [] if settings["once"] else endless)


def run_queries(queries: Sequence[Query], settings: dict[str, Any], operation: Operation) -> list[Metrics]:
    """Run queries to their sinks, report on the way; close with the account of the rows of each, and what was lost."""
    from windrow.cli.progress import closing_line, native_line, warning_lines
    from windrow.operations.narrator import account

    queries = [_adjusted(query, settings) for query in queries]
    for note in dict.fromkeys(_notes(queries, settings)):
        say("note", note)
    if any(_is_live(query, settings) for query in queries):
        done = [_run_live(query, settings, operation) for query in queries]
    else:
        done = _run_to_the_end(queries, settings, operation)
    for query, metrics in zip(queries, done, strict=True):
        say("account", closing_line(metrics), **account(metrics))
        for strategy, *reasons in metrics.strategies:
            say("strategy", f"strategy {strategy}: {'; '.join(reasons)}")
        if settings["engine"] == "spark" and (native := native_line(query.plan, metrics)):
            say("note", native)
    for line in warning_lines(queries, done):
        say("warning", line, level=logging.WARNING, bold=True)
    return done


def _has_no_end(query: Query) -> bool:
    """Whether a source of the query may give rows for ever, on whatever engine."""
    return any(source.is_live for source in query.sources.values())


def _is_live(query: Query, settings: dict[str, Any]) -> bool:
    """Whether Spark itself reads or writes: from streams it follows, or to an address of its own."""
    from windrow.sources.addresses import scheme_of

    addressed = [scheme_of(settings[name] or "") for name in ("output", "late", "rejected")]
    followed = any(getattr(source, "is_streaming", False) for source in query.sources.values())
    return settings["engine"] == "spark" and (followed or any(addressed))


def _run_live(query: Query, settings: dict[str, Any], operation: Operation) -> Metrics:
    from windrow.cli.progress import closing_line, reporting
    from windrow.engines.run import Receiver, untagged
    from windrow.query.running import begin

    if not settings["output"]:
        raise ConfigurationError(
            "must be given, because the stream may never end",
            parameter="--output",
            hint="say console: to see results as they come, or a folder such as parquet:answers",
        )
    last: list[Metrics] = []

    def on_progress(metrics: Metrics) -> None:
        last[:] = [metrics]
        report(metrics)

    into = Receiver.of_one(lambda _: None)
    places = {"output": settings["output"], "late_output": settings["late"], "rejected_output": settings["rejected"]}
    inner = {**places, "once": settings["once"]}
    attended = {"attendance": operation.attendance, **_engine_options(settings)}
    asked: dict[str, Any] = {"engine": "spark", "inner": inner, **attended}
    try:
        with reporting(_domain_of(query), None, "starting Spark") as report:
            run = begin([query.plan], [query.sources], untagged, into=into, on_progress=on_progress, **asked)
    except KeyboardInterrupt:  # which is how a stream without an end comes to one
        for metrics in last:
            say("account", closing_line(metrics))
        raise
    return run.metrics


def _run_to_the_end(queries: Sequence[Query], settings: dict[str, Any], operation: Operation) -> list[Metrics]:
    from windrow.cli.progress import reporting
    from windrow.engines.run import tagged
    from windrow.query.running import begin
    from windrow.query.writing import open_outputs, receiver_of
    from windrow.sinks.terminal import LIMIT

    on_spark, target, limit = settings["engine"] == "spark", settings["output"] or "-", settings["limit"] or LIMIT
    # The terminal shows rows as micro-batches end; those of several queries would be mixed up.
    endless = any(source.is_endless for query in queries for source in query.sources.values())
    grows = (on_spark or endless) and not settings["output"] and len(queries) == 1

    def show(query: int, batch: pa.RecordBatch) -> None:
        if grows:
            report.make_way()
        receiver.on_result(query, batch)

    with ExitStack() as outputs:  # which close in the order of the queries: the last one that was opened first
        named = {"limit": limit, "rejected": settings["rejected"], "live": grows}
        made = [open_outputs(query.plan, target, settings["late"], **named) for query in queries]
        opened = [outputs.enter_context(output) for output in reversed(made)][::-1]
        receiver = receiver_of(opened, endless=endless)
        # The report ends before the outputs close, so that it never draws over a table.
        with reporting(_domain_of(queries[0]), _total_rows(queries), "starting Spark" if on_spark else "") as report:
            run = begin(
                [query.plan for query in queries],
                [query.sources for query in queries],
                tagged,
                into=replace(receiver, on_result=show),
                follow=endless and not settings["once"],
                on_progress=report,
                engine=settings["engine"],
                attendance=operation.attendance,
                **_engine_options(settings),
            )
    return run.each


def _adjusted(query: Query, settings: dict[str, Any]) -> Query:
    """The query with the settings of the command; --late asks for late rows only where the query does not."""
    from windrow.plan.nodes import Join, Late, WindowAggregate, walk

    query = query.strategy(settings["strategy"]) if settings["strategy"] else query
    query = compressed(query, settings["compress"])
    late = (node.late for node in walk(query.plan) if isinstance(node, (WindowAggregate, Join)))
    return query.late("side") if settings["late"] and all(one is Late.DROP for one in late) else query


def _engine_options(settings: dict[str, Any]) -> dict[str, Any]:
    if settings["engine"] == "hardware":
        return circuit_settings(settings)
    names = (*RUNNING, *ONLY[settings["engine"]])
    called = OPTIONS[settings["engine"]]
    options = {
        called.get(name, name): settings[name] for name in names if settings[name] and name not in ("once", "rejected")
    }
    return {**options, "restore": settings["restore"]} if settings["checkpoint"] else options


def _domain_of(query: Query) -> Any:
    from windrow.plan.checks.nodes import shape_of
    from windrow.plan.nodes import Stream, walk

    return next(shape_of(node).domain for node in walk(query.plan) if isinstance(node, Stream))


def _total_rows(queries: Sequence[Query]) -> int | None:
    """The rows that the queries take, each its own."""
    totals = [source.total_rows for query in queries for source in query.sources.values()]
    return None if None in totals else sum(total or 0 for total in totals)


def _text_of(done: list[Metrics]) -> str:
    content = [metrics.to_dict() for metrics in done]
    return json.dumps(content[0] if len(content) == 1 else content, indent=2) + "\n"


def _write_metrics(path: str, text: str | None) -> None:
    """With None nothing is written: a file that cannot be is found out before the run."""
    from windrow.sinks.base import unwritable
    from windrow.sources.addresses import own_path

    if path == "-":
        click.echo(text or "", nl=False)
        return
    file = own_path(path)
    is_new = not file.exists()
    try:
        with file.open("a" if text is None else "w", encoding="utf-8") as out:
            out.write(text or "")
        if text is None and is_new:
            file.unlink()
    except OSError as error:
        raise unwritable(path, reason_of(error), "--metrics") from None
