"""A plan as text: what is computed, in the user's units, how, and what to look out for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from windrow.aggregates.kinds.base import value_type
from windrow.physical import nodes
from windrow.physical.costs import MEASURED, Constants, Statistics
from windrow.physical.explain.notes import notes_of
from windrow.physical.how import How
from windrow.physical.make import make
from windrow.physical.nodes import Physical
from windrow.physical.planner import describe_estimates
from windrow.physical.rules.choose_joins import shapes_below
from windrow.plan.checks.nodes import shape_of
from windrow.plan.checks.windows import row_count, value_text, within_of
from windrow.plan.nodes import (
    Distinct,
    Filter,
    Join,
    JoinTime,
    Late,
    Lateness,
    Node,
    OrderedOutput,
    Project,
    Stream,
    Union,
    WindowAggregate,
    walk,
)
from windrow.semantics.joins import AsOf, Between, JoinKind, LastRows, SameWindow
from windrow.semantics.progress.policies import External, Idle, Lead, Ordered, Policy, Slack, SlackRows, lead_of
from windrow.semantics.scalars.amounts import Amount, Domain, render, render_apart
from windrow.semantics.scalars.expressions import Column, Expression
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, Session, SlideByTuple, Sliding, Window


def explain(node: Node, statistics: Statistics | None = None, constants: Constants = MEASURED) -> str:
    """The plan as a tree, top down, with the chosen strategies and their reasons, then notes.

    With statistics of the stream, strategies are chosen by what each would cost, which is told too.
    """
    (answer,) = make([node], How(statistics=statistics, constants=constants))
    lines = list(_tree(answer.inputs[0]))
    if statistics is not None:
        for window in (part for part in walk(node) if isinstance(part, WindowAggregate)):
            found = list(describe_estimates(window, statistics, constants))
            lines += ["", "Estimates", *(f"- {line}" for line in found)] if found else []
    notes = list(dict.fromkeys(notes_of(node)))
    return "\n".join([*lines, *(["", "Notes", *(f"- {note}" for note in notes)] if notes else [])])


def title_of(node: Node) -> str:
    """A node in one line."""
    return _DESCRIBE[type(node)](node).title


def _entry(node: Physical) -> _Entry:
    """What was asked for and, where there was a choice, what was decided."""
    entry = _DESCRIBE[type(node.asked)](node.asked)
    if not isinstance(node, (nodes.Window, nodes.PhysicalJoin)):
        return entry
    decided = [("strategy", node.strategy.value), *(("", f"- {reason}") for reason in node.reasons)]
    return _Entry(entry.title, (*entry.details, *decided))


def _tree(node: Physical) -> Iterator[str]:
    entry, children = _entry(node), node.inputs
    yield entry.title
    rail = "│ " if children else "  "
    width = max((len(name) for name, _ in entry.details), default=0)
    for name, text in entry.details:
        yield f"{rail} {name:<{width}}  {text}"
    for index, child in enumerate(children):
        last = index == len(children) - 1
        first, *rest = _tree(child)
        yield ("└─ " if last else "├─ ") + first
        yield from ((("   " if last else "│  ") + line).rstrip() for line in rest)


@dataclass(frozen=True)
class _Entry:
    title: str
    details: tuple[tuple[str, str], ...] = ()


def _stream(node: Stream) -> _Entry:
    columns = ", ".join(f"{field.name} {value_type(field.type)}" for field in node.schema)
    details = [("columns", columns), ("progress", f"on {node.time}: {describe_policy(node.policy)}")]
    lead = lead_of(node.policy)
    if lead is not None:
        details.append(("lead", _describe_lead(lead)))
    if node.idle is not None:
        details.append(("idle", _describe_idle(node.idle)))
    return _Entry(f"Stream {node.name}" + (f" from {node.origin}" if node.origin else ""), tuple(details))


def describe_policy(policy: Policy) -> str:
    """A progress policy in words."""
    if isinstance(policy, Ordered):
        return "rows come in order"
    if isinstance(policy, Slack):
        return f"rows come at most {_shown(policy.amount)} behind the largest value seen"
    if isinstance(policy, SlackRows):
        return f"rows come at most {policy.rows} rows late"
    if isinstance(policy, External):
        where = f"in column {policy.column}" if policy.column else "among the elements"
        return f"punctuations {where}" + (f", some for single groups by {', '.join(policy.per)}" if policy.per else "")
    return "only the end of the input is a promise"


def _describe_lead(lead: Lead) -> str:
    against = "of the clock" if lead.wall_clock else "of what came before"
    return (
        f"rows more than {_shown(lead.amount)} ahead {against} are early: set aside and counted, they move no progress"
    )


def _describe_idle(idle: Idle) -> str:
    if idle.wall_clock:
        return f"after {_shown(idle.amount)} of silence by the clock it no longer holds others back"
    return f"it holds others back by at most {_shown(idle.amount)}"


def _shown(amount: Amount) -> str:
    return render(amount.resolve(Domain.TIME, "amount"), Domain.TIME) if amount.is_time else str(amount)


def _filter(node: Filter) -> _Entry:
    return _Entry(f"Filter {node.predicate}")


def _project(node: Project) -> _Entry:
    return _Entry("Project " + ", ".join(_named(name, expression) for name, expression in node.columns))


def _named(name: str, expression: Expression) -> str:
    return name if expression == Column(name) else f"{name} = {expression}"


def _aggregate(node: WindowAggregate) -> _Entry:
    domain = Domain.INTEGER if isinstance(node.window, RowsWindow) else shape_of(node.input).domain
    details = [
        ("window", describe_window(node.window, domain)),
        *(("", text) for text in (describe_bounds(node.window, domain),) if text),
        ("keys", ", ".join(_named(*key) for key in node.keys) or "none: one result a window"),
        ("answers", ", ".join(f"{call.name} = {call}" for call in node.aggregates) or "none"),
        ("emit", _describe_emit(node)),
        *_describe_early(node),
        ("late", _describe_late(node, domain)),
    ]
    return _Entry("WindowAggregate", tuple(details))


def _describe_early(node: WindowAggregate) -> list[tuple[str, str]]:
    if node.early is None:
        return []
    return [("early", f"open windows every {_shown(node.early)}, taken back when something newer follows")]


def _describe_emit(node: WindowAggregate) -> str:
    if node.emit is Emit.EMPTY:
        return f"{_EMIT[node.emit]}, up to {node.most_empty:,} in a row"
    full = isinstance(node.window, RowsWindow) and node.emit is Emit.COMPLETE
    return "only windows that have all their rows" if full else _EMIT[node.emit]


_EMIT = {
    Emit.NONEMPTY: "windows that hold a row",
    Emit.EMPTY: "windows that hold a row, and the empty ones between them",
    Emit.COMPLETE: "only windows that start after the first row",
}


def describe_window(window: Window, domain: Domain) -> str:
    """A window in the user's units.

    >>> describe_window(Sliding("time", 600_000_000, 60_000_000), Domain.TIME)
    'RANGE 10 min SLIDE 1 min on time, each row in up to 10 windows'
    """
    if isinstance(window, Session):
        return f"GAP {render(window.gap, domain)} on {window.attribute}, a window ends when no row comes for that long"
    if isinstance(window, RowsWindow):
        per = f" per {', '.join(window.partition)}" if window.partition else ""
        order = "by arrival" if window.order is None else f"in order of {window.order}, ties by arrival"
        return f"RANGE {row_count(window.range)} SLIDE {row_count(window.slide)}{per}, {order}"
    if isinstance(window, SlideByTuple):
        length = render(window.range, domain)
        per = f" per {', '.join(window.partition)}" if window.partition else ""
        return f"RANGE {length} on {window.attribute} SLIDE {window.every} rows{per}, counted by {window.by.value}"
    if isinstance(window, Landmark):
        return f"RANGE UNBOUNDED SLIDE {render(window.slide, domain)} on {window.attribute}{_origin(window, domain)}"
    return _describe_sliding(window, domain)


def _describe_sliding(window: Sliding, domain: Domain) -> str:
    text = f"RANGE {render(window.range, domain)} SLIDE {render(window.slide, domain)} on {window.attribute}"
    overlap = -(-window.range // window.slide)
    shared = f"each row in up to {overlap} windows" if overlap > 1 else "each row in at most one window"
    origin = "" if _is_uneven(window) else _origin(window, domain)
    return f"{text}{origin}, {'each row in one window' if window.is_tumbling else shared}"


def _is_uneven(window: Window) -> bool:
    """Whether windows start at other multiples of their slide than they end at."""
    return isinstance(window, Sliding) and window.range % window.slide != 0


def describe_bounds(window: Window, domain: Domain) -> str:
    """Where uneven windows start and end; nothing for others, of which one follows from the other.

    >>> describe_bounds(Sliding("ts", range=10, slide=4), Domain.INTEGER)
    'windows start 2 after multiples of 4 and end at multiples of 4'
    """
    if not isinstance(window, Sliding) or not _is_uneven(window):
        return ""
    start, end = (_after_multiples(phase, window.slide, domain) for phase in window.phases)
    return f"windows start {start} and end {end}"


def _after_multiples(phase: int, slide: int, domain: Domain) -> str:
    multiples = f"multiples of {render(slide, domain)}"
    return f"{render(phase, domain)} after {multiples}" if phase else f"at {multiples}"


def _origin(window: Sliding | Landmark, domain: Domain) -> str:
    return f" from {value_text(window.origin, domain)}" if window.origin else ""


def _describe_late(node: WindowAggregate, domain: Domain) -> str:
    if isinstance(node.window, RowsWindow):
        return _describe_late_for_rows(node, node.window)
    what = {
        Late.DROP: "left out of the windows they missed, and counted",
        Late.SIDE: "given out on the side with the windows they missed",
        Late.REVISE: f"corrected results follow, up to {render(within_of(node, domain), domain)} after a window's end",
    }[node.late]
    if node.lateness is Lateness.CONSISTENT:
        return f"{what}; a row that missed one window counts in none (consistent)"
    return f"{what}; they count in the windows still open (generous)"


def _describe_late_for_rows(node: WindowAggregate, window: RowsWindow) -> str:
    if window.order is None:
        return "none: rows count as they come"
    side = "given out on the side" if node.late is Late.SIDE else "left out, and counted"
    return f"{side}; the rows after them are counted already"


def _union(node: Union) -> _Entry:
    return _Entry(f"Union of {len(node.inputs)}: rows as they come, progress is the least of all inputs")


def _join(node: Join) -> _Entry:
    kind = "as of" if isinstance(node.window, AsOf) else node.kind.value
    title = f"Join ({kind}) of {node.aliases[0]} and {node.aliases[1]}"
    return _Entry(title, tuple(join_details(node)))


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


def _distinct(_node: Distinct) -> _Entry:
    return _Entry("Distinct: each different row once")


def _ordered(node: OrderedOutput) -> _Entry:
    shape = shape_of(node)
    others = any(name != shape.time for name in shape.schema.names)
    details = [
        ("order", f"{shape.time}, then the other columns from left to right" if others else str(shape.time)),
        ("waits", f"each row for the promise of all streams that no smaller {shape.time} follows"),
    ]
    if not any(isinstance(part, WindowAggregate) for part in walk(node)):
        details.append(("late", "rows below what was promised are left out, and counted"))
    return _Entry("OrderedOutput", tuple(details))


_DESCRIBE: dict[type, Callable[[Any], _Entry]] = {
    Stream: _stream,
    WindowAggregate: _aggregate,
    Filter: _filter,
    Project: _project,
    Union: _union,
    Distinct: _distinct,
    OrderedOutput: _ordered,
    Join: _join,
}
