"""Two checkouts compared: each piece runs in both in turn, and only one of them works at a time."""

from __future__ import annotations

import doctest
from pathlib import Path

import _compare
import pytest
from _compare import pieces_of_both

HARNESS = """
import time

class Settings:
    repeats = 2

def timed(work):
    work()
    return 1.5

def piece(name, work):
    return work()

def side_by_side(works, repeats):
    return {name: [timed(work) for _ in range(repeats)] for name, work in works.items()}
"""
BENCHMARK = """
from pathlib import Path
from _harness import Settings, piece, side_by_side

def work():
    with Path("../order").open("a") as order:
        order.write("NAME ")

WORKS
"""


def checkout(folder: Path, works: str) -> Path:
    """A checkout whose benchmark writes down when it works."""
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "benchmarks" / "_harness.py").write_text(HARNESS)
    text = BENCHMARK.replace("WORKS", works).replace("NAME", folder.name)
    (folder / "benchmarks" / "sample.py").write_text(text)
    return folder


def test_pieces_take_turns_and_the_longer_benchmark_goes_on_alone(tmp_path: Path) -> None:
    shared = "side_by_side({'sum': work}, Settings().repeats)"
    before = checkout(tmp_path / "a", shared)
    after = checkout(tmp_path / "b", f"{shared}; side_by_side({{'new': work}}, 1)")
    found = pieces_of_both([before, after], "sample", 3)
    assert [{"1 sum": [1.5] * 3}, {"1 sum": [1.5] * 3, "2 new": [1.5]}] == found
    assert ["a", "b", "a", "b", "a", "b", "b"] == (tmp_path / "order").read_text().split()


def test_other_libraries_do_not_run(tmp_path: Path) -> None:
    works = "side_by_side({'windrow': work, 'duckdb 1 thread': None}, 1, same=len)"
    folders = [checkout(tmp_path / name, works) for name in "ab"]
    assert [{"1 windrow": [1.5]}] * 2 == pieces_of_both(folders, "sample", 1)
    assert ["a", "b"] == (tmp_path / "order").read_text().split()


def test_what_looks_at_the_clock_itself_is_timed_once_a_round(tmp_path: Path) -> None:
    folders = [checkout(tmp_path / name, "assert piece('flush', lambda: work() or 7) == 7") for name in "ab"]
    assert [{"1 flush": [1.5] * 3}] * 2 == pieces_of_both(folders, "sample", 3)
    assert ["a", "b"] * 2 == (tmp_path / "order").read_text().split()[:4]


def test_a_benchmark_that_fails_is_shown(tmp_path: Path) -> None:
    folders = [checkout(tmp_path / "a", "pass"), checkout(tmp_path / "b", "raise ValueError('no rows')")]
    with pytest.raises(SystemExit, match=r"^sample failed\n(.|\n)*ValueError: no rows\n$"):
        pieces_of_both(folders, "sample", 1)


def test_examples() -> None:
    failed, tried = doctest.testmod(_compare)
    assert (0, 2) == (failed, tried)
