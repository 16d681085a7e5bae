"""Kept rows: found by id, marked once, given when they leave without a partner."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow.operators.handshake.kept import Kept
from windrow.operators.joins.results import Picked
from windrow.semantics.progress.policies import END


def rows(times: list[int], start: int) -> Picked:
    data = pa.record_batch([pa.array([str(start + i) for i in range(len(times))])], names=["id"])
    return Picked(len(times), data, np.array(times, np.int64))


def names(picked: Picked) -> list[int]:
    assert picked.data is not None
    return [int(str(name)) for name in picked.data.column(0).to_pylist()]


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=9), max_size=12), st.integers(0, 30), st.data())
def test_rows_are_found_and_leave_once(parts: list[list[int]], limit: int, data: st.DataObject) -> None:
    kept, times, met = Kept(), list[int](), set[int]()
    for part in parts:
        assert kept.add(rows(part, len(times))).tolist() == list(range(len(times), len(times) + len(part)))
        times += part
        asked = data.draw(st.lists(st.integers(0, len(times) - 1), min_size=1, max_size=6))
        assert names(kept.gather(np.array(asked))) == asked
        assert kept.gather(np.array(asked), ["other"]).data is None
        assert kept.mark(np.array(asked)).tolist() == sorted(set(asked) - met)
        met |= set(asked)
    early = [name for gone in kept.leave(limit) for name in names(gone)]
    assert early == [i for i, time in enumerate(times) if time < limit and i not in met]
    rest = [name for gone in kept.leave(END) for name in names(gone)]
    assert rest == [i for i, time in enumerate(times) if time >= limit and i not in met]
    assert len(kept) == kept.nbytes == 0


def test_chunks_are_not_put_together_across_one_that_is_gone() -> None:
    kept = Kept()
    for start, time in ((0, 50), (8, 1), (10, 50)):
        kept.add(rows([time] * (8 if start == 0 else 2), start))
    kept.chunks = kept.chunks[:1]
    kept.add(rows([60] * 20, 12))
    assert names(kept.gather(np.array([31, 7, 12]))) == [31, 7, 12]
    assert kept.leaving(55) == 8


def test_chunks_that_another_thread_reads_stay_as_they_are() -> None:
    kept = Kept()
    kept.add(rows([5], 0))
    read, chunk = kept.chunks, kept.chunks[0]
    kept.add(rows([6], 1))
    assert len(kept.chunks) == 1
    assert read == [chunk]
    assert names(chunk.rows) == [0]
