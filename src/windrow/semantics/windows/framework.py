"""The thesis' framework in one place: three functions and the interval for a window of any kind (section 5.1.1).

Law, for every window kind: `wid in wids(window, rows, i)` exactly when `i in extent(window, rows, wid)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, TypeAlias, cast

from windrow.semantics.progress.policies import Row
from windrow.semantics.windows import landmark, session, slide_by_tuple, sliding
from windrow.semantics.windows import last_rows as rows
from windrow.semantics.windows.kinds import Landmark, RowsWindow, Session, SlideByTuple, Sliding, Window

WindowId: TypeAlias = Any
"""What a kind names its windows by: a whole number, or a tuple that starts with whole numbers; always ordered."""
Interval: TypeAlias = tuple[int | None, int]

_KINDS: dict[type, ModuleType] = {
    Sliding: sliding,
    Landmark: landmark,
    Session: session,
    RowsWindow: rows,
    SlideByTuple: slide_by_tuple,
}


def windows(window: Window, rows: Sequence[Row]) -> list[WindowId]:
    """The ids of the windows that a set of rows gives rise to (for sessions: the rows of one group)."""
    return cast("list[WindowId]", _KINDS[type(window)].windows(window, rows))


def extent(window: Window, rows: Sequence[Row], wid: WindowId) -> list[int]:
    """The positions of the rows that belong to a window."""
    return cast("list[int]", _KINDS[type(window)].extent(window, rows, wid))


def wids(window: Window, rows: Sequence[Row], index: int) -> list[WindowId]:
    """The windows that the row at `index` belongs to."""
    return cast("list[WindowId]", _KINDS[type(window)].wids(window, rows, index))


def interval(window: Window, wid: WindowId) -> Interval:
    """The start (None: unbounded) and the end of a window, as results report them."""
    return cast("Interval", _KINDS[type(window)].interval(window, wid))


def closes_at(window: Window, wid: WindowId) -> int:
    """The least punctuation that closes a window.

    That is the end of `[start, end)`. A session still takes a row exactly at its end, and a slide-by-tuple window
    includes its end, so both close one unit later.
    """
    _, end = interval(window, wid)
    return end + 1 if isinstance(window, (Session, SlideByTuple)) else end
