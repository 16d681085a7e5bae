"""`windrow explain`: the plan, the strategy and the reasons, without running anything."""

from __future__ import annotations

import click

from windrow.cli.texts import compress_option, compressed, read_queries, text_options


@click.command("explain")
@text_options
@click.option("--engine", type=click.Choice(["local", "spark", "hardware"]), help="Also show how that engine runs it.")
@compress_option
def command(
    file: str | None, text: str | None, bindings: tuple[str, ...], engine: str | None, compress: str | None
) -> None:
    """Show how the queries of FILE would be computed, what they share, and why. FILE may be - for standard input.

    \b
    Example:
      windrow explain trades.sql
      windrow explain trades.sql --engine spark
      windrow explain trades.sql --engine hardware
    """
    from windrow.query import explain

    queries = read_queries(file, text, bindings, in_process=engine in ("local", "hardware"))
    click.echo(explain([compressed(query, compress) for query in queries], engine))
