"""A run goes on with other numbers of threads, again and again: the answer is that of one that never stopped."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import windrow as wr
from tests.soak.broken_off import answer, breaking_after
from tests.soak.queries import BATCH_ROWS, CASES, MEMORY, early, spilled

THREADS = (2, 5, 1)


@pytest.mark.parametrize("case", [case for case in CASES if case not in (early, spilled)], ids=lambda c: c.__name__)
def test_threads_may_change_at_any_checkpoint(case: Callable[[Path], wr.Query], tmp_path: Path) -> None:
    chance, state = random.Random(case.__name__), str(tmp_path / "state")
    expected = answer(case(tmp_path))
    for threads in THREADS:
        with breaking_after(chance.randint(2, 4)):
            options = {"checkpoint": state, "checkpoint_every": 1, "restore": True, "memory": MEMORY}
            case(tmp_path).run(batch_rows=BATCH_ROWS, threads=threads, **options)
    assert any(expected)
    assert expected == answer(case(tmp_path), checkpoint=state, restore=True, threads=3)
