"""A run on Spark that is interrupted as a terminal does it: everything ends within seconds, and nothing is left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

SQL = "CREATE STREAM s FROM '{}' PROGRESS ON t; SELECT count(*) AS n FROM s [RANGE 10 WATTR t]"
INTERRUPTED = """
import os, signal, stat, tempfile
from pathlib import Path
from windrow.cli import main, progress

signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells turn off for what runs in the background
told = []

def once(metrics):
    told.append(metrics)
    if len(told) > 1:  # what is there is told once more when a run ends
        return
    private = [path for path in Path(tempfile.gettempdir()).iterdir() if stat.S_IMODE(path.stat().st_mode) == 0o700]
    found = {path.name.partition("-")[0] for folder in private for path in folder.iterdir()}
    print(sorted(found), all(path in private for path in Path(tempfile.gettempdir()).iterdir()), flush=True)
    os.killpg(0, signal.SIGINT)  # while the next micro-batch runs

progress.Reporting.__call__ = lambda _, metrics: once(metrics)
main()
"""


def test_ctrl_c_on_spark(tmp_path: Path) -> None:
    """The signal reaches the JVM, too. Until then all temporary files are in a folder that nobody else can enter."""
    data, temporary, output = tmp_path / "s.parquet", tmp_path / "tmp", tmp_path / "answer.parquet"
    parquet.write_table(pa.table({"t": list(range(100_000))}), data)
    temporary.mkdir()
    output.write_text("before")
    arguments = ["run", "-e", SQL.format(data), "--rate", "100", "--shards", "1", "--memory", "1g"]
    command = [sys.executable, "-c", INTERRUPTED, *arguments, "--output", str(output)]
    env = {**os.environ, "PYTHONPATH": "src", "TMPDIR": str(temporary)}
    # It returns when nobody has its pipes any more, and the JVM has them.
    done = subprocess.run(command, capture_output=True, text=True, env=env, start_new_session=True, check=False)
    assert (130, "Stopped by SIGINT.\n") == (done.returncode, done.stderr)
    assert "['run', 'spark', 'windrow.lock'] True\n" == done.stdout
    assert ([], "before") == (list(temporary.iterdir()), output.read_text())
    assert sorted([data, temporary, output]) == sorted(tmp_path.iterdir())
