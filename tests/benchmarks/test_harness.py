"""The harness of the benchmarks: what is reported is printed, kept, and compared with the run before."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path
from types import ModuleType

import _figures
import _harness
import _machine
import pytest
from _figures import Figure, Unit
from _harness import PACE, Settings, benchmark, keep

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "benchmarks").glob("[!_]*.py"))
HEADERS = ["key", "rows/s", "bar"]


def figure(value: float) -> Figure:
    return Figure(value, value * 0.99, value * 1.01, Unit.RATE)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Where whole runs and quick runs are kept, for a benchmark called `sample`."""
    whole, quick = tmp_path / "history", tmp_path / "quick"
    monkeypatch.setattr(_harness, "KEPT", whole)
    monkeypatch.setattr(_harness, "QUICK", quick)
    monkeypatch.setattr(_harness, "paces", lambda: [0.1])
    monkeypatch.setattr(sys, "argv", ["benchmarks/sample.py"])
    return whole, quick


def lines_in(folder: Path) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob("*.jsonl"))


def test_report_prints_everything_and_notes_figures(capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(quick=True)
    settings.report("groups", HEADERS, [["int64", figure(2e6), "met"], ["string", "left out", ""]])
    assert {"key int64: rows/s": figure(2e6)} == settings.figures
    assert "2 M (1.98 M..2.02 M)  met" in capsys.readouterr().out


def test_report_names_figures_by_all_labels() -> None:
    settings = Settings(quick=True)
    settings.report("", ["", "SLIDE", "time"], [["sum", 10, Figure.once(1.0, Unit.SECONDS)]], labels=2)
    assert ["sum, SLIDE 10: time"] == list(settings.figures)


def test_two_figures_of_one_name_are_refused() -> None:
    settings = Settings(quick=True)
    with pytest.raises(ValueError, match=r"^two figures of one run are called 'key a: rows/s'$"):
        settings.report("", HEADERS, [["a", figure(1.0), ""], ["a", figure(2.0), ""]])


def test_first_run_is_kept_and_the_second_compared(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for value in (2e6, 3e6):
        with benchmark("What is asked.") as settings:
            settings.report("table", HEADERS, [["int64", figure(value), ""]])
    first, second = capsys.readouterr().out.split("What is asked.\n")[1:]
    assert "the first run here, kept in" in first
    assert "change since" not in first
    assert "+50.0%" in second
    assert PACE in second
    assert (4, 0) == tuple(map(lines_in, folders))


def test_quick_runs_have_a_history_of_their_own(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks/sample.py", "--quick"])
    with benchmark(None):
        pass
    assert (0, 1) == tuple(map(lines_in, folders))


def test_a_run_that_fails_adds_nothing(folders: tuple[Path, Path]) -> None:
    with pytest.raises(SystemExit, match=r"^answers differ$"), benchmark(None):
        raise SystemExit("answers differ")
    assert (0, 0) == tuple(map(lines_in, folders))


def test_benchmarks_are_compared_with_themselves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep("one", {"a": figure(1.0)}, tmp_path)
    keep("other", {"a": figure(2.0)}, tmp_path)
    assert "change since" not in capsys.readouterr().out


def test_a_broken_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep("one", {"a": figure(1.0)}, tmp_path)
    (path,) = tmp_path.iterdir()
    with path.open("a", encoding="utf-8") as file:
        file.write("=======\n")
    keep("one", {"a": figure(1.0)}, tmp_path)
    captured = capsys.readouterr()
    assert f"{path}: passed over what is no figure, on line 2\n" == captured.err
    assert "+0.0% within spread" in captured.out


def test_only_chooses_cases_by_part_of_their_name() -> None:
    assert ["band"] == Settings(quick=True, only=("ban",)).chosen(["band", "equality"])
    assert ["band", "equality"] == Settings(quick=True).chosen(["band", "equality"])
    with pytest.raises(SystemExit, match=r"^--only names none of: band; equality$"):
        Settings(quick=True, only=("x",)).chosen(["band", "equality"])


@pytest.mark.parametrize("module", [_figures, _harness, _machine], ids=lambda module: str(module.__name__))
def test_examples_print_what_they_say(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module)
    assert 0 == failed
    assert tried


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_every_benchmark_reports_through_the_harness(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "with benchmark(__doc__) as settings:" in text
    assert "settings.report(" in text
