"""Choose how each window aggregate is computed, and say why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from windrow.aggregates import lookup
from windrow.errors import UnsupportedError
from windrow.plan.check import shape_of
from windrow.plan.estimates import kept_by
from windrow.plan.nodes import Late, Strategy, WindowAggregate
from windrow.plan.types import type_of
from windrow.semantics.amounts import render
from windrow.semantics.windows import Emit, Landmark, Session, Sliding

MOST_PANES = 1_000_000
"""With more panes a window, hardly two rows share one."""
MOST_WINDOWS = 1_024
"""Of so many windows a row may be put into each; of more, panes are the lesser evil."""


@dataclass(frozen=True)
class Choice:
    """The algorithm and the reasons for it."""

    strategy: Strategy
    reasons: tuple[str, ...]


def choose(node: WindowAggregate) -> Choice:
    """The strategy the node asks for, checked, or the planner's own."""
    refuse_impossible(node)
    if isinstance(node.window, Session):
        return Choice(Strategy.AUTO, ("sessions have an algorithm of their own: rows are merged into open sessions",))
    if node.strategy is not Strategy.AUTO:
        return Choice(node.strategy, (f"asked for with STRATEGY {node.strategy.value}", *_told(node)))
    if node.late is Late.REVISE:
        return Choice(Strategy.PANES, ("corrections are put together from panes",))
    if isinstance(node.window, Landmark):
        return Choice(Strategy.PANES, ("landmark windows only grow: one pane a slide, added once",))
    if isinstance(node.window, Sliding) and node.window.is_tumbling:
        return Choice(Strategy.PANES, ("RANGE equals SLIDE: each window is one pane",))
    if isinstance(node.window, Sliding) and _panes_are_too_small(node.window):
        return Choice(Strategy.WID, (_why_no_panes(node),))
    return Choice(Strategy.PANES, (_pane_of(node), *_ways_of(node)))


def _told(node: WindowAggregate) -> Iterator[str]:
    """What a strategy that was asked for will do."""
    if node.strategy is Strategy.ADAPTIVE:
        assert isinstance(node.window, Sliding)
        memory = kept_by(node).memory(node.window)
        yield (
            f"a group keeps its rows, about {memory.row:.0f} bytes each, while they cost less than its cells, about "
            f"{memory.cell:.0f} bytes a pane: up to {memory.least_rows(1):.0f} rows in one pane"
        )


def _panes_are_too_small(window: Sliding) -> bool:
    """RANGE and SLIDE share so small a divisor that panes would be as many as rows, and windows are few."""
    return window.range // gcd(window.range, window.slide) > MOST_PANES and window.range // window.slide <= MOST_WINDOWS


def _why_no_panes(node: WindowAggregate) -> str:
    assert isinstance(node.window, Sliding)
    pane = render(gcd(node.window.range, node.window.slide), shape_of(node.input).domain)
    return f"RANGE and SLIDE share only {pane}, too small for panes: one partial for each open window instead"


def _pane_of(node: WindowAggregate) -> str:
    assert isinstance(node.window, Sliding)
    pane = gcd(node.window.range, node.window.slide)
    size = render(pane, shape_of(node.input).domain)
    return (
        f"each row goes into one pane of {size}, whatever RANGE/SLIDE is; a window is {node.window.range // pane} panes"
    )


def _ways_of(node: WindowAggregate) -> Iterator[str]:
    """How windows are put together from panes, for each kind of aggregate there is in the query."""
    schema = shape_of(node.input).schema
    ways: dict[str, list[str]] = {}
    for call in node.aggregates:
        aggregate = lookup(call.function)
        kind = None if call.argument is None else type_of(call.argument, schema)
        if not aggregate.is_bounded_for(kind):
            way = "keeps values: sorted runs a pane, added and taken away"
        elif aggregate.differential:
            way = "can subtract: a running difference"
        else:
            way = "cannot subtract: two stacks"
        ways.setdefault(way, []).append(str(call))
    for way, calls in ways.items():
        yield f"{', '.join(dict.fromkeys(calls))} {way}"


def refuse_impossible(node: WindowAggregate) -> None:
    window = node.window
    if node.late is Late.REVISE and (not isinstance(window, Sliding) or node.emit is Emit.EMPTY):
        what = "EMIT EMPTY" if isinstance(window, Sliding) else type(window).__name__.lower() + " windows"
        raise UnsupportedError(
            f"is not available for {what}",
            parameter="late",
            value="revise",
            allowed=("drop", "side"),
            hint="late='side' gives the late rows as a second output",
        )
    if node.late is Late.REVISE and node.strategy not in (Strategy.AUTO, Strategy.PANES):
        raise UnsupportedError(
            "must be panes or auto with LATE REVISE",
            parameter="strategy",
            value=node.strategy.value,
            hint="corrections are put together from panes; leave the strategy out",
        )
    if isinstance(window, Session) and node.strategy is not Strategy.AUTO:
        raise UnsupportedError(
            "must be auto for session windows",
            parameter="strategy",
            value=node.strategy.value,
            hint="sessions have one algorithm; leave the strategy out",
        )
    if isinstance(window, Landmark) and node.strategy in _NOT_FOR_LANDMARKS:
        raise UnsupportedError(
            "must be auto, panes or buffer for landmark windows",
            parameter="strategy",
            value=node.strategy.value,
            hint=_NOT_FOR_LANDMARKS[node.strategy],
        )


_NOT_FOR_LANDMARKS = {
    Strategy.WID: "a row belongs to every later window: WID would never be done with it",
    Strategy.ADAPTIVE: "no row ever leaves a landmark window, so that kept rows only grow: cells are always less",
}
