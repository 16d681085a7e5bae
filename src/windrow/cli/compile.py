"""`windrow compile`: compile the hot loops now, so that the first query need not."""

from __future__ import annotations

import time

import click


@click.command("compile")
def command() -> None:
    """Compile the hot loops once for this machine and keep them; takes about half a minute, seconds when done before.

    \b
    Example:
      windrow compile
    """
    from windrow.cli.progress import stepping
    from windrow.engines.local.compiling import (
        compile_blocks,
        compile_datagrams,
        compile_for,
        small_joins,
        small_queries,
    )
    from windrow.engines.spark.session.worker import compile_two_levels

    started = time.perf_counter()
    queries = [*small_queries(), *small_joins()]
    with stepping("compiling", len(queries) + 2) as step:
        for name, plan in queries:
            step(name)
            compile_for(plan)
            compile_two_levels(plan)
        step("blocks of kept rows")
        compile_blocks()
        step("datagrams")
        compile_datagrams()
    click.echo(f"compiled in {time.perf_counter() - started:.1f} s", err=True)
