"""Standard error as events; and runs that begin again after a fault from outside. In this process, without an end."""

from __future__ import annotations

import json
import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pytest
from click.testing import CliRunner, Result

import windrow as wr
from windrow.cli import main, run
from windrow.cli.logs import JsonLog, TextLog, is_logged, logged
from windrow.errors import DataError, SourceError, UnavailableError
from windrow.events import LOGGER

SCHEMA = pa.schema([("t", pa.int64())])
ANSWER = {"window_start": [0, 10, 20], "window_end": [10, 20, 30], "n": [10, 10, 10]}
REFUSED = ConnectionRefusedError(111, "connection refused")


class Line:
    """A line of 30 rows that breaks, the first times, behind ten more rows each time."""

    schema = SCHEMA

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.opened = 0

    def __iter__(self) -> Iterator[Any]:
        self.opened += 1
        error = self.errors.pop(0) if self.errors else None
        for number in range(30):
            if error is not None and number == 10 * self.opened - 5:
                raise error
            yield pa.record_batch({"t": [number]})


def windrow(monkeypatch: pytest.MonkeyPatch, line: Line, *arguments: str | Path) -> Result:
    query = wr.stream(line, time="t", progress=wr.ordered(), name="live").window(range=10).agg(n=wr.count())
    monkeypatch.setattr(run, "read_queries", lambda *_, **__: (query,))
    return CliRunner().invoke(main, ["run", "--engine", "local", "-e", "x", *map(str, arguments)])


def events_of(done: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stderr.splitlines()]


def test_a_run_goes_on_after_the_broker_was_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    away = UnavailableError("is away", parameter="live")
    broken = SourceError("cannot be read", parameter="live")
    broken.__cause__ = REFUSED
    line, output = Line(away, broken), tmp_path / "answer.csv"
    asked: list[str | Path] = ["--output", output, "--checkpoint", tmp_path / "state", "--every", "1", "--log", "json"]
    done = windrow(monkeypatch, line, *asked, "--restart", "on-failure", "--restart-delay", "10 ms")
    assert (0, 3) == (done.exit_code, line.opened), done.stderr
    assert ANSWER == csv.read_csv(output).to_pydict()
    events = events_of(done)
    again = [one for one in events if one["event"] == "restarting"]
    assert [0.01, 0.02] == [one["seconds"] for one in again]
    assert "`live` is away. The run goes on in 0.01 s." == again[0]["message"]
    assert 3 == len([one for one in events if one["event"] == "started"])
    assert ("stopped", 0) == (events[-1]["event"], events[-1]["code"])
    assert 30 == next(one["rows_in"] for one in events if one["event"] == "account")


@pytest.mark.parametrize(
    ("error", "policy"), [(DataError("is broken", parameter="t"), "on-failure"), (REFUSED, "never")]
)
def test_other_faults_and_without_asking_are_the_end(
    error: Exception, policy: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    line = Line(error)
    done = windrow(monkeypatch, line, "--checkpoint", tmp_path / "state", "--restart", policy, "--log", "json")
    assert 1 == line.opened
    assert done.exit_code in (1, 2)
    last = events_of(done)[-2:]
    assert [("failed", "error"), ("stopped", "error")] == [(one["event"], one["level"]) for one in last]
    assert done.exit_code == last[-1]["code"]


def test_a_mistake_is_an_event_too(monkeypatch: pytest.MonkeyPatch) -> None:
    done = windrow(monkeypatch, Line(), "--restart", "on-failure", "--log", "json")
    (event,) = events_of(done)
    message = (
        "`--restart` needs --checkpoint DIR, got on-failure. Hint: what was open would be lost; give a folder to go on"
        " from."
    )
    assert (2, "stopped", 2, message) == (done.exit_code, event["event"], event["code"], event["message"])


@pytest.mark.parametrize("option", ["--stalled-after", "--restart-delay", "--stop-within"])
def test_lengths_of_time_are_checked(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("5 rows", "-1 s", "0 s", "7"):
        done = windrow(monkeypatch, Line(), option, value, "--log", "text")
        assert 2 == done.exit_code
        message = (
            rf"\S+ ERROR   stopped: `{option}` must be a length of time, got {value}\. Hint: write it like '5 s'\.\n"
        )
        assert re.fullmatch(message, done.stderr)


def test_a_port_that_is_taken_ends_the_command_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = windrow(monkeypatch, Line(), "--metrics-port", str(port), "--log", "text")
    assert 2 == done.exit_code
    assert re.fullmatch(
        rf"\S+ ERROR   stopped: `metrics_port` must be .* got 127\.0\.0\.1:{port}\. Hint: .*\n", done.stderr
    )


def test_levels_leave_events_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "" == windrow(monkeypatch, Line(), "--log", "text", "--log-level", "error").stderr
    assert windrow(monkeypatch, Line(), "--log", "text", "--log-level", "info").stderr


def test_logging_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    before = LOGGER.level, list(LOGGER.handlers)
    windrow(monkeypatch, Line(), "--log", "json")
    assert before == (LOGGER.level, LOGGER.handlers)
    assert not is_logged()


def test_a_run_with_an_end_says_what_it_always_said(tmp_path: Path) -> None:
    table = tmp_path / "s.csv"
    table.write_text("t\n1\n12\n")
    text = f"CREATE STREAM s FROM '{table}' PROGRESS ON t; SELECT count(*) AS n FROM s [RANGE 10 WATTR t]"
    done = CliRunner().invoke(main, ["run", "--engine", "local", "-e", text])
    assert 0 == done.exit_code
    assert re.match(r"rows in 2 = used 2 \+ late 0 \+ filtered 0; 2 results in ", done.stderr)


def test_what_sources_log_in_the_usual_way_is_an_event_and_seldom() -> None:
    with logged("json", "info"):
        handler = LOGGER.handlers[-1]
        made = [logging.makeLogRecord({"msg": "connection lost", "source": "trades", "peer": n}) for n in range(3)]
        assert [True, False, False] == [bool(handler.filter(one)) for one in made]
    told = json.loads(JsonLog().format(made[0]))
    assert ("source.connection_lost", "trades", 0) == (told["event"], told["source"], told["peer"])
    assert {"ts", "level", "event", "message", "source", "peer"} == set(told)
    assert TextLog().format(made[0]).endswith(" source.connection_lost: connection lost, source trades, peer 0")


def record(message: str) -> logging.LogRecord:
    made = logging.LogRecord("windrow", logging.WARNING, "x.py", 1, "%s", (message,), None)
    made.created = 1_700_000_000.25
    made.event, made.fields = "late", {"rows": 3, "ts": "no", "path": Path("x")}
    return made


def test_lines_have_the_time_in_utc() -> None:
    assert "2023-11-14T22:13:20.250Z WARNING late: 3 rows | of two lines" == TextLog().format(
        record("3 rows\nof two lines")
    )
    expected = {"ts": "2023-11-14T22:13:20.250Z", "level": "warning", "event": "late", "message": 'a "b"\n'}
    text = JsonLog().format(record('a "b"\n'))
    assert {**expected, "rows": 3, "path": "x"} == json.loads(text)
    assert "\n" not in text
