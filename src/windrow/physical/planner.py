"""Choose how each window aggregate is computed, and say why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Part, Values
from windrow.aggregates.kinds.columns import Rule
from windrow.errors import UnsupportedError
from windrow.physical.costs import MEASURED, Constants, Estimate, StateShape, Statistics, estimates
from windrow.plan.checks.nodes import aggregates_of, shape_of
from windrow.plan.checks.windows import row_count
from windrow.plan.nodes import Late, Node, Strategy, WindowAggregate, map_inputs
from windrow.semantics.scalars.amounts import render
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, Session, SlideByTuple, Sliding

MOST_PANES = 1_000_000
"""With more panes a window, hardly two rows share one."""
CLEARLY = 0.8
"""Estimates are rough: another strategy than the usual one must cost less than this share."""
LARGE_STATE = 1 << 24
"""Bytes of state from which memory counts, too."""
MOST_WINDOWS = 1_024
"""Of so many windows a row may be put into each; of more, panes are the lesser evil."""


@dataclass(frozen=True)
class Choice:
    """The algorithm and the reasons for it."""

    strategy: Strategy
    reasons: tuple[str, ...]


def choose(node: WindowAggregate, statistics: Statistics | None = None, constants: Constants = MEASURED) -> Choice:
    """The strategy the node asks for, checked, or the planner's own; by estimate, where statistics are given."""
    _refuse_impossible(node)
    if isinstance(node.window, Session):
        return Choice(Strategy.AUTO, ("sessions have an algorithm of their own: rows are merged into open sessions",))
    if isinstance(node.window, SlideByTuple):
        return Choice(Strategy.AUTO, tuple(_per_row(node, node.window)))
    if node.strategy is not Strategy.AUTO:
        return Choice(node.strategy, (f"asked for with STRATEGY {node.strategy.value}", *_details(node)))
    if node.late is Late.REVISE:
        return Choice(Strategy.PANES, ("corrections are put together from panes",))
    if isinstance(node.window, RowsWindow):
        reason = _pane_reason(node.window, row_count(gcd(node.window.range, node.window.slide)))
        ways = _ways_of(node, kept="keeps values: rows, sorted for each window")
        return Choice(Strategy.PANES, (reason, *ways))
    if isinstance(node.window, Landmark):
        return Choice(Strategy.PANES, ("landmark windows only grow: one pane a slide, added once",))
    usual = _usual(node, node.window)
    if statistics is None or not is_open(node):
        return usual
    return _by_cost(node, node.window, usual, statistics, constants)


def decided(plan: Node, statistics: Statistics | None, constants: Constants = MEASURED) -> Node:
    """The plan with its strategies fixed by statistics of the stream, where there are any."""
    if statistics is None:
        return plan
    if isinstance(plan, WindowAggregate) and is_open(plan):
        plan = replace(plan, strategy=choose(plan, statistics, constants).strategy)
    return map_inputs(plan, lambda child: decided(child, statistics, constants))


def _usual(node: WindowAggregate, window: Sliding) -> Choice:
    if window.is_tumbling:
        return Choice(Strategy.PANES, ("RANGE equals SLIDE: each window is one pane",))
    pane = render(gcd(window.range, window.slide), shape_of(node.input).domain)
    if _panes_are_too_small(window):
        why = f"RANGE and SLIDE share only {pane}, too small for panes: one partial for each open window instead"
        return Choice(Strategy.WID, (why,))
    return Choice(Strategy.PANES, (_pane_reason(window, pane), *_ways_of(node)))


def is_open(node: WindowAggregate) -> bool:
    """Whether statistics of the stream can change the strategy: the cost model knows bounded aggregates."""
    asked = node.strategy is Strategy.AUTO and node.late is not Late.REVISE and isinstance(node.window, Sliding)
    return asked and all(aggregate.is_bounded_for(kind) for _, aggregate, kind in aggregates_of(node))


def _by_cost(
    node: WindowAggregate, window: Sliding, usual: Choice, statistics: Statistics, constants: Constants
) -> Choice:
    """The usual strategy, unless another is clearly better: faster, and where state is large, in time times bytes."""
    found = estimates(window, kept_by(node), statistics, constants)
    large = found[usual.strategy].memory > LARGE_STATE
    costs = {strategy: e.time * (e.memory if large else 1.0) for strategy, e in found.items()}
    best = min(costs, key=lambda strategy: costs[strategy])
    if costs[best] > CLEARLY * costs[usual.strategy]:
        best = usual.strategy
    stream = f"for {statistics.groups:,.0f} groups with {statistics.rows:.3g} rows a pane"
    if best is usual.strategy:
        measure = "time and state" if large else "time"
        reason = f"no other is clearly better in {measure} {stream}: {brief(found[best])}"
        return Choice(best, (reason, *usual.reasons))
    cost, instead = brief(found[best]), f"{usual.strategy.value}: {brief(found[usual.strategy])}"
    return Choice(best, (f"{stream} it is estimated to take {cost}; {instead}",))


def _per_row(node: WindowAggregate, window: SlideByTuple) -> Iterator[str]:
    yield "windows end with rows: what a punctuation releases is sorted and runs through the window once"
    if node.keys and not window.partition:
        yield "a row closes a window for all groups: one result for each group in it. PATTR has each close its own"
    yield from _ways_of(node, kept="keeps values: the rows of one RANGE, sorted by time")


