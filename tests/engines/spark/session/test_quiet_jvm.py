"""What a starting program says is held back, then passed on or put into its error."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys

import pytest
from pyspark import java_gateway

from windrow.engines.spark.session.quiet_jvm import HeldOutput, hush_gateway, hushed, programs_started

NOISY = (
    "import os; os.write(2, b'WARNING: Using incubator modules: jdk.incubator.vector\\none\\ntwo\\nPicked up X\\nlast')"
)


def run_hushed(script: str) -> HeldOutput:
    with hushed() as output:
        subprocess.run([sys.executable, "-c", script], check=True)
    output._thread.join()  # the program has ended, so the pipe has an end
    return output


def test_nothing_is_said_until_it_is_let_go(capfd: pytest.CaptureFixture[str]) -> None:
    output = run_hushed(NOISY)
    assert "" == capfd.readouterr().err
    output.let_go()
    assert "one\ntwo\nlast" == capfd.readouterr().err


def test_what_is_held_back_is_told_without_noise() -> None:
    assert ["one", "two", "last"] == run_hushed(NOISY).lines()


def test_a_program_that_is_ended_has_nothing_more_to_say(capfd: pytest.CaptureFixture[str]) -> None:
    script = "import os; input(); os.write(2, b'late\\n')"
    with hushed() as output:
        program = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE)
    output.let_go()
    output.close()
    program.communicate(b"\n")
    output._thread.join()
    assert "" == capfd.readouterr().err


def test_the_gateway_logs_nothing_and_others_do(caplog: pytest.LogCaptureFixture) -> None:
    hush_gateway()
    root = logging.getLogger()
    for path in ("/lib/py4j/java_gateway.py", "/lib/other/java_gateway.py"):
        root.handle(root.makeRecord("root", logging.ERROR, path, 1, "Exception while sending command.", (), None))
    assert ["/lib/other/java_gateway.py"] == [record.pathname for record in caplog.records]


def test_standard_error_is_itself_again(capfd: pytest.CaptureFixture[str]) -> None:
    run_hushed("pass")
    subprocess.run([sys.executable, "-c", NOISY], check=True)
    assert capfd.readouterr().err.startswith("WARNING: Using incubator modules")


def test_a_program_that_goes_on_is_heard_after_the_start(capfd: pytest.CaptureFixture[str]) -> None:
    script = "import os; os.write(2, b'early\\n'); input(); os.write(2, b'\\nStreaming TransformWithState x\\nlate\\n')"
    with hushed() as output:
        program = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE)
    output.let_go()
    program.communicate(b"\n")
    output._thread.join()
    assert "early\nlate\n" == capfd.readouterr().err


def test_a_program_that_starts_after_its_start_was_given_up_is_killed() -> None:
    """Its thread goes on when the one that waited for it was interrupted."""
    with programs_started() as programs:
        programs.give_up()
        program = java_gateway.Popen(["sleep", "100"])  # type: ignore[attr-defined]
    assert -signal.SIGKILL == program.wait()
    assert [program] == programs
