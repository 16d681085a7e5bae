"""A join in words."""

from __future__ import annotations

from windrow.physical.join_choice import shapes_below
from windrow.plan.checks.windows import value_text
from windrow.plan.nodes import Join, JoinTime, Late
from windrow.semantics.joins import AsOf, Between, JoinKind, LastRows, SameWindow
from windrow.semantics.scalars.amounts import Domain, render, render_apart


def join_details(node: Join) -> list[tuple[str, str]]:
    """What is joined, line by line."""
    domain = shapes_below(node)[0].domain
    return [
        ("window", describe_join_window(node, domain)),
        ("on", "every pair in the window" if node.on is None else str(node.on)),
        ("gives", _GIVES[node.kind]),
        ("progress", f"on {_time_name(node)}"),
        ("late", _LATE[node.late]),
    ]


def describe_join_window(node: Join, domain: Domain) -> str:
    """Which times join, in the user's units."""
    left, right = node.aliases
    window = node.window
    if isinstance(window, LastRows):
        return f"by arrival: the last {window.left} rows of {left}, the last {window.right} of {right}"
    if isinstance(window, SameWindow):
        origin = f" from {value_text(window.origin, domain)}" if window.origin else ""
        return f"both in the same window of {render(window.length, domain)}{origin}"
    if isinstance(window, AsOf):
        which = "first" if window.forward else "last"
        where = ("after" if window.forward else "before") if window.strict else ("from" if window.forward else "up to")
        within = "" if window.within is None else f", at most {render(window.within, domain)} apart"
        return f"as of: the {which} row of {right} {where} the time of {left}{within}"
    assert isinstance(window, Between)
    return f"{right} {_moved(window.low, left, domain)} to {_moved(window.high, left, domain)}"


def _moved(amount: int, other: str, domain: Domain) -> str:
    if not amount:
        return f"the time of {other}"
    return f"{render_apart(abs(amount), domain)} {'before' if amount < 0 else 'after'} {other}"


def _time_name(node: Join) -> str:
    if node.time in (JoinTime.EARLIER, JoinTime.LATER):
        return f"the {node.time.value} of both times"
    return f"the time of {node.aliases[0 if node.time is JoinTime.LEFT else 1]}"


_GIVES = {
    JoinKind.INNER: "pairs",
    JoinKind.LEFT: "pairs, and left rows that can find no partner any more",
    JoinKind.RIGHT: "pairs, and right rows that can find no partner any more",
    JoinKind.FULL: "pairs, and rows of both sides that can find no partner any more",
    JoinKind.SEMI: "left rows as soon as they have a partner, each once",
    JoinKind.ANTI: "left rows that can find no partner any more",
}
_LATE = {
    Late.DROP: "rows below what their side promised join nothing, and are counted",
    Late.SIDE: "rows below what their side promised are given out on the side",
}
