"""`windrow run` in a pipe and on a terminal: results are seen as they close, and it ends as programs of a pipe do."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select

import pytest

from windrow.errors import ConfigurationError
from windrow.query import sql

SQL = """
CREATE STREAM s (t INT, k STRING) FROM '-' PROGRESS ON t SLACK 2;
SELECT k, count(*) AS n FROM s [RANGE 10 WATTR t] GROUP BY k
"""
PROGRAM = "from windrow.cli import main; main()"
PATIENCE = 60


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, "run", "-e", SQL, *arguments]


def line(t: int, k: str = "a") -> str:
    return json.dumps({"t": t, "k": k}) + "\n"


@contextmanager
def on_a_terminal(file: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """`tail -f FILE | windrow run ...`, whose output is a terminal that is read from a descriptor."""
    master, slave = pty.openpty()
    env = {**os.environ, "PYTHONPATH": "src", "COLUMNS": "100"}
    tail = subprocess.Popen(["tail", "-n", "+1", "-f", str(file)], stdout=subprocess.PIPE)
    try:
        run = subprocess.Popen(command(), stdin=tail.stdout, stdout=slave, stderr=subprocess.DEVNULL, env=env)
        assert tail.stdout is not None
        tail.stdout.close()
        os.close(slave)
        yield master, run
    finally:
        tail.kill()
        tail.wait()
        os.close(master)


def seen(master: int, enough: str) -> str:
    """What the terminal shows, once that is there."""
    text = ""
    while enough not in text:
        assert select([master], [], [], PATIENCE)[0], text
        text += os.read(master, 1 << 16).decode().replace("\r", "")
    return text


def test_results_are_seen_as_they_close(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(line(1) + line(5) + line(12))
    with on_a_terminal(file) as (master, run):
        first = "k  window_start  window_end  n\n-  ------------  ----------  -\na             0          10  2\n"
        assert first == seen(master, "  2\n")
        with file.open("a") as more:
            more.write(line(11, "b") + line(22))
        last = "b            10          20  1\n"
        assert "a            10          20  1\n" + last == seen(master, last)
        run.send_signal(signal.SIGINT)
        assert 130 == run.wait(PATIENCE)


@pytest.mark.parametrize("output", ["csv:-", "json:-"])
def test_lines_go_on_to_the_next_program(output: str) -> None:
    given = "".join(line(t) for t in (3, 14, 25))
    env = {**os.environ, "PYTHONPATH": "src"}
    done = subprocess.run(command("--output", output), input=given, capture_output=True, text=True, env=env, check=True)
    if output == "csv:-":
        assert "k,window_start,window_end,n\na,0,10,1\na,10,20,1\na,20,30,1\n" == done.stdout
    else:
        rows = [json.loads(row) for row in done.stdout.splitlines()]
        assert [{"k": "a", "window_start": 10 * i, "window_end": 10 * i + 10, "n": 1} for i in range(3)] == rows


def test_a_pipe_that_is_closed_behind_it_ends_it_quietly() -> None:
    script = f"{sys.executable} -c '{PROGRAM}' run -e \"{SQL}\" --output csv:- | head -n 2"
    given = "".join(line(10 * t) for t in range(5000))
    env = {**os.environ, "PYTHONPATH": "src"}
    done = subprocess.run(["bash", "-c", script], input=given, capture_output=True, text=True, env=env, check=False)
    assert "k,window_start,window_end,n\na,0,10,1\n" == done.stdout
    assert "Traceback" not in done.stderr


def test_what_is_read_where(tmp_path: Path) -> None:
    """A query and its rows cannot both come from standard input; Spark cannot read it."""
    env = {**os.environ, "PYTHONPATH": "src"}
    both = [sys.executable, "-c", PROGRAM, "run", "-"]
    done = subprocess.run(both, input=SQL, capture_output=True, text=True, env=env, check=False)
    assert (2, True) == (done.returncode, "`FILE` must be a file here, because a stream is read from" in done.stderr)
    with pytest.raises(ConfigurationError, match="`s` must be data that Spark can read, got standard"):
        sql(SQL).collect(engine="spark")


def test_a_stream_whose_windows_would_never_close_is_told_of() -> None:
    text = SQL.replace(" SLACK 2", "")
    env = {**os.environ, "PYTHONPATH": "src"}
    arguments = [sys.executable, "-c", PROGRAM, "run", "-e", text, "--output", "csv:-"]
    done = subprocess.run(arguments, input=line(3), capture_output=True, text=True, env=env, check=True)
    assert "s never ends, and only its end would close a window: say PROGRESS ON t ORDERED" in done.stderr
    assert "k,window_start,window_end,n\na,0,10,1\n" == done.stdout
