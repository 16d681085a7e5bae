"""Rows that wait come back as they were, in the order in which they came."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.operators.state.columns.base import Lifted
from windrow.operators.windows.grouped_rows import GroupedRows, Pending
from windrow.semantics.progress.policies import END
from windrow.semantics.scalars.expressions import Column

X = Column("x")


def rows(times: Sequence[int], codes: Sequence[int], valid: Sequence[int] = ()) -> GroupedRows:
    stamps, validity = np.array(times, np.int64), np.array(valid, np.uint8)
    lifted = Lifted(stamps * 100, np.empty(0, np.int64), validity, stamps)
    return GroupedRows(stamps, np.array(codes, np.int32), {X: lifted})


def test_batches_become_one_and_rows_without_validity_are_valid() -> None:
    pending = Pending()
    pending.put(rows([5, 3], [0, 1]))
    pending.put(rows([9], [2], valid=[0]))
    assert (3, 3) == (pending.count, pending.least)
    assert 3 * (8 + 4 + 8) + 1 == pending.nbytes
    taken = pending.take()
    assert ([5, 3, 9], [0, 1, 2]) == (taken.times.tolist(), taken.codes.tolist())
    assert [500, 300, 900] == taken.lifted[X].numbers.tolist()
    assert [1, 1, 0] == taken.lifted[X].valid.tolist()
    assert taken.lifted[X].times is taken.times
    assert (3, 9) == taken.span
    assert (0, END, 0) == (pending.count, pending.least, pending.nbytes)


def test_codes_are_renumbered_where_there_are_any() -> None:
    pending = Pending()
    pending.put(rows([1, 2], [0, 2]))
    pending.remap(np.array([4, -1, 5], np.int32))
    assert [[4, 5]] == [codes.tolist() for codes in pending.codes_in_use()]
    alone = Pending()
    alone.put(rows([1], []))
    alone.remap(np.array([0], np.int32))
    assert [] == alone.take().codes.tolist()
