"""Rows that wait leave by time, ties by arrival, and are not kept in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.operators.base import Batch
from windrow.operators.waiting import Waiting

NO_MORE = 1 << 40


def batch(times: list[int], first: int = 0) -> Batch:
    numbers = pa.array(range(first, first + len(times)), pa.int64())
    words = pa.array([f"row {first + i}" for i in range(len(times))]).dictionary_encode()
    return Batch(pa.record_batch({"number": numbers, "word": words}), np.array(times, np.int64))


STEPS = st.lists(st.one_of(st.lists(st.integers(0, 30), max_size=9), st.integers(0, 30)), max_size=25)


@settings(max_examples=400)
@given(STEPS, st.data())
def test_rows_leave_by_time_and_ties_by_arrival(steps: list[list[int] | int], data: st.DataObject) -> None:
    waiting, held, arrived = Waiting(), [], 0
    for step in [*steps, NO_MORE]:
        if data.draw(st.booleans()):
            fresh = Waiting()
            fresh.restore(waiting.state())
            waiting = fresh
        if isinstance(step, list):
            waiting.add(batch(step, arrived))
            held += [(time, arrived + i) for i, time in enumerate(step)]
            arrived += len(step)
            assert len(held) == len(waiting)
            continue
        last = step == NO_MORE
        released = waiting.release(0 if last else step, last=last)
        expected = sorted(row for row in held if last or row[0] < step)
        held = [row for row in held if row not in expected]
        found = (
            []
            if released is None
            else list(zip(released.times.tolist(), released.data.column("number").to_pylist(), strict=True))
        )
        assert expected == found
        if released is not None:
            assert [f"row {number}" for _, number in expected] == released.data.column("word").to_pylist()
    assert 0 == len(waiting) == waiting.nbytes


def test_what_has_left_is_let_go_before_the_rest_of_its_run_has() -> None:
    waiting = Waiting()
    waiting.add(batch(list(range(1_000))))
    waiting.release(1, last=False)
    whole = waiting.nbytes
    waiting.release(900, last=False)
    assert 100 == len(waiting)
    assert waiting.nbytes < whole // 2  # the dictionary stays


def test_there_are_few_runs() -> None:
    waiting = Waiting()
    for time in range(1_000):
        waiting.add(batch([5_000 - time], time))
        waiting.release(0, last=False)
    assert 1_000 == len(waiting)
    assert len(waiting.runs) <= 10
