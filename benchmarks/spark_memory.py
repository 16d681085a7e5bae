"""Memory on Spark: 50 million rows in 1000 groups, RANGE/SLIDE 60, on two cores with 2 GB for the JVM.

The files are written to a temporary folder and read by a process of its own. Resident sizes are sampled from /proc
while it runs; pages that Python workers share are counted for each of them.
The bar: it finishes, and no row is missing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from _figures import Figure, Unit, duration
from _harness import Settings, benchmark, verdict
from _spark_streams import Load, asked, written

MEMORY = "2g"
ROWS, FILE_ROWS, GROUPS, RATIO = 50_000_000, 1_000_000, 1000, 60
PANE_ROWS = 100 * GROUPS
EVERY = 0.1
PROC = Path("/proc")


def load_of(rows: int) -> Load:
    return Load(RATIO, GROUPS, PANE_ROWS, min(FILE_ROWS, rows), max(1, rows // FILE_ROWS))


def run(folder: str, rows: int) -> dict[str, Any]:
    """The query in this process; what it counted."""
    from windrow.engines.spark.session.sessions import embedded

    spark = embedded(shards=2, memory=MEMORY, **{"spark.master": "local[2]"})
    result = asked(f"{folder}/*.parquet", load_of(rows)).run(engine="spark", memory=MEMORY)
    spark.stop()
    told = result.metrics
    return {"rows": told.rows_in, "late": told.rows_late, "results": result.table.num_rows, "seconds": told.elapsed}


# Resident sizes, by kind of process


def watched(command: list[str]) -> tuple[dict[str, Any], Counter[str]]:
    """What a command printed last, and the peaks of its processes together, by kind, until it ended."""
    peaks: Counter[str] = Counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        while child.poll() is None:
            peaks |= residents(child.pid)
            time.sleep(EVERY)
        printed = child.stdout.read().splitlines() if child.stdout else []
    if child.returncode or not printed:
        raise SystemExit(f"it did not finish: exit code {child.returncode}")
    return json.loads(printed[-1]), peaks


def residents(root: int) -> Counter[str]:
    """Bytes now, of a process and all below it."""
    parents = {pid: parent for pid in _pids() if (parent := _status(pid, "PPid")) is not None}
    sizes: Counter[str] = Counter()
    todo = [root]
    while todo:
        pid = todo.pop()
        sizes[_kind(pid, root)] += 1024 * (_status(pid, "VmRSS") or 0)
        todo += [below for below, parent in parents.items() if parent == pid]
    return sizes


def _pids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def _status(pid: int, name: str) -> int | None:
    """A number of a process' status; None when the process is gone."""
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), None)


def _kind(pid: int, root: int) -> str:
    if pid == root:
        return "driver"
    try:
        return "JVM" if b"java" in (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")[0] else "Python workers"
    except OSError:
        return "Python workers"


def main(settings: Settings) -> None:
    rows = settings.rows(ROWS)
    with written(load_of(rows)) as folder:
        told, peaks = watched([sys.executable, __file__, "--one", str(folder), str(rows)])
    sizes = [Figure.once(peaks[kind], Unit.BYTES) for kind in ("JVM", "Python workers", "driver")]
    rate = Figure.once(rows / told["seconds"], Unit.RATE)
    figures = [duration(told["seconds"]), rate, f"{told['results']:,}", told["late"]]
    headers = ["rows", "peak JVM", "peak Python workers", "peak driver", "time", "rows/s", "results", "late rows"]
    settings.report(f"{GROUPS} groups, {MEMORY} for the JVM", headers, [[f"{rows:,}", *sizes, *figures]])
    print(f"finished; rows counted {told['rows']:,} of {rows:,}: {verdict(told['rows'], rows)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(run(sys.argv[2], int(sys.argv[3]))))
    elif not PROC.exists():
        raise SystemExit("resident sizes are read from /proc, which this system does not have")
    else:
        with benchmark(__doc__) as settings:
            main(settings)
