from __future__ import annotations

from windrow.semantics.windows.kinds import Session

WINDOW = Session("ts", gap=5)
#   1----6    12   20      6 is exactly a gap after 1 and joins it; 12 is one more than a gap after 6
ROWS = [{"ts": 20}, {"ts": 1}, {"ts": 12}, {"ts": 6}]


def test_rows_at_most_a_gap_apart_share_a_session() -> None:
    assert [(1, 6), (12, 12), (20, 20)] == WINDOW.windows(ROWS)
    assert [1, 3] == WINDOW.extent(ROWS, (1, 6))
    assert [(1, 6)] == WINDOW.wids(ROWS, 3)


def test_a_session_ends_a_gap_after_its_last_row() -> None:
    assert (1, 11) == WINDOW.interval((1, 6))


def test_ties_share_a_session() -> None:
    assert [(3, 3)] == WINDOW.windows([{"ts": 3}, {"ts": 3}])
