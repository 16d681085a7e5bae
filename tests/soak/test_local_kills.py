"""A run in process is killed at random moments, while it writes checkpoints, and goes on with other threads."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

import windrow as wr
from tests.soak import local_victim
from tests.soak.queries import CASES, early, spilled
from tests.strategies import comparable

pytestmark = [pytest.mark.soak]
KILLS = 8
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("case", [case for case in CASES if case not in (early, spilled)], ids=lambda c: c.__name__)
def test_a_killed_run_gives_everything_once(case: Callable[[Path], wr.Query], tmp_path: Path) -> None:
    chance = random.Random(case.__name__)
    expected = case(tmp_path).run()
    for _ in range(KILLS):
        if live(case.__name__, chance.choice((1, 2, 3, 5)), tmp_path, chance.randrange(1, 9), chance.uniform(0, 0.1)):
            break
    else:
        assert live(case.__name__, 1, tmp_path, 1 << 30, 0)
    late, results = (parquet.read_table(tmp_path / name).to_pylist() for name in local_victim.ANSWERS)
    assert comparable(expected.table.to_pylist()) == comparable(results)
    assert comparable(expected.late.to_pylist()) == comparable(late)


def live(case: str, threads: int, folder: Path, checkpoints: int, seconds: float) -> bool:
    """Run until it is done, or until so many more checkpoints were written and so many seconds passed."""
    before = last(folder)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.soak.local_victim", case, str(threads), str(folder)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
    )
    while process.poll() is None and last(folder) < before + checkpoints:
        time.sleep(0.002)
    time.sleep(seconds if process.poll() is None else 0)
    process.kill()
    _, said = process.communicate()
    assert process.returncode in (0, -9), said.decode()
    return (folder / local_victim.ANSWERS[-1]).exists()


def last(folder: Path) -> int:
    """The number of the last checkpoint."""
    return max(
        (int(path.name) for path in (folder / local_victim.STATE).glob("[0-9]*") if path.name.isdigit()), default=0
    )
