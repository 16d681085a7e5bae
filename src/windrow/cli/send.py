"""`windrow send`: the rows of a file as a live stream, at a pace, out of order, over UDP or TCP."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from windrow.cli.exits import Interrupted
from windrow.errors import ConfigurationError

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.sinks.sending import Emitting
    from windrow.sources import Source

_TIMES = ("time", "ts", "timestamp")


@click.command("send")
@click.argument("file")
@click.option("--to", "address", required=True, metavar="ADDRESS", help="udp://HOST:PORT or tcp://HOST:PORT.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Rows a second; all at once.")
@click.option("--time", metavar="NAME", help="The column of the time, where it is not called time or ts.")
@click.option("--disorder", metavar="TEXT", help='How rows arrive: "band 3 s" or "block 60 s"; as in the file.')
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same disorder.")
@click.option("--punctuate", metavar="EVERY", help='Exact promises so often in the time of the rows, such as "1 s".')
@click.option(
    "--frames",
    type=click.Choice(["packed", "bare", "json", "csv"]),
    help="How rows are written: packed over UDP, json over TCP.",
)
@click.option("--types", metavar="CODES", help="How wide columns are in packed and bare frames, such as s4,i4,i4,i4.")
@click.option("--order", type=click.Choice(["little", "big"]), help="Which byte of a number comes first.")
@click.option("--size", type=click.IntRange(64, 65507), metavar="BYTES", help="The largest datagram; 1472.")
@click.option(
    "--gso/--no-gso", default=True, show_default=True, help="Have the kernel cut large pieces into datagrams."
)
@click.option(
    "--loop",
    is_flag=False,
    flag_value=0,
    type=click.IntRange(min=0),
    metavar="[N]",
    help="Again and again, or N times, each time later by the span of the file.",
)
@click.option("--wait", metavar="DURATION", help="Wait so long for somebody who listens.")
@click.option("--no-end", is_flag=True, help="Do not say at the end that nothing more comes.")
def command(file: str, address: str, **settings: Any) -> None:
    """Send the rows of FILE (.parquet, .csv, .jsonl, a folder, a pattern).

    \b
    Examples:
      windrow send trades.parquet --to "udp://127.0.0.1:9000" \\
        --types s5,i4,i4,t8us --rate 1000000 --disorder "band 30 s"
      windrow send trades.csv --to tcp://127.0.0.1:9000 --frames csv --loop
    """
    from windrow.sinks.sending import open_emitting
    from windrow.sources import open_source

    source = open_source(file, name="FILE")
    replay = _Rounds(source, settings)
    with closing(open_emitting(_address(address, settings), source.schema)) as sending:
        began = monotonic()
        try:
            _send(replay, sending, settings)
        except KeyboardInterrupt as interrupt:
            raise Interrupted(interrupt, sending.account(address, monotonic() - began)) from interrupt
        click.echo(sending.account(address, monotonic() - began), err=True)


def _address(address: str, settings: dict[str, Any]) -> str:
    """The address with what flags say of frames; what stands in it itself stays."""
    from windrow.sources.addresses import options_of, scheme_of

    if scheme_of(address) not in ("udp", "tcp"):
        raise ConfigurationError(
            "must be udp://HOST:PORT or tcp://HOST:PORT", parameter="--to", value=address, hint="udp://127.0.0.1:9000"
        )
    said = options_of(address)[1]
    flags = {
        name: settings[name] for name in ("frames", "types", "order", "size", "wait") if settings[name] is not None
    }
    if scheme_of(address) == "udp" and not settings["gso"]:
        flags["offload"] = "off"
    for name in flags:
        if name in said:
            raise ConfigurationError("must be said once", parameter=f"--{name}", value=address, hint="leave one out")
    options = "&".join(f"{name}={value}" for name, value in flags.items())
    return address if not options else f"{address}{'&' if '?' in address else '?'}{options}"


def _send(rounds: _Rounds, sending: Emitting, settings: dict[str, Any]) -> None:
    from windrow.sinks.pacing import Pace

    pace = Pace(settings["rate"])
    hidden = not sys.stderr.isatty() or not rounds.total_rows
    shown: Any = click.progressbar(length=rounds.total_rows, file=sys.stderr, label="sending", hidden=hidden)
    with shown as bar:
        for element in rounds:
            if isinstance(element, int):
                sending.punctuation(element)
                continue
            start = 0
            while start < element.num_rows:
                rows = pace.due(element.num_rows - start)
                sending.rows(element.slice(start, rows))
                bar.update(rows)
                start += rows
    if not settings["no_end"]:
        sending.end()


class _Rounds:
    """The rows of a source, as often as they are asked for; each round is later than the one before."""

    def __init__(self, source: Source, settings: dict[str, Any]) -> None:
        from windrow.generate.disorder import parse_disorder
        from windrow.generate.replay import Rearranged

        self.source, self.settings = source, settings
        needed = any(settings[name] is not None for name in ("disorder", "punctuate", "loop"))
        self.time = _time_of(source, settings["time"]) if needed or settings["time"] else ""
        disorder = None if settings["disorder"] is None else parse_disorder(settings["disorder"])
        every = None if settings["punctuate"] is None else _units(settings["punctuate"], source, self.time)
        self.replay = Rearranged(self.time, disorder, every, settings["seed"])

    @property
    def total_rows(self) -> int | None:
        rows, rounds = self.source.total_rows, self.settings["loop"]
        if rows is None or rounds == 0:
            return None
        return rows * (1 if rounds is None else rounds)

    def __iter__(self) -> Iterator[pa.RecordBatch | int]:
        rounds, number = self.settings["loop"], 0
        if rounds is None:
            yield from self.replay.elements(self._batches(0))
            return
        span = self._span()
        while number < rounds or rounds == 0:
            yield from self.replay.elements(self._batches(number * span))
            number += 1

    def _span(self) -> int:
        """From the first time to behind the last one."""
        from windrow.generate.replay import times_of

        found = [times_of(batch, self.time) for batch in self._batches(0) if batch.num_rows]
        return int(max(times.max() for times in found)) - int(min(times.min() for times in found)) + 1 if found else 0

    def _batches(self, later: int) -> Iterator[pa.RecordBatch]:
        from windrow.generate.replay import shifted
        from windrow.sources import elements_of

        for element in elements_of(self.source):
            assert not isinstance(element, int)
            yield shifted(element, self.time, later) if later else element  # type: ignore[arg-type,misc]


def _time_of(source: Source, named: str | None) -> str:
    names = [named] if named else [name for name in _TIMES if name in source.schema.names]
    if not names or names[0] not in source.schema.names:
        raise ConfigurationError(
            "must be a column of the file",
            parameter="--time",
            value=named or "none",
            allowed=tuple(source.schema.names),
            hint="name the column of the time",
        )
    return names[0]


def _units(text: str, source: Source, time: str) -> int:
    """An amount in microseconds, or for times that are integers in their unit."""
    import pyarrow as pa

    from windrow.semantics.scalars.amounts import Amount, Domain

    domain = Domain.TIME if pa.types.is_timestamp(source.schema.field(time).type) else Domain.INTEGER
    found = Amount.of(int(text) if text.isdigit() else text, "--punctuate").resolve(domain, "--punctuate")
    if found < 1:
        raise ConfigurationError("must be above zero", parameter="--punctuate", value=text)
    return found
