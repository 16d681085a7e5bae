"""Live sources: from the row that closes windows to their results, and how fast lines come in.

Latency is measured in this process, for every way in which rows arrive: ten groups, one window of ten rows each time.
Rates are those of `windrow run` in a process of its own, which reads rows that another one pipes into it; beside it the
same rows from a Parquet file. Bar: 50 ms at p99.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
from _figures import Figure, Unit
from _harness import ROOT, Settings, benchmark, piece, side_by_side, verdict

sys.path.insert(0, str(ROOT))
import windrow as wr
from tests.sources.live.feeders import FEEDERS, Feeder
from windrow.generate import trades
from windrow.sinks.text import json_lines

ROUNDS, WARM = 300, 30
BAR = 50e-3
ROWS = 2_000_000
KINDS: dict[str, pa.DataType] = {"t": pa.int64(), "k": pa.string(), "x": pa.int64()}
SCHEMA = pa.schema(KINDS)
SQL = """
CREATE STREAM trades (symbol STRING, price BIGINT, volume BIGINT, time TIMESTAMP)
  FROM '{source}' {format} PROGRESS ON time SLACK 2 SECONDS;
SELECT symbol, count(*) AS n, max(price) AS top
FROM trades [RANGE 60 SECONDS SLIDE 10 SECONDS WATTR time] GROUP BY symbol
"""


def latencies(feeder: Feeder) -> list[float]:
    """Seconds from before a piece of rows is sent until the last result it closes has come."""
    stream = wr.stream(feeder.data, time="t", progress=wr.ordered(), name="s", schema=SCHEMA)
    query = stream.group_by("k").window(range=10).agg(n=wr.count(), total=wr.sum("x"))
    taken = []
    with query.start() as run:
        feeder.begin(run)
        feeder.send([{"t": 0, "k": "first", "x": 1}])
        for number in range(1, ROUNDS + WARM):
            rows = [{"t": 10 * number, "k": f"k{i}", "x": i} for i in range(10)]
            due = 1 if number == 1 else 10
            before = time.perf_counter()
            feeder.send(rows)
            while due:
                due -= next(run).num_rows
            taken.append(time.perf_counter() - before)
        feeder.end()
    feeder.clean()
    return taken[WARM:]


def latency(settings: Settings) -> None:
    lines = []
    for name in settings.chosen(FEEDERS):
        with tempfile.TemporaryDirectory() as folder:
            seconds = piece(name, partial(latencies, FEEDERS[name](Path(folder), SCHEMA)))
        p50, p99, most = np.quantile(seconds, [0.5, 0.99, 1.0]).tolist()
        figures = [Figure.once(found, Unit.SECONDS) for found in (p50, p99, most)]
        lines.append([name, len(seconds), *figures, verdict(p99, BAR, at_most=True)])
    settings.report("rows sent to last result read", ["source", "times", "p50", "p99", "max", "p99 bar 50 ms"], lines)


def run(query: Path, stdin: Path | None) -> str:
    """What the command prints, of rows that are piped into it or of those that the query names."""
    command = f"{Path(sys.executable).parent / 'windrow'} run {query} --engine local --output csv:-"
    piped = f"cat {stdin} | {command}" if stdin else command
    found = subprocess.run(piped, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return found.stdout


def written(folder: Path, rows: int) -> dict[str, Path]:
    """The same rows in each format."""
    table = pa.Table.from_batches(trades(rows, seed=1, keys=100, rate=10_000).batches())
    table = table.select(["symbol", "price", "volume", "time"])
    table = table.set_column(0, "symbol", table["symbol"].cast(pa.string()))
    paths = {format: folder / f"rows.{format.lower()}" for format in ("PARQUET", "ARROW", "CSV", "JSON")}
    pq.write_table(table, paths["PARQUET"])
    pv.write_csv(table, paths["CSV"])
    with pa.ipc.new_stream(str(paths["ARROW"]), table.schema) as out:
        out.write_table(table, max_chunksize=1 << 16)
    with paths["JSON"].open("wb") as file:
        file.writelines(map(json_lines, table.to_batches(max_chunksize=1 << 16)))
    return paths


def rates(settings: Settings) -> None:
    rows = settings.rows(ROWS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = written(folder, rows)
        works, nothing = {}, folder / "nothing"
        nothing.touch()
        for format, path in paths.items():
            query, is_file = folder / f"{format}.sql", format == "PARQUET"
            source = str(path) if is_file else "-"
            query.write_text(SQL.format(source=source, format="" if is_file else f"FORMAT {format}"))
            works[f"{format}, {'a file' if is_file else 'piped'}"] = partial(run, query, None if is_file else path)
        works["nothing"] = partial(run, folder / "JSON.sql", nothing)
        spreads = side_by_side(works, settings.repeats)
    start = spreads.pop("nothing").median
    lines = [
        [name, Figure.once(rows / (spread.median - start), Unit.RATE), spread.time()]
        for name, spread in spreads.items()
    ]
    title = f"{rows:,} rows through windrow run, rates without the {start:.2f} s of its start"
    settings.report(title, ["rows", "rows/s", "seconds"], lines)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        latency(settings)
        rates(settings)
