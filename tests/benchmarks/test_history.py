"""The history of the benchmarks: lines are added, read again and compared, whatever else is in the file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from _figures import Figure, Spread, Unit
from _history import Entry, History, changes
from _machine import Machine

HERE = Machine("Some CPU @ 2.0GHz", 2, "python 3.12.1, numpy 2.2.0", "80f0b6c")
RATE = Figure(2e6, 1.9e6, 2.1e6, Unit.RATE, {"duckdb": 2.0})
DATE = "2026-11-16T12:00:00+00:00"


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "history", HERE)


def entry(figure: Figure, name: str = "a") -> Entry:
    return Entry(DATE, HERE, "groups", name, figure)


def change(before: Figure, now: Figure) -> str:
    ((_, _, _, told, _, _),) = changes({"a": now}, {"a": entry(before)})
    return told


def test_first_run_starts_a_file_named_after_the_machine(history: History) -> None:
    assert ([], []) == history.read()
    history.append("groups", {"a": RATE}, DATE)
    assert "some-cpu-2-0ghz-2-cores.jsonl" == history.path.name
    assert ([entry(RATE)], []) == history.read()


def test_runs_are_added_behind_each_other(history: History) -> None:
    history.append("groups", {"a": RATE, "b": Figure.once(3.0, Unit.SECONDS)}, DATE)
    before = history.path.read_bytes()
    history.append("groups", {"a": replace(RATE, value=2.05e6)}, DATE)
    assert history.path.read_bytes().startswith(before)
    entries, _ = history.read()
    assert ["a", "b", "a"] == [one.name for one in entries]


def test_a_line_says_what_the_figure_depends_on() -> None:
    expected = {
        "date": DATE,
        "commit": "80f0b6c",
        "processor": "Some CPU @ 2.0GHz",
        "cores": 2,
        "versions": "python 3.12.1, numpy 2.2.0",
        "benchmark": "groups",
        "name": "a",
        "value": 2e6,
        "low": 1.9e6,
        "high": 2.1e6,
        "unit": "a second",
        "over": {"duckdb": 2.0},
    }
    assert expected == json.loads(entry(RATE).line())


def test_a_line_is_short() -> None:
    line = json.loads(entry(Figure.once(1 / 3, Unit.SECONDS)).line())
    assert 0.33333 == line["value"]
    assert "over" not in line


@pytest.mark.parametrize(
    "broken",
    [
        "<<<<<<< HEAD",
        "{}",
        "[1, 2]",
        "7",
        '{"date": "2026',
        entry(RATE).line().replace("a second", "furlongs"),
        entry(RATE).line().replace("2000000.0", '"many"'),
        entry(RATE).line().replace('{"duckdb": 2.0}', "[2.0]"),
    ],
)
def test_a_broken_line_is_passed_over_and_named(history: History, broken: str) -> None:
    history.append("groups", {"a": RATE}, DATE)
    with history.path.open("a", encoding="utf-8") as file:
        file.write(f"{broken}\n")
    history.append("groups", {"b": RATE}, DATE)
    entries, lines = history.read()
    assert ["a", "b"] == [one.name for one in entries]
    assert [2] == lines


def test_a_line_that_was_cut_off_does_not_swallow_the_next(history: History) -> None:
    history.append("groups", {"a": RATE}, DATE)
    history.path.write_text(entry(RATE).line() + "\n" + entry(RATE).line()[:40], encoding="utf-8")
    history.append("groups", {"b": RATE}, DATE)
    entries, lines = history.read()
    assert ["a", "b"] == [one.name for one in entries]
    assert [2] == lines


def test_bytes_that_are_no_text_are_a_broken_line(history: History) -> None:
    history.append("groups", {"a": RATE}, DATE)
    with history.path.open("ab") as file:
        file.write(b"\xff\xfe\n")
    assert ([entry(RATE)], [2]) == history.read()


def test_more_rows_a_second_are_better() -> None:
    assert "+50.0%" == change(RATE, Figure(3e6, 2.9e6, 3.1e6, Unit.RATE))
    assert "-25.0%" == change(RATE, Figure(1.5e6, 1.4e6, 1.6e6, Unit.RATE))


def test_fewer_seconds_and_bytes_are_better() -> None:
    assert "+100.0%" == change(Figure.once(2.0, Unit.SECONDS), Figure.once(1.0, Unit.SECONDS))
    assert "-50.0%" == change(Figure.once(1e6, Unit.BYTES), Figure.once(2e6, Unit.BYTES))


def test_a_change_smaller_than_the_spread_says_so() -> None:
    assert "+2.5% within spread" == change(RATE, Figure(2.05e6, 2e6, 2.2e6, Unit.RATE))


def test_zero_has_no_percentage() -> None:
    nothing, some = Figure.once(0.0, Unit.BYTES), Figure.once(5.0, Unit.BYTES)
    assert ["same within spread", "from zero", "to zero"] == [
        change(nothing, nothing),
        change(nothing, some),
        change(some, nothing),
    ]


def test_ratios_are_compared_with_those_of_the_same_rival() -> None:
    now = replace(RATE, over={"duckdb": 2.2, "polars": 1.0})
    ((*_, ratios, last_of),) = changes({"a": now}, {"a": entry(RATE)})
    assert "duckdb +10.0%" == ratios
    assert "2026-11-16 80f0b6c" == last_of


def test_a_new_figure_and_a_changed_unit_are_not_compared() -> None:
    lines = list(changes({"a": Figure.once(1.0, Unit.SECONDS), "b": RATE}, {"a": entry(RATE)}))
    assert ["another unit", "first"] == [line[3] for line in lines]


def test_rate_turns_the_spread_round() -> None:
    spread = Spread.of([2.0, 1.0, 4.0])
    assert Figure(50.0, 25.0, 100.0, Unit.RATE) == spread.rate(100)
    assert Figure(2.0, 1.0, 4.0, Unit.SECONDS) == spread.time()
