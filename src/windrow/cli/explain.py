"""`windrow explain`: the plan, the strategy and the reasons, without running anything."""

from __future__ import annotations

import click

from windrow.cli.texts import read_queries, text_options


@click.command("explain")
@text_options
def command(file: str | None, text: str | None, bindings: tuple[str, ...]) -> None:
    """Show how the queries of FILE would be computed, and why. FILE may be - for standard input.

    \b
    Example:
      windrow explain trades.sql
    """
    queries = read_queries(file, text, bindings)
    click.echo("\n\n".join(query.explain() for query in queries))
