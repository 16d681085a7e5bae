"""Kept rows: found by id, marked once, given when they leave without a partner."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow.operators.handshake.kept import HandshakeRows
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
    kept, times, met = HandshakeRows(), list[int](), set[int]()
    for part in parts:
        assert kept.add(rows(part, len(times))).tolist() == list(range(len(times), len(times) + len(part)))
        times += part
        asked = data.draw(st.lists(st.integers(0, len(times) - 1), min_size=1, max_size=6))
        assert names(kept.pick(np.array(asked))) == asked
        assert kept.pick(np.array(asked), ["other"]).data is None
        assert kept.mark(np.array(asked)).tolist() == sorted(set(asked) - met)
        met |= set(asked)
    early = [name for gone in kept.leave(limit) for name in names(gone)]
    assert early == [i for i, time in enumerate(times) if time < limit and i not in met]
    rest = [name for gone in kept.leave(END) for name in names(gone)]
    assert rest == [i for i, time in enumerate(times) if time >= limit and i not in met]
    assert len(kept) == kept.nbytes == 0


def test_a_block_in_the_middle_leaves_and_ids_stay() -> None:
    kept = HandshakeRows()
    for start, time in ((0, 50), (8, 1), (10, 50)):
        kept.add(rows([time] * (8 if start == 0 else 2), start))
    assert [names(gone) for gone in kept.leave(2)] == [[8, 9]]
    kept.add(rows([60] * 20, 12))
    assert names(kept.pick(np.array([31, 7, 12, 10]))) == [31, 7, 12, 10]
    assert kept.mark(np.array([31, 7])).tolist() == [7, 31]
    assert kept.done(np.array([31, 10, 7])).tolist() == [True, False, True]
    assert kept.leaving(55) == 10
