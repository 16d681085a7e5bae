"""A run without an end as an operator sees it: in a process of its own, watched over HTTP, stopped by signals."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.csv as csv
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.cli.endless import row

LONG = 60.0
ROWS = 1000


@contextmanager
def windrow(rows: int, *arguments: str | Path, fault: str = "none", **more: str) -> Iterator[subprocess.Popen[str]]:
    """A run on a process of its own, which is gone when the block is left."""
    command = [sys.executable, "tests/cli/endless.py", str(rows), fault, "run", "--engine", "local"]
    # Shells turn SIGINT off for what runs in the background, and children inherit that.
    started = subprocess.Popen(
        [*command, *map(str, arguments)],
        text=True,
        env={**os.environ, "PYTHONPATH": "src:.", **more},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield started
    finally:
        started.kill()
        started.wait()
        for pipe in (started.stdout, started.stderr):
            assert pipe is not None
            pipe.close()


def said_until(process: subprocess.Popen[str], event: str) -> list[dict[str, Any]]:
    """Events as JSON, up to one of this name."""
    found: list[dict[str, Any]] = []
    assert process.stderr is not None
    for line in process.stderr:
        found.append(json.loads(line))
        if found[-1]["event"] == event:
            return found
    pytest.fail(f"{event} never came: {found}")


class Heard:
    """What comes in at a socket, taken as it comes: its queue is short."""

    def __init__(self, at: socket.socket) -> None:
        self.at, self.over, self.taken = at, threading.Event(), set[bytes]()
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self) -> None:
        while True:
            try:
                word = self.at.recv(1000)
                self.taken.add(b"STATUS" if word.startswith(b"STATUS=") else word)
            except TimeoutError:
                if self.over.is_set():
                    return

    def words(self) -> set[bytes]:
        self.over.set()
        self.thread.join(LONG)
        return self.taken


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=LONG) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def metrics_of(url: str) -> dict[str, float]:
    status, text = get(f"{url}/metrics")
    assert 200 == status
    return {s.name: s.value for family in text_string_to_metric_families(text) for s in family.samples}


def answers(path: Path) -> Counter[tuple[int, int, int]]:
    """Group, start of the window in seconds, count."""
    table = csv.read_csv(path).to_pydict()
    begins = [int(one.timestamp()) for one in table["window_start"]]
    return Counter(zip(table["k"], begins, table["n"], strict=True))


def expected(rows: int) -> Counter[tuple[int, int, int]]:
    """By brute force: the rows of each group in each stretch of ten seconds."""
    found = Counter((row(i)["k"], row(i)["t"] // 10_000_000 * 10) for i in range(rows))
    return Counter((k, begin, n) for (k, begin), n in found.items())


def test_a_run_is_watched_stopped_and_goes_on(tmp_path: Path) -> None:
    """systemd hears of it, HTTP shows it, SIGTERM ends it with a checkpoint; the next one gives all the rest, once."""
    output, state = tmp_path / "answer.csv", tmp_path / "state"
    asked: list[str | Path] = ["--output", output, "--checkpoint", state, "--log", "json"]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(0.1)
        heard = Heard(systemd)
        told = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "400000"}
        with windrow(ROWS, *asked, "--metrics-port", "0", **told) as process:
            said = said_until(process, "ready")
            assert ["metrics", "started", "ready"] == [one["event"] for one in said]
            assert ({"live": "Python iterable"}, "local") == (said[1]["sources"], said[1]["engine"])
            url = said[0]["url"]
            while (found := metrics_of(url))["windrow_rows_in_total"] < ROWS:
                pass
            assert [(200, "ok\n")] * 2 == [get(f"{url}/{page}") for page in ("health", "ready")]
            assert (1, 1, 0) == (found["windrow_up"], found["windrow_ready"], found["windrow_restarts_total"])
            assert found["windrow_source_lag_seconds"] > 0
            process.send_signal(signal.SIGTERM)
            last = said_until(process, "stopped")
            assert 143 == process.wait(LONG)
        assert {b"READY=1", b"STATUS", b"WATCHDOG=1", b"STOPPING=1"} == heard.words()
    events = [one["event"] for one in last if one["event"] not in ("progress", "strategy")]
    assert ["stopping", "checkpoint.written", "left", "account", "stopped"] == events
    assert (143, "Stopped by SIGTERM. The same command with --restore goes on.") == (
        last[-1]["code"],
        last[-1]["message"],
    )
    taken = next(one["rows_in"] for one in last if one["event"] == "left")
    assert taken >= ROWS
    given = answers(output)
    assert not given - expected(taken)  # what was given stays, and no window was closed before its time
    with windrow(-2 * taken, *asked, "--restore") as process:
        assert "stopped" == said_until(process, "stopped")[-1]["event"]
        assert 0 == process.wait(LONG)
    assert expected(2 * taken) == answers(output)


def test_sigint_without_a_checkpoint_and_lines_for_people(tmp_path: Path) -> None:
    with windrow(ROWS, "--output", tmp_path / "answer.csv") as process:
        assert process.stderr is not None
        for line in process.stderr:
            assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (INFO|WARNING) +[\w.]+: \S", line), line
            if " ready: " in line:
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert 130 == process.wait(LONG)
    assert "stopping: SIGINT: the run ends, there is no checkpoint folder; a second signal ends it at once\n" in rest
    assert re.search(r" account: rows in [\d,]+ = used [\d,]+ \+ late 0 \+ filtered 0; ", rest)
    assert rest.endswith(" stopped: Stopped by SIGINT.\n")
    assert answers(tmp_path / "answer.csv")


@pytest.mark.parametrize(("within", "signals"), [("200 ms", 1), ("1 h", 2)])
def test_an_output_that_takes_nothing_does_not_keep_a_run_alive(within: str, signals: int, tmp_path: Path) -> None:
    """It is broken off after a while, or by a second signal at once."""
    asked: list[str | Path] = ["--output", tmp_path / "answer.csv", "--log", "json", "--stop-within", within]
    with windrow(ROWS, *asked, fault="stuck") as process:
        said_until(process, "started")
        process.send_signal(signal.SIGTERM)
        said_until(process, "stopping")
        if signals > 1:
            process.send_signal(signal.SIGTERM)
        assert 143 == said_until(process, "stopped")[-1]["code"]
        assert 143 == process.wait(LONG)
