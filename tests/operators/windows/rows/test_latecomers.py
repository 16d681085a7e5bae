"""Late rows are in the windows that end from the bound they met on, as long as these reach back to them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from windrow.operators.state.cells import Cells
from windrow.operators.state.kinds import ADDS, MAXS, PAIRS
from windrow.operators.state.layout import Table
from windrow.operators.store.cell_rows import cell_rows
from windrow.operators.store.row_block import RowBlock
from windrow.operators.windows.rows.latecomers import Latecomers, PastEnds

Integers = npt.NDArray[np.int64]
LEAST = -(1 << 63)


def states(values: Integers, times: Integers) -> Table:
    """A sum, a greatest and a smallest, the value of the latest."""
    both = np.stack([values, -values], axis=1), np.stack([times, values], axis=1)
    return Table({ADDS: values.reshape(-1, 1).copy(), MAXS: both[0], PAIRS: both[1]})


def expected(late: list[tuple[int, int, int, int]], end: int, code: int, reach: int) -> list[int]:
    inside = [(t, v) for t, bound, c, v in late if c == code and bound <= end < t + reach]
    values = [v for _, v in inside] or [LEAST]
    latest = max(inside, default=(LEAST, LEAST))
    return [sum(v for _, v in inside), max(values), max((-v for _, v in inside), default=LEAST), *latest]


@pytest.mark.parametrize("seed", range(20))
def test_each_answer_gets_the_rows_in_its_window(seed: int) -> None:
    random, reach = np.random.default_rng(seed), 40
    bounds = np.sort(random.integers(0, 100, 30))
    times = bounds - random.integers(1, reach, 30)
    codes, values = random.integers(0, 3, 30).astype(np.int32), random.integers(-9, 9, 30)
    late = Latecomers(cell_rows(Cells(times, codes, states(values, times))), bounds, reach, 5)
    listed = list(zip(times.tolist(), bounds.tolist(), codes.tolist(), values.tolist(), strict=True))
    ends, owners = np.sort(random.integers(0, 150, 80)), random.integers(0, 5, 80).astype(np.int32)
    for piece in (slice(0, 30), slice(30, 31), slice(31, 80)):
        size = len(ends[piece])
        out = Table({kind: kind.empty(size, width) for kind, width in ((ADDS, 1), (MAXS, 2), (PAIRS, 2))})
        late.join(Cells(np.arange(size), owners[piece], out), ends[piece])
        found = np.concatenate(list(out.matrices.values()), axis=1).tolist()
        wanted = zip(ends[piece].tolist(), owners[piece].tolist(), strict=True)
        assert [expected(listed, end, code, reach) for end, code in wanted] == found


def end(time: int, code: int) -> RowBlock:
    return RowBlock({"place": np.array([time]), "code": np.array([code], np.int32)})


def known(*pairs: tuple[int, int]) -> PastEnds:
    past = PastEnds()
    for time, code in pairs:
        past.append(end(time, code))
    return past


def test_what_rows_missed_of_their_own_group() -> None:
    past = known((1, 0), (3, 1), (3, 0), (7, 1), (9, 0))
    times, bounds = np.array([2, 3, 8, 10, 0]), np.array([10, 10, 10, 10, 9])
    counts, firsts, lasts = past.missed(times, bounds, np.array([0, 1, 1, 0, 0], np.int32))
    assert [2, 2, 0, 0, 2] == counts.tolist()
    assert [3, 3, 8, 10, 1] == firsts.tolist()
    assert [9, 7, 8, 10, 3] == lasts.tolist()


def test_numbers_stay_when_ends_are_forgotten() -> None:
    past = known(*((time, 0) for time in range(0, 400, 2)))
    past.forget_below(301)
    assert (151, [302, 398]) == (past.first, past.gather("place", np.array([151, 199])).tolist())
    assert 200 == past.count
    past.forget(1000)
    assert (200, 0) == (past.first, len(past))
    past.append(end(500, 0))
    assert [500] == past.gather("place", np.array([200])).tolist()
