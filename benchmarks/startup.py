"""From the start of `windrow run` to its first result on a small file, with compiled kernels in the cache.

Each run is a process of its own. Bar: 2 seconds. Beside it the cost of importing Arrow and numba alone, and the
heaviest imports of the run.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq
from _figures import Spread, duration
from _harness import Settings, benchmark, table, timed, verdict

from windrow.generate import trades

BAR = 2.0
PROGRAM = "import sys; from windrow.cli import main; sys.exit(main())"
QUERY = """
CREATE STREAM trades FROM '{path}' PROGRESS ON time SLACK 3 SECONDS;
SELECT symbol, count(*) AS number FROM trades [RANGE 10 SECONDS SLIDE 1 SECOND WATTR time] GROUP BY symbol;
"""


def prepare(folder: Path) -> Path:
    """A query over ten thousand rows."""
    data = folder / "trades.parquet"
    pq.write_table(trades(10_000, seed=8, disorder="band 3 s").table(), data)
    text = folder / "query.sql"
    text.write_text(QUERY.format(path=data))
    return text


def first_result(query: Path) -> tuple[float, float]:
    """Seconds to the first byte of the answer on standard output and to the end of the process."""
    command = [sys.executable, "-c", PROGRAM, "run", "--engine", "local", str(query)]
    started = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        first = time.perf_counter() - started
        process.stdout.read()
    if process.returncode:
        raise SystemExit(f"windrow run failed with exit code {process.returncode}")
    return first, time.perf_counter() - started


def heaviest(query: Path, count: int = 5) -> list[list[str]]:
    """The imports that took longest themselves, from `-X importtime`."""
    command = [sys.executable, "-X", "importtime", "-c", PROGRAM, "run", "--engine", "local", str(query)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = []
    for line in done.stderr.splitlines():
        parts = line.removeprefix("import time:").split("|")
        if line.startswith("import time:") and parts[0].strip().isdigit():
            found.append((int(parts[0]), int(parts[1]), parts[2].strip()))
    top = sorted(found, reverse=True)[:count]
    return [[name, duration(own / 1e6), duration(whole / 1e6)] for own, whole, name in top]


def imports_alone() -> None:
    subprocess.run([sys.executable, "-c", "import pyarrow, numba"], check=True)


def main(settings: Settings) -> None:
    with tempfile.TemporaryDirectory() as name:
        query = prepare(Path(name))
        first_result(query)
        imports_alone()
        runs = [first_result(query) for _ in range(max(5, settings.repeats))]
        alone = Spread.of([timed(imports_alone) for _ in range(max(5, settings.repeats))])
        imports = heaviest(query)
    first, whole = (Spread.of([run[place] for run in runs]) for place in (0, 1))
    over = {"imports alone": alone.median / first.median}
    lines = [
        ["windrow run, first result", first.time(over), f"{duration(BAR)} {verdict(first.median, BAR, at_most=True)}"],
        ["windrow run, to the end", whole.time(), ""],
        ["import pyarrow, numba alone", alone, ""],
    ]
    settings.report("start of a process", ["what", "seconds", "bar"], lines)
    table("heaviest imports of a run", ["module", "itself", "with what it imports"], imports)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
