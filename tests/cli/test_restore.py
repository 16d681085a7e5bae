"""`windrow run` killed in the middle and started again with --restore writes the whole answer, once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from tests.strategies import comparable
from windrow.generate import trades

QUERY = """
CREATE STREAM trades FROM 'trades.parquet' PROGRESS ON time SLACK 5 SECONDS;
SELECT symbol, count(*) AS number, sum(volume) AS volume, median(price) AS middle
FROM trades [RANGE 30 SECONDS SLIDE 10 SECONDS WATTR time] GROUP BY symbol LATE SIDE;
"""
RUN = """
import os, signal, sys
from windrow.cli import main
from windrow.engines.local.background import BackgroundWriter
from windrow.engines.local.checkpoint import Checkpoints

kill_at, write, done = int(sys.argv.pop(1)), Checkpoints.write, []

def write_then_die(self, draft):
    done.append(write(self, draft))
    if len(done) == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)

Checkpoints.write = write_then_die
BackgroundWriter.is_busy = property(lambda writer: writer.wait() and False)  # none is skipped
main()
"""


def windrow(folder: Path, kill_at: int, *options: str) -> int:
    command = [sys.executable, "-c", RUN, str(kill_at), "run", "--engine", "local", "query.sql", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "query.sql").write_text(QUERY)
    table = trades(60_000, seed=5, disorder="band 20 s", rate=200, keys=5).table()
    parquet.write_table(table, tmp_path / "trades.parquet", row_group_size=4_000)
    return tmp_path


def test_a_killed_run_goes_on_and_gives_everything_once(folder: Path) -> None:
    assert 0 == windrow(folder, 0, "--output", "whole.parquet", "--late", "whole-late.parquet")
    checkpointed = ("--output", "x.parquet", "--late", "late.parquet", "--checkpoint", "state", "--every", "8000")
    assert -signal.SIGKILL == windrow(folder, 2, *checkpointed)
    assert not (folder / "x.parquet").exists()
    assert -signal.SIGKILL == windrow(folder, 3, *checkpointed, "--restore")
    assert 0 == windrow(folder, 0, *checkpointed, "--restore")
    for whole, again in (("whole.parquet", "x.parquet"), ("whole-late.parquet", "late.parquet")):
        expected, found = (parquet.read_table(folder / name).to_pylist() for name in (whole, again))
        assert len(expected) > 100
        assert comparable(expected) == comparable(found)
