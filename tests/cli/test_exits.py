"""Whatever ends a command, there is one message, no traceback, and a code that says who must act."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event
from threading import enumerate as threads
from typing import Any

import click
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

import windrow as wr
from windrow.cli import main, run
from windrow.cli.exits import Interrupted, Terminated, clear_endings
from windrow.errors import InternalError, QueryError

SELECT = "CREATE STREAM s (t INT) PROGRESS ON t; SELECT count(*) AS n FROM s [RANGE 10 WATTR t]"


def ended_by(error: BaseException, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    """A run that breaks off with an error."""

    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(run, "run_queries", fail)
    return CliRunner().invoke(main, ["run", "--engine", "local", "-e", SELECT, *arguments])


@pytest.mark.parametrize(
    ("interrupt", "name", "code"), [(KeyboardInterrupt(), "SIGINT", 130), (Terminated(), "SIGTERM", 143)]
)
def test_an_interrupted_run_says_how_to_go_on(
    interrupt: KeyboardInterrupt, name: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = ended_by(interrupt, monkeypatch)
    assert (code, f"Stopped by {name}.\n", "") == (done.exit_code, done.stderr, done.stdout)
    done = ended_by(interrupt, monkeypatch, "--checkpoint", "state")
    assert (code, f"Stopped by {name}. The same command with --restore goes on.\n") == (done.exit_code, done.stderr)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_command_with_one_line(number: signal.Signals, code: int) -> None:
    """It waits for the text that nobody gives it."""
    told = "lambda *given: (print('up', flush=True), read(*given))[1]"
    wait = f"import windrow.cli.texts as texts; read = texts.read_text; texts.read_text = {told}"
    command = [sys.executable, "-c", f"{wait}; from windrow.cli import main; main(['run', '-'])"]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(command, text=True, env={**os.environ, "PYTHONPATH": "src"}, **pipes)
    assert process.stdout is not None
    assert "up\n" == process.stdout.readline()
    process.send_signal(number)
    _, said = process.communicate()
    assert (code, f"Stopped by {number.name}.\n") == (process.returncode, said)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_its_output_as_it_was(number: signal.Signals, tmp_path: Path) -> None:
    output = tmp_path / "answer.parquet"
    output.write_text("before")

    def rows() -> Iterator[dict[str, int]]:
        yield {"t": 1}
        os.kill(os.getpid(), number)
        while True:
            yield {"t": 2}

    stream = wr.stream(rows(), time="t", progress=wr.ordered(), schema=pa.schema([("t", pa.int64())]))
    with pytest.raises(Interrupted) as caught, clear_endings():
        stream.window(range=10).agg(n=wr.count()).write(output)
    assert 128 + number == caught.value.exit_code
    assert ([output], "before") == (list(tmp_path.iterdir()), output.read_text())
    for thread in [one for one in threads() if one.name == "windrow-reader"]:
        thread.join(10)
        assert not thread.is_alive()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_a_library_swallows_comes_again(number: signal.Signals) -> None:
    def swallow() -> None:
        with suppress(BaseException):  # as around imports that may fail
            os.kill(os.getpid(), number)
        Event().wait(10)

    with pytest.raises(Interrupted) as caught, clear_endings():
        swallow()
    assert 128 + number == caught.value.exit_code


def test_handlers_are_put_back_and_what_is_ignored_stays_ignored() -> None:
    before, own = signal.signal(signal.SIGTERM, signal.SIG_IGN), signal.getsignal(signal.SIGINT)
    try:
        with clear_endings():
            assert signal.SIG_IGN is signal.getsignal(signal.SIGTERM)
            assert own is not signal.getsignal(signal.SIGINT)
        assert own is signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_mistake_is_two(monkeypatch: pytest.MonkeyPatch) -> None:
    done = ended_by(QueryError("must be positive", parameter="range", value=0), monkeypatch)
    assert (2, "Error: `range` must be positive, got 0.\n") == (done.exit_code, done.stderr)


def broken() -> Exception:
    return InternalError("promised 5 after 7")


def unforeseen() -> Exception:
    return ZeroDivisionError("division by zero")


def of_spark() -> Exception:
    kind: type[Exception] = type("AnalysisException", (Exception,), {"__module__": "pyspark.errors"})
    return kind("[STRANGE] It did not work.\n\tat org.apache.spark.Strange.work(Strange.scala:1)")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (broken, r"Windrow has a fault, which is not yours \(InternalError: promised 5 after 7\)"),
        (unforeseen, r"Windrow has a fault, which is not yours \(ZeroDivisionError: division by zero\)"),
        (of_spark, r"Spark failed \(AnalysisException: \[STRANGE\] It did not work\)"),
    ],
)
def test_a_fault_is_one_line_and_its_traceback_is_kept(
    make: Callable[[], Exception], told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    done = ended_by(make(), monkeypatch)
    found = re.fullmatch(rf"Error: {told}\. Please report it with what is in (\S+)\n", done.stderr)
    assert found is not None, done.stderr
    assert 1 == done.exit_code
    assert Path(found[1]).read_text().startswith("Traceback (most recent call last):")
    assert 0o600 == Path(found[1]).stat().st_mode & 0o777


@pytest.mark.parametrize(("error", "told"), [(MemoryError(), ""), (MemoryError("no 5 MiB"), r" \(no 5 MiB\)")])
def test_memory_that_is_exhausted_is_for_the_user_to_mend(
    error: MemoryError, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = ended_by(error, monkeypatch)
    assert 2 == done.exit_code
    message = (
        rf"Error: Memory is exhausted{told}\. Hint: kept rows beyond --memory-budget SIZE go to the disk; .*rest\.\n"
    )
    assert re.fullmatch(message, done.stderr)


def test_where_the_traceback_cannot_be_kept_it_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    done = ended_by(unforeseen(), monkeypatch)
    assert 1 == done.exit_code
    assert "(ZeroDivisionError: division by zero). Please report it with this:\nTraceback (most" in done.stderr


@pytest.mark.parametrize("error", [click.UsageError("no"), BrokenPipeError(32, "gone")])
def test_what_click_knows_stays_with_click(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, clear_endings():
        raise error
    assert error is caught.value
