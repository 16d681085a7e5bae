"""A plan as text: what is computed, in the user's units, how, and what to look out for."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.aggregates.kinds.base import value_type
from windrow.physical import nodes
from windrow.physical.costs import MEASURED, Constants, Statistics
from windrow.physical.explain.compression import compression_details, join_details
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
from windrow.semantics.progress.partitions import partitioned_by
from windrow.semantics.progress.policies import External, Ordered, Policy, Slack, SlackRows, lead_of
from windrow.semantics.scalars.amounts import Amount, Domain, render, render_apart
from windrow.semantics.scalars.expressions import Column, Expression
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, Session, SlideByTuple, Sliding, Window


def explain(node: Node, statistics: Statistics | None = None, constants: Constants = MEASURED) -> str:
    """The plan as a tree, top down, with the chosen strategies and their reasons, then notes.

    With statistics of the stream, strategies are chosen by what each would cost, which is shown too.
    """
    (answer,) = make([node], How(statistics=statistics, constants=constants))
    lines = list(_tree(answer.inputs[0]))
    if statistics is not None:
        for window in (part for part in walk(node) if isinstance(part, WindowAggregate)):
            found = list(describe_estimates(window, statistics, constants))
            lines += ["", "Estimates", *(f"- {line}" for line in found)] if found else []
    notes = list(dict.fromkeys(notes_of(node)))
    return "\n".join([*lines, *(["", "Notes", *(f"- {note}" for note in notes)] if notes else [])])


def described(node: Node) -> tuple[str, list[tuple[str, str]]]:
    """The title of a node and what was asked for, line by line."""
    if isinstance(node, Stream):
        return f"Stream {node.name}" + (f" from {node.origin}" if node.origin else ""), _stream_details(node)
    if isinstance(node, Filter):
        return f"Filter {node.predicate}", []
    if isinstance(node, Project):
        return "Project " + ", ".join(_named(name, expression) for name, expression in node.columns), []
    if isinstance(node, WindowAggregate):
        return "WindowAggregate", _window_details(node)
    if isinstance(node, Union):
        return f"Union of {len(node.inputs)}: rows as they come, progress is the least of all inputs", []
    if isinstance(node, Join):
        kind = "as of" if isinstance(node.window, AsOf) else node.kind.value
        return f"Join ({kind}) of {node.aliases[0]} and {node.aliases[1]}", _join_details(node)
    if isinstance(node, Distinct):
        return "Distinct: each different row once", []
    return "OrderedOutput", _order_details(node)


def _tree(node: Physical) -> Iterator[str]:
    (title, details), children = described(node.asked), node.inputs
    if isinstance(node, (nodes.Window, nodes.PhysicalJoin)):
        details += [("strategy", node.strategy.value), *(("", f"- {reason}") for reason in node.reasons)]
    yield title
    rail = "│ " if children else "  "
    width = max((len(name) for name, _ in details), default=0)
    for name, text in details:
        yield f"{rail} {name:<{width}}  {text}"
    for index, child in enumerate(children):
        last = index == len(children) - 1
        first, *rest = _tree(child)
        yield ("└─ " if last else "├─ ") + first
        yield from ((("   " if last else "│  ") + line).rstrip() for line in rest)


def _stream_details(node: Stream) -> list[tuple[str, str]]:
    columns = ", ".join(f"{field.name} {value_type(field.type)}" for field in node.schema)
    details = [("columns", columns), ("progress", f"on {node.time}: {describe_policy(node.policy)}")]
    lead, idle = lead_of(node.policy), node.idle
    if lead is not None:
        against = "of the clock" if lead.wall_clock else f"of what came before{_same(node.policy)}"
        ahead = f"rows more than {_shown(lead.amount)} ahead {against} are early"
        details.append(("lead", f"{ahead}: set aside and counted, they move no progress"))
    who = ", and each of its partitions the others of it" if partitioned_by(node.policy) else ""
    if idle is not None and idle.wall_clock:
        silence = f"after {_shown(idle.amount)} of silence by the clock"
        details.append(("idle", f"{silence} it no longer holds others back{who}"))
    elif idle is not None:
        details.append(("idle", f"it holds others back by at most {_shown(idle.amount)}{who}"))
    return details


def describe_policy(policy: Policy) -> str:
    waits = "; the slowest holds back the others" if partitioned_by(policy) else ""
    if isinstance(policy, Ordered):
        return f"rows{_same(policy)} come in order{waits}"
    if isinstance(policy, Slack):
        behind = f"rows come at most {_shown(policy.amount)} behind the largest value seen"
        return f"{behind}{_same(policy)}{waits}"
    if isinstance(policy, SlackRows):
        return f"rows come at most {policy.rows} rows late"
    if isinstance(policy, External):
        where = f"in column {policy.column}" if policy.column else "among the elements"
        return f"punctuations {where}" + (f", some for single groups by {', '.join(policy.per)}" if policy.per else "")
    return "only the end of the input is a promise"


def _same(policy: Policy) -> str:
    """Among which rows, where each partition has its own bound."""
    per = partitioned_by(policy)
    return f" of the same {', '.join(per)}" if per else ""


def _shown(amount: Amount) -> str:
    return render(amount.resolve(Domain.TIME, "amount"), Domain.TIME) if amount.is_time else str(amount)


def _named(name: str, expression: Expression) -> str:
    return name if expression == Column(name) else f"{name} = {expression}"


def _window_details(node: WindowAggregate) -> list[tuple[str, str]]:
    domain = Domain.INTEGER if isinstance(node.window, RowsWindow) else shape_of(node.input).domain
    bounds = describe_bounds(node.window, domain)
    details = [("window", describe_window(node.window, domain)), *([("", bounds)] if bounds else [])]
    details.append(("keys", ", ".join(_named(*key) for key in node.keys) or "none: one result a window"))
    details.append(("answers", ", ".join(f"{call.name} = {call}" for call in node.aggregates) or "none"))
    details.append(("emit", _describe_emit(node)))
    if node.early is not None:
        every = _shown(node.early)
        details.append(("early", f"open windows every {every}, taken back when something newer follows"))
    return [*details, ("late", _describe_late(node, domain)), *compression_details(node)]


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
    origin = "" if window.range % window.slide else _origin(window, domain)
    return f"{text}{origin}, {'each row in one window' if window.is_tumbling else shared}"


def describe_bounds(window: Window, domain: Domain) -> str:
    """Where windows start and end that start at other multiples of their slide than they end at; for others nothing.

    >>> describe_bounds(Sliding("ts", range=10, slide=4), Domain.INTEGER)
    'windows start 2 after multiples of 4 and end at multiples of 4'
    """
    if not isinstance(window, Sliding) or window.range % window.slide == 0:
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
        if node.window.order is None:
            return "none: rows count as they come"
        side = "given out on the side" if node.late is Late.SIDE else "left out, and counted"
        return f"{side}; the rows after them are counted already"
    what = {
        Late.DROP: "left out of the windows they missed, and counted",
        Late.SIDE: "given out on the side with the windows they missed",
        Late.REVISE: f"corrected results follow, up to {render(within_of(node, domain), domain)} after a window's end",
    }[node.late]
    if node.lateness is Lateness.CONSISTENT:
        return f"{what}; a row that missed one window counts in none (consistent)"
    return f"{what}; they count in the windows still open (generous)"


def _join_details(node: Join) -> list[tuple[str, str]]:
    domain = shapes_below(node)[0].domain
    return [
        ("window", describe_join_window(node, domain)),
        ("on", "every pair in the window" if node.on is None else str(node.on)),
        ("gives", _GIVES[node.kind]),
        ("progress", f"on {_time_name(node)}"),
        ("late", _LATE[node.late]),
        *join_details(node.compression),
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


def _order_details(node: OrderedOutput) -> list[tuple[str, str]]:
    shape = shape_of(node)
    others = any(name != shape.time for name in shape.schema.names)
    details = [
        ("order", f"{shape.time}, then the other columns from left to right" if others else str(shape.time)),
        ("waits", f"each row for the promise of all streams that no smaller {shape.time} follows"),
    ]
    if not any(isinstance(part, WindowAggregate) for part in walk(node)):
        details.append(("late", "rows below what was promised are left out, and counted"))
    return details
