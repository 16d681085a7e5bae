"""A window larger than memory: exact medians over 200 M rows, 4 GB of kept values, in a process that may have 1 GB.

Each row has another value, and no block makes them much smaller. The process gets a limit for its data from the
operating system, which ends it when it takes more; kept rows get a part of that, the rest goes to the disk. Answers are
known from how the values are made. Bars: it finishes, the answers are right, and the peak is below the limit.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from threading import Thread

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _figures import Figure, Unit
from _harness import benchmark, verdict

import windrow as wr
from windrow.engines.run import Run
from windrow.query import Query

ROWS, LIMIT, MEMORY = 200_000_000, 1 << 30, 256_000_000
BATCH = 1 << 17
GROUPS = 4
BITS = 28
"""Rows are numbers of so many bits, mixed."""
FIELDS: dict[str, pa.DataType] = {"ts": pa.int64(), "key": pa.int64(), "value": pa.float64()}
SCHEMA = pa.schema(FIELDS)
RAW_BYTES = 20


def mixed(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Other numbers of as many bits, each from one: every step can be undone."""
    mask = (1 << BITS) - 1
    for shift, factor in ((15, 0x2C1B3C6D), (12, 0x297A2D39), (15, 1)):
        numbers = (numbers ^ (numbers >> shift)) * factor & mask
    return numbers


def batches(rows: int) -> Iterator[pa.RecordBatch]:
    """Every number below `rows` once, a seventh of it, as by chance; a group is what it leaves by four."""
    time = 0
    for start in range(0, 1 << BITS, BATCH):
        values = mixed(np.arange(start, start + BATCH))
        values = values[values < rows]
        columns = [pa.array(column) for column in (np.arange(time, time + len(values)), values % GROUPS, values / 7)]
        time += len(values)
        yield pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def query(rows: int) -> Query:
    stream = wr.stream(batches(rows), time="ts", progress=wr.slack(0), schema=SCHEMA, name="rows")
    return stream.group_by("key").window(range=rows, slide=rows).agg(m=wr.median("value"))


def expected(rows: int) -> dict[int, float]:
    """The medians: each group has every fourth number."""
    middle = {group: (group + rows - GROUPS + group) / 2 for group in range(GROUPS)}
    return {group: ((number - 2) / 7 + (number + 2) / 7) / 2 for group, number in middle.items()}


@dataclass(frozen=True)
class Done:
    seconds: float
    peak: int
    """The greatest resident size."""
    spilled: int
    right: bool


def watch(run: Run[pa.RecordBatch], spilled: list[int]) -> None:
    """Look now and then how much is on the disk, as long as the window is open."""
    while not run.has_ended:
        spilled.append(run.metrics.spilled_bytes)
        time.sleep(0.2)


def run_limited(rows: int, limit: int, memory: int) -> Done:
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    started, spilled = time.perf_counter(), [0]
    with query(rows).start(engine="local", memory=memory) as run:
        watching = Thread(target=watch, args=(run, spilled), daemon=True)
        watching.start()
        found: dict[int, float] = {}
        for batch in run:
            keys, medians = (np.asarray(batch[name]).tolist() for name in ("key", "m"))
            found.update(zip(keys, medians, strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Done(time.perf_counter() - started, peak, max(spilled), found == expected(rows))


def apart(rows: int, limit: int, memory: int) -> Done:
    asked = [sys.executable, __file__, "--one", str(rows), str(limit), str(memory)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"did not finish: {done.stderr[-2_000:]}")
    return Done(**json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        rows, limit, memory = (int(word) for word in sys.argv[2:])
        print(json.dumps(asdict(run_limited(rows, limit, memory))))
        return
    with benchmark(__doc__) as settings:
        rows = settings.rows(ROWS)
        limit, memory = (LIMIT, MEMORY)
        done = apart(rows, limit, memory)
        line = [
            f"{rows:,}",
            *(Figure.once(size, Unit.BYTES) for size in (RAW_BYTES * rows, limit, memory, done.spilled, done.peak)),
            Figure.once(done.seconds, Unit.SECONDS),
            Figure.once(rows / done.seconds, Unit.RATE),
            "right" if done.right else "wrong",
            verdict(done.peak, limit, at_most=True),
        ]
        headers = ["rows", "raw", "limit", "memory=", "on the disk", "peak", "time", "rows/s", "medians", "bar"]
        settings.report("medians of a window that is larger than memory", headers, [line])


if __name__ == "__main__":
    main()
