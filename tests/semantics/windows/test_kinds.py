from __future__ import annotations

from windrow.semantics.windows.kinds import Context, Landmark, RowsWindow, Session, SlideByTuple, Sliding


def test_context_of_each_kind() -> None:
    assert Context.FREE is Sliding("ts", 2, 1).context
    assert Context.FREE is Landmark("ts", 2).context
    assert Context.FREE is RowsWindow(2, 1).context
    assert Context.BACKWARD is RowsWindow(2, 1, ("k",)).context
    assert Context.FORWARD is Session("ts", 2).context
    assert Context.FORWARD is SlideByTuple("ts", 2).context


def test_tumbling_and_windows_with_holes() -> None:
    assert Sliding("ts", 5, 5).is_tumbling
    assert not Sliding("ts", 5, 4).is_tumbling
    assert Sliding("ts", 4, 5).loses_rows
    assert not Sliding("ts", 5, 5).loses_rows
