"""A bit of a checkpoint flips, or one of its files is cut: every restore gives the right answer or is refused.

`WINDROW_FLIPS` is how often, 500 when left out; a tenth of them through the command line in a process of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import windrow as wr
from tests.soak.broken_off import answer, breaking_after, leave_checkpoint
from tests.soak.damage import REFUSED, RESCUED, RIGHT, command_line, trials
from tests.soak.queries import BATCHES, CASES, SCHEMA, rows
from tests.strategies import comparable
from windrow.cli import main

pytestmark = [pytest.mark.soak]
FLIPS = int(os.environ.get("WINDROW_FLIPS", "500"))
QUERY = """
CREATE STREAM s FROM 's.parquet' PROGRESS ON ts SLACK 15;
SELECT k, count(*) AS n, median(x) AS middle FROM s [RANGE 60 SLIDE 20 WATTR ts] GROUP BY k LATE SIDE;
"""
RUN = ("run", "query.sql", "--engine", "local", "--checkpoint", "state", "--every", "150", "--batch-rows", "150")
ANSWERS = ("answer.parquet", "late.parquet")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_restore_in_this_process(case: Callable[[Path], wr.Query], tmp_path: Path) -> None:
    flips = -(-FLIPS * 9 // 10 // len(CASES))
    expected = answer(case(tmp_path))
    for saves in (1, 2, BATCHES // 2, BATCHES + 1):  # with one alone, in the middle, and at the end
        whole = tmp_path / f"whole-{saves}"
        leave_checkpoint(case(tmp_path), whole, saves)
        restore = lambda folder: answer(case(tmp_path), checkpoint=str(folder), restore=True)  # noqa: E731
        seeds = [f"{case.__name__} {saves} {flip}" for flip in range(-(-flips // 4))]
        outcomes = trials(whole, tmp_path / "state", restore, expected, seeds=seeds)
        print(f"{case.__name__}, broken off after checkpoint {saves}: {dict(outcomes)}")


def test_a_restore_by_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.Table.from_pylist(rows(1, late=0.1), SCHEMA), "s.parquet")
    Path("query.sql").write_text(QUERY)
    output = ("--output", ANSWERS[0], "--late", ANSWERS[1])
    main([*RUN[:4], *output], standalone_mode=False)
    expected = written()
    with breaking_after(5):
        main([*RUN, *output], standalone_mode=False)
    (tmp_path / "state").rename(tmp_path / "whole")

    def judge(_: Callable[[], object], expected: object) -> str:
        for name in ANSWERS:
            Path(name).unlink(missing_ok=True)
        outcome = command_line(*RUN, *output, "--restore", cwd=tmp_path)
        assert outcome == REFUSED or expected == written()
        return outcome

    outcomes = trials(
        tmp_path / "whole", tmp_path / "state", partial(str), expected, seeds=range(-(-FLIPS // 10)), judge=judge
    )
    print(f"command line: {dict(outcomes)}")
    assert {RIGHT, RESCUED, REFUSED} >= set(outcomes)


def written() -> list[list[Any]]:
    return [comparable(parquet.read_table(name).to_pylist()) for name in ANSWERS]