def _details(node: WindowAggregate) -> Iterator[str]:
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


def _pane_reason(window: Sliding | RowsWindow, pane: str) -> str:
    panes = window.range // gcd(window.range, window.slide)
    return f"each row goes into one pane of {pane}, whatever RANGE/SLIDE is; a window is {panes} panes"


def _ways_of(
    node: WindowAggregate, kept: str = "keeps values: sorted runs a pane, added and taken away"
) -> Iterator[str]:
    """How windows are put together, for each kind of aggregate there is in the query."""
    ways: dict[str, list[str]] = {}
    for call, aggregate, kind in aggregates_of(node):
        if not aggregate.is_bounded_for(kind):
            way = kept
        elif aggregate.differential:
            way = "can subtract: a running difference"
        else:
            way = "cannot subtract: two stacks"
        ways.setdefault(way, []).append(str(call))
    for way, calls in ways.items():
        yield f"{', '.join(dict.fromkeys(calls))} {way}"


_NAMES: dict[type, str] = {
    Landmark: "landmark windows",
    Session: "session windows",
    RowsWindow: "windows of rows",
    SlideByTuple: "slide-by-tuple windows",
}


def _not_revised(node: WindowAggregate) -> str | None:
    """What makes corrections of late rows impossible."""
    if not isinstance(node.window, (Sliding, Session)):
        return _NAMES[type(node.window)]
    if node.emit is Emit.EMPTY:
        return "EMIT EMPTY"
    complete = isinstance(node.window, Session) and node.emit is Emit.COMPLETE
    return "EMIT COMPLETE of session windows" if complete else None


def _refuse_impossible(node: WindowAggregate) -> None:
    if node.late is Late.REVISE and (what := _not_revised(node)) is not None:
        final = "a late row would close a window of its own and change which rows close the later ones; "
        raise UnsupportedError(
            f"is not available for {what}",
            parameter="late",
            value="revise",
            allowed=("drop", "side"),
            hint=f"{final if isinstance(node.window, SlideByTuple) else ''}late='side' gives the late rows as a second "
            "output",
        )
    for rule, hint in _why_impossible(node):
        raise UnsupportedError(rule, parameter="strategy", value=node.strategy.value, hint=hint)


def _why_impossible(node: WindowAggregate) -> Iterator[tuple[str, str]]:
    """Rules that the strategy that was asked for breaks, each with a hint."""
    other = node.strategy not in (Strategy.AUTO, Strategy.PANES)
    if node.late is Late.REVISE and other:
        hint = "corrections are put together from panes; leave the strategy out"
        yield "must be panes or auto with LATE REVISE", hint
    if isinstance(node.window, (Session, SlideByTuple)) and node.strategy is not Strategy.AUTO:
        name = _NAMES[type(node.window)]
        yield f"must be auto for {name}", f"{name} have one algorithm; leave the strategy out"
    if isinstance(node.window, RowsWindow) and other:
        yield "must be auto or panes for windows of rows", "leave the strategy out"
    if isinstance(node.window, Landmark) and node.strategy not in FOR_LANDMARKS:
        hint = _NOT_FOR_LANDMARKS.get(node.strategy, "leave the strategy out")
        yield "must be auto, panes or buffer for landmark windows", hint


FOR_LANDMARKS = (Strategy.AUTO, Strategy.PANES, Strategy.BUFFER)
_NOT_FOR_LANDMARKS = {
    Strategy.WID: "a row belongs to every later window: WID would never be done with it",
    Strategy.ADAPTIVE: "no row ever leaves a landmark window, so that kept rows only grow: cells are always less",
}


def kept_by(node: WindowAggregate) -> StateShape:
    """The state columns of a query before any of them widens; parts that several aggregates need are kept once."""
    needed: dict[Part, pa.DataType | None] = {}
    for call, aggregate, kind in aggregates_of(node):
        needed.update(dict.fromkeys(aggregate.parts(call.argument, kind, call.parameters), kind))
    columns = {(p.argument, c): k for p, k in needed.items() if k is not None for c in p.columns}
    weights = dict.fromkeys(Rule, 0)
    for (_, declared), kind in columns.items():  # in columns of eight bytes
        weights[declared.rule] += -(-declared.width(kind) * np.dtype(declared.dtype).itemsize // 8)
    return StateShape(
        adds=1 + weights[Rule.ADD],
        maxs=weights[Rule.GREATEST],
        pairs=weights[Rule.LATEST],
        arguments=len({call.argument for call in node.aggregates if call.argument is not None}),
        values=sum(isinstance(part, Values) for part in needed),
    )


def describe_estimates(node: WindowAggregate, stats: Statistics, constants: Constants) -> Iterator[str]:
    """A line for each strategy; none for windows that have but one."""
    if isinstance(node.window, Sliding):
        for strategy, found in estimates(node.window, kept_by(node), stats, constants).items():
            yield f"{strategy.value}: {brief(found)}"


def brief(found: Estimate) -> str:
    return f"{_short(found.time / 1e3)} us a window, {_short(found.memory / 1e3)} kB of state"


def _short(number: float) -> str:
    """Three digits.

    >>> _short(12345.6), _short(0.1234)
    ('12,300', '0.123')
    """
    return f"{float(f'{number:.3g}'):,.12g}"
