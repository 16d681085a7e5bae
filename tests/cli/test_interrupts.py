"""Runs on Spark that are interrupted as a terminal does it: everything ends within seconds, and nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from threading import Event

import pyarrow as pa
import pyarrow.parquet as parquet
from prometheus_client.openmetrics.parser import text_string_to_metric_families

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


ENDLESS = (
    "CREATE STREAM s FROM 'rate:' PROGRESS ON timestamp SLACK 1 SECOND; "
    "SELECT count(*) AS n FROM s [RANGE 1 SECOND WATTR timestamp]"
)


def test_a_stream_on_spark_is_watched_and_stopped(tmp_path: Path) -> None:
    """Ctrl-C at a terminal reaches the JVM and its workers, too; the first one lets all of them end in good order."""
    arguments = ["run", "-e", ENDLESS, "--shards", "1", "--memory", "1g", "--metrics-port", "0", "--log", "json"]
    command = [sys.executable, "-c", RESTORED + "from windrow.cli import main; main()", *arguments]
    folders = ["--output", f"parquet:{tmp_path}/answer", "--checkpoint", str(tmp_path / "state")]
    env = {**os.environ, "PYTHONPATH": "src"}
    with subprocess.Popen(
        [*command, *folders], text=True, stderr=subprocess.PIPE, env=env, start_new_session=True
    ) as process:
        assert process.stderr is not None
        said = [json.loads(process.stderr.readline())]
        url = said[0]["url"]
        while value_of(url, "windrow_results_total") < 1:
            assert process.poll() is None
            Event().wait(0.1)
        assert 1.0 == value_of(url, "windrow_ready") == value_of(url, "windrow_up")
        assert 0.0 <= value_of(url, "windrow_source_lag_seconds") < 3600.0
        os.killpg(process.pid, signal.SIGINT)
        rest = process.stderr.read()  # which ends when nobody has the pipe any more, and the JVM has it
        assert 130 == process.wait()
    said += [json.loads(line) for line in rest.splitlines()]
    events = [one["event"] for one in said if one["event"] not in ("progress", "note")]
    assert ["metrics", "started", "ready", "stopping", "left", "account", "stopped"] == events
    assert "Stopped by SIGINT. The same command with --restore goes on." == said[-1]["message"]
    assert parquet.read_table(tmp_path / "answer").num_rows >= 1


RESTORED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
"""Shells turn SIGINT off for what runs in the background."""


def value_of(url: str, name: str) -> float:
    """The first value of this name in what is scraped; 0 before there is one."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as answer:
        found = text_string_to_metric_families(answer.read().decode())
        return next((s.value for family in found for s in family.samples if s.name == name), 0.0)
