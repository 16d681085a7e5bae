"""Joins as SQL text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

from windrow.language.render.expressions import expression_sql, literal_sql, name_sql
from windrow.language.render.windows import origin_sql, units_sql
from windrow.plan.build.joins import Both
from windrow.plan.checks.joins import usual_time
from windrow.plan.checks.nodes import shape_of
from windrow.plan.conditions import split_distance
from windrow.plan.nodes import Join, JoinStrategy, JoinTime, Late, Node, Stream
from windrow.semantics.joins import LEFT, RIGHT, AsOf, Between, JoinKind, LastRows, SameWindow
from windrow.semantics.scalars.amounts import Domain


def join_sql(node: Join, from_sql: Callable[[Node], str]) -> str:
    """The query that gives all columns of a join; `from_sql` spells what is in FROM."""
    domain = shape_of(node.left).domain
    sides = [_side(node, side, from_sql) for side in (LEFT, RIGHT)]
    for side, clause in _clauses(node, domain):
        sides[side] += f" {clause}"
    as_of = "ASOF " if isinstance(node.window, AsOf) else ""
    kind = "" if node.kind is JoinKind.INNER else f"{node.kind.value.upper()} "
    conditions = " AND ".join([*_conditions(node), *_time_conditions(node, domain)])
    on = f" ON {conditions}" if conditions else ""
    return " ".join([f"SELECT * FROM {sides[LEFT]} {as_of}{kind}JOIN {sides[RIGHT]}{on}", *_settings(node)])


def _side(node: Join, side: int, from_sql: Callable[[Node], str]) -> str:
    child, alias = (node.left, node.right)[side], node.aliases[side]
    if isinstance(child, Stream) and child.name == alias:
        return name_sql(alias)
    text = from_sql(child)
    text = text if isinstance(child, Stream) or text.startswith("(") else f"({text})"
    return f"{text} AS {name_sql(alias)}"


def _clauses(node: Join, domain: Domain) -> Iterator[tuple[int, str]]:
    window = node.window
    if isinstance(window, LastRows):
        yield LEFT, f"[RANGE {window.left} ROWS]"
        yield RIGHT, f"[RANGE {window.right} ROWS]"
    elif isinstance(window, SameWindow):
        yield RIGHT, f"[RANGE TUMBLING {units_sql(window.length, domain)}{origin_sql(window.origin, domain)}]"
    elif isinstance(window, Between) and _is_ranges(node, window, domain):
        yield LEFT, f"[RANGE {units_sql(window.high + 1, domain)}]"
        yield RIGHT, f"[RANGE {units_sql(1 - window.low, domain)}]"


def _is_ranges(node: Join, window: Between, domain: Domain) -> bool:
    """Whether the window is written as two ranges: where they look like some, or the times are compared besides."""
    unit = 1000 if domain is Domain.TIME else 1
    even = (window.high + 1) % unit == (1 - window.low) % unit == 0
    both = Both(node.left, node.right, node.aliases, node.kind)
    compared = split_distance(node.on, both.times, both.schema)[:2]
    return window.low <= 0 <= window.high and (even or compared != (None, None))


def _conditions(node: Join) -> list[str]:
    return [] if node.on is None else [expression_sql(node.on, lambda name: _qualified(node, name))]


def _qualified(node: Join, name: str) -> str:
    """A column as the side that has it calls it; sides that are queries know the names of their own joins."""
    column = next(column for column in node.names if column.name == name)
    return f"{name_sql(node.aliases[column.side])}.{name_sql(column.source)}"


def _time_conditions(node: Join, domain: Domain) -> Iterator[str]:
    """What says of the two times which rows join, where no window clause does."""
    window = node.window
    left, right = _times(node)
    if isinstance(window, Between) and not _is_ranges(node, window, domain):
        yield f"{right} >= {_moved(left, window.low, domain)}"
        yield f"{right} <= {_moved(left, window.high, domain)}"
    if isinstance(window, AsOf):
        sign = "<" if window.forward else ">"
        yield f"{left} {sign}{'' if window.strict else '='} {right}"
        if window.within is not None:
            reach = window.within if window.forward else -window.within
            yield f"{right} {'<=' if window.forward else '>='} {_moved(left, reach, domain)}"


def _moved(time: str, units: int, domain: Domain) -> str:
    amount = literal_sql(abs(units) if domain is Domain.INTEGER else timedelta(microseconds=abs(units)))
    return f"{time} {'-' if units < 0 else '+'} {amount}"


def _settings(node: Join) -> Iterator[str]:
    """The suffixes that differ from the defaults, or were chosen."""
    if node.late is not Late.DROP or node.late_chosen:
        yield f"LATE {node.late.value.upper()}"
    if node.strategy is not JoinStrategy.AUTO:
        yield f"STRATEGY {node.strategy.value}"
    if node.time is not usual_time(node.kind):
        yield f"TIMED BY {_time(node)}"


def _time(node: Join) -> str:
    left, right = _times(node)
    both = {JoinTime.EARLIER: f"least({left}, {right})", JoinTime.LATER: f"greatest({left}, {right})"}
    return {JoinTime.LEFT: left, JoinTime.RIGHT: right, **both}[node.time]


def _times(node: Join) -> list[str]:
    sides = zip(node.aliases, (node.left, node.right), strict=True)
    return [f"{name_sql(alias)}.{name_sql(str(shape_of(child).time))}" for alias, child in sides]
