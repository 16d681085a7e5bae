"""The command line: one file a command, each loaded when it is called, so that help is quick."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from windrow import __version__
from windrow.cli.exits import clear_endings
from windrow.errors import WindrowWarning

COMMANDS = {
    "run": "Run the queries of a SQL file and show or write their answers.",
    "explain": "Show how the queries of a SQL file would be computed, and why.",
    "synth": "Turn a query into a circuit: Verilog, simulated and compared with the software.",
    "generate": "Write a stream that arrives out of order, to try queries on.",
    "send": "Send the rows of a file as a live stream, over UDP or TCP.",
    "compile": "Compile the hot loops now, so that the first query need not.",
    "calibrate": "Measure what the estimates of explain rest on, and keep it.",
}


class LazyGroup(click.Group):
    """Commands live in modules of their names and are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"windrow.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        with warnings.catch_warnings(), clear_endings():
            warnings.showwarning = _show(warnings.showwarning)
            return super().invoke(ctx)


def _show(usual: Callable[..., None]) -> Callable[..., None]:
    """Warnings of Windrow in one line, without the place in its code."""

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, WindrowWarning):
            click.echo(f"Warning: {message}.", err=True)
        else:
            usual(message, category, *where)

    return show


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="windrow")
def main() -> None:
    """Window queries over data streams that arrive out of order.

    \b
    Try it:
      windrow generate trades trades.parquet --rows 100000 --disorder "band 30 s"
      windrow run -e "CREATE STREAM trades FROM 'trades.parquet' PROGRESS ON time SLACK 30 SECONDS;
        SELECT symbol, count(*) AS number FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE WATTR time]
        GROUP BY symbol"

    Every command explains itself: windrow run --help.
    """
