"""Spark is killed at random moments, JVM and workers too, or asked to end, and started again: nothing is lost, nothing
comes twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

import windrow as wr
from tests.soak import victim
from tests.soak.queries import CASES, batch_rows
from tests.strategies import comparable

pytestmark = [pytest.mark.soak]
KILLS = 6
PATIENCE = 600.0
"""Seconds that a life may last before it counts as hanging."""
DYING = 30.0
"""Seconds in which a process that was asked to end has ended, and all that it started."""
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
"""In turn; SIGINT to the whole group, as a terminal does."""
SHARDS = {"run": (2, 5, 1, 3), "frame": (2,)}
"""How many of them one life after the other has; where Windrow does not run the query, the number stays."""
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("way", victim.WAYS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_killed_query_gives_everything_once(case: Callable[[Path], wr.Query], way: str, tmp_path: Path) -> None:
    chance = random.Random(f"{case.__name__} {way}")
    check(case, way, tmp_path, [moment(life, chance) for life in range(KILLS)])


def moment(life: int, chance: random.Random) -> tuple[int, float]:
    """When to kill: after so many more micro-batches, and so many seconds; the first life ends while Spark starts."""
    return (0, chance.uniform(0, 12)) if life == 0 else (chance.randrange(1, 4), chance.uniform(0, 2))


def check(case: Callable[[Path], wr.Query], way: str, folder: Path, moments: list[tuple[int, float]]) -> None:
    expected = case(folder).run(batch_rows=batch_rows(case))
    first = random.Random(f"{case.__name__} {way} signals").randrange(len(SIGNALS))
    for number, (batches, seconds) in enumerate(moments, 1):
        sent = SIGNALS[(first + number) % len(SIGNALS)]
        shards = SHARDS[way][number % len(SHARDS[way])]
        if live(case.__name__, way, folder, batches, seconds, sent, shards=shards):
            print(f"{case.__name__} {way}: done before kill {number}")
            break
        print(f"{case.__name__} {way}: {sent.name} {number} after micro-batch {committed(way, folder)}", flush=True)
    else:
        assert live(case.__name__, way, folder, 1 << 30, PATIENCE)
    late, results = (parquet.read_table(folder / name).to_pylist() for name in victim.ANSWERS)
    assert comparable(standing(expected.table.to_pylist())) == comparable(standing(results))
    if way == "run":  # a frame of results has no late rows
        assert comparable(expected.late.to_pylist()) == comparable(late)


def standing(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is left of the results when each that takes one back has done so; without early results all of them."""
    left: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(results, key=lambda row: row.get("kind") == "retract"):
        shown = {name: value for name, value in row.items() if name != "kind"}
        same = left.setdefault(repr(shown), [])
        if row.get("kind") == "retract":
            assert "early" == same.pop(0)["kind"]
        else:
            same.append(row)
            same.sort(key=lambda row: row.get("kind") == "final")
    return [row for same in left.values() for row in same]


def live(
    case: str,
    way: str,
    folder: Path,
    batches: int,
    seconds: float,
    sent: signal.Signals = signal.SIGKILL,
    *,
    shards: int = 2,
) -> bool:
    """Run until it is done, or until it has committed so many more micro-batches and then so many seconds passed."""
    before = committed(way, folder)
    with (folder / "stderr").open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.victim", case, way, str(folder), str(shards)],
            cwd=ROOT,
            stderr=said,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        )
    try:
        _await(process, lambda: committed(way, folder) >= before + batches, PATIENCE)
        _await(process, lambda: False, seconds)
    finally:
        if sent is not signal.SIGKILL:
            end(process, sent)
        kill(process)
    said_last = f"{process.returncode}: {(folder / 'stderr').read_text()}"
    assert process.returncode in ((0, -sent) if sent is signal.SIGKILL else (0, 128 + sent, -sent)), said_last
    if way == "run":  # in a frame's own query py4j, which the user called, has its say
        assert process.returncode != 128 + sent or "Traceback" not in said_last, said_last
    return (folder / victim.ANSWERS[-1]).exists()


def _await(process: subprocess.Popen[bytes], reached: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while process.poll() is None and not reached() and (left := end - time.monotonic()) > 0:
        try:
            process.wait(min(0.02, left))
        except subprocess.TimeoutExpired:
            continue


def committed(way: str, folder: Path) -> int:
    """The micro-batches that are done."""
    return sum(path.name.isdigit() for path in (folder / victim.WAYS[way]).glob("*"))


def end(process: subprocess.Popen[bytes], sent: signal.Signals) -> None:
    """Ask the process to end, and see that it does so soon, with its JVM and its workers."""
    if process.poll() is None:
        (os.killpg if sent is signal.SIGINT else os.kill)(process.pid, sent)
    process.wait(DYING)
    limit = time.monotonic() + DYING
    while left := list(_session(process.pid)):
        assert time.monotonic() < limit, f"{sent.name} left processes {left}"
        time.sleep(0.05)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End everything that the process started: its workers are in groups of their own, but in its session."""
    for pid in [process.pid, *_session(process.pid)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


def _session(leader: int) -> Iterator[int]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader:
            yield int(stat.parent.name)
