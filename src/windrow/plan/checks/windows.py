"""Whether the numbers of a window make sense: every kind in one place, for SQL and Python alike."""

from __future__ import annotations

from windrow.errors import QueryError
from windrow.plan.nodes import WindowAggregate, WindowTime
from windrow.semantics.scalars.amounts import Domain, render
from windrow.semantics.scalars.casting import to_string
from windrow.semantics.scalars.moments import moment
from windrow.semantics.windows.kinds import (
    MOST_EMPTY,
    Emit,
    Landmark,
    RowsWindow,
    Session,
    SlideByTuple,
    Sliding,
    Window,
)

_EXAMPLES = {
    "range": "a window holds something, as in RANGE 10 SECONDS",
    "slide": "windows move forward, as in SLIDE 1 SECOND",
    "gap": "a session ends after a silence, as in GAP 30 SECONDS",
}
_ROW_EXAMPLES = {
    "range": "a window holds something, as in RANGE 10 ROWS",
    "slide": "windows move forward, as in SLIDE 1 ROW",
}


def check_window(window: Window, domain: Domain = Domain.INTEGER) -> None:
    """Refuse a `range`, `slide` or `gap` below 1; the domain is only for how the value is shown."""
    for parameter, value in _numbers(window).items():
        if value < 1:
            counted = isinstance(window, SlideByTuple) and parameter == "slide"
            shown = render(value, Domain.INTEGER if counted else domain) if value else "0"
            examples = _ROW_EXAMPLES if isinstance(window, RowsWindow) else _EXAMPLES
            hint = "every n-th row closes a window, as in SLIDE 1 ROW" if counted else examples[parameter]
            raise QueryError("must be positive", parameter=parameter, value=shown, hint=hint)


def _numbers(window: Window) -> dict[str, int]:
    """What a window is given by; the first is how long it is."""
    if isinstance(window, Session):
        return {"gap": window.gap}
    if isinstance(window, Landmark):
        return {"slide": window.slide}
    if isinstance(window, SlideByTuple):
        return {"range": window.range, "slide": window.every}
    return {"range": window.range, "slide": window.slide}


def attribute_of(window: Window) -> str | None:
    """The attribute a window is on; None when it counts rows."""
    return None if isinstance(window, RowsWindow) else window.attribute


def check_empties(node: WindowAggregate) -> None:
    """Refuse a bound on empty windows below 1, or one where none are reported."""
    if node.most_empty < 1:
        raise QueryError(
            "must be at least 1", parameter="most", value=node.most_empty, hint="as in EMIT EMPTY UP TO 5000000"
        )
    if node.most_empty != MOST_EMPTY and node.emit is not Emit.EMPTY:
        raise QueryError(
            "says how many empty windows are reported in a row, which only EMIT EMPTY does",
            parameter="most",
            value=node.most_empty,
            hint="write EMIT EMPTY UP TO ... (emit('empty', most=...)), or leave it out",
        )


def lag_of(node: WindowAggregate) -> int:
    """How far before its end the time of a result is: nothing, or the range where that is its start."""
    if node.time is WindowTime.END:
        return 0
    assert not isinstance(node.window, (Session, Landmark))
    return node.window.range


def value_text(value: int, domain: Domain) -> str:
    """A value of the attribute as text: a number, or a moment."""
    return str(value) if domain is Domain.INTEGER else to_string(moment(value))


def every_of(node: WindowAggregate, domain: Domain) -> int:
    """How often open windows are given early, in units of the attribute; 0: never."""
    return 0 if node.early is None else node.early.resolve(domain, "early")


def row_count(number: int) -> str:
    return "1 row" if number == 1 else f"{number} rows"


def within_of(node: WindowAggregate, domain: Domain) -> int:
    """How long after its end a window is still corrected under LATE REVISE: as asked, else its range, gap or slide.

    For sliding windows in whole slides, rounded up: where they end is all that their punctuations tell.
    """
    window = node.window
    length = next(iter(_numbers(window).values()))
    within = length if node.within is None else node.within.resolve(domain, "within")
    return -(-within // window.slide) * window.slide if isinstance(window, Sliding) else within
