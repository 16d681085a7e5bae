"""`windrow generate`: seeded streams that arrive out of order, like those of the papers."""

from __future__ import annotations

import sys
from typing import Any

import click

from windrow.errors import ConfigurationError

KINDS = ("trades", "packets", "bids", "tasks")


@click.command("generate")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("out")
@click.option("--rows", type=click.IntRange(min=1), default=1_000_000, show_default=True, help="How many rows.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same stream.")
@click.option(
    "--disorder",
    metavar="TEXT",
    default="none",
    show_default=True,
    help='How rows arrive: "none", "band 3 s", "block 60 s" or "skewed 0 s, 10 s".',
)
@click.option("--keys", type=click.IntRange(min=1), help="How many different keys.")
@click.option("--skew", metavar="TEXT", help='How rows spread over keys: "uniform", "zipf 1.2" or "groups 5".')
@click.option(
    "--sources", type=click.IntRange(min=1), default=1, show_default=True, help="How many sources are merged."
)
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Rows a second of event time.")
@click.option("--start", metavar="TIME", help="The time of the first row, such as 2024-01-01.")
@click.option("--punctuations", is_flag=True, help="Add a column `punctuation` with exact promises.")
@click.option("--every", metavar="DURATION", help='Event time between punctuations, such as "1 s".')
def command(kind: str, out: str, **settings: Any) -> None:
    """Write a stream of KIND to OUT (.parquet, .csv or .jsonl).

    \b
    KIND is one of
      trades   symbol, price, volume, time
      packets  srcIP, srcPort, destIP, destPort, len, ts
      bids     auction, bidder, bid_price, ts
      tasks    job, task, machine, event, cpu, ram, ts

    \b
    Example:
      windrow generate trades trades.parquet --rows 100000 --disorder "band 30 s"
    """
    from windrow import generate
    from windrow.sinks import open_sink

    if settings["every"] is not None and not settings["punctuations"]:
        raise ConfigurationError("needs --punctuations", parameter="--every")
    rows = settings.pop("rows")
    given = {name: value for name, value in settings.items() if value is not None}
    stream = getattr(generate, kind)(rows, **given)
    shown = click.progressbar(length=rows, file=sys.stderr, label="generating", hidden=not sys.stderr.isatty())
    with open_sink(out, stream.schema) as sink, shown as bar:
        for batch in stream.batches():
            sink.write(batch)
            bar.update(batch.num_rows)
    click.echo(f"{rows:,} rows of {kind} in {out}: {stream.disorder}", err=True)
