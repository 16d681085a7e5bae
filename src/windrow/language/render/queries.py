"""Plans to SQL text.

The text reads back to the same plan: `parse(to_sql(plan), streams).queries == (plan,)`. Each node is one SELECT;
a filter below and HAVING above an aggregation are taken into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from windrow.language.render.expressions import expression_sql, literal_sql, name_sql
from windrow.language.render.windows import compression_sql, origin_sql, settings_sql, units_sql, window_sql
from windrow.plan.build.joins import Both
from windrow.plan.checks.joins import usual_time
from windrow.plan.checks.nodes import shape_of
from windrow.plan.checks.windows import attribute_of
from windrow.plan.conditions import split_distance
from windrow.plan.nodes import (
    AggregateCall,
    Distinct,
    Filter,
    Join,
    JoinStrategy,
    JoinTime,
    Late,
    Node,
    OrderedOutput,
    Project,
    Stream,
    Union,
    WindowAggregate,
)
from windrow.semantics.joins import LEFT, RIGHT, AsOf, Between, JoinKind, LastRows, SameWindow
from windrow.semantics.scalars.amounts import Domain
from windrow.semantics.scalars.expressions import Column, Expression


def to_sql(node: Node) -> str:
    """The query that asks for a plan.

    >>> import pyarrow as pa
    >>> bids = Stream("bids", pa.schema({"price": pa.int64(), "ts": pa.int64()}), "ts")
    >>> print(to_sql(Project(bids, (("price", Column("price")), ("select", Column("ts"))))))
    SELECT price, ts AS "select" FROM bids
    """
    if isinstance(node, OrderedOutput):
        return f"{to_sql(node.input)} ORDERED OUTPUT"
    if isinstance(node, WindowAggregate):
        return _aggregate(node)
    if isinstance(node, Filter) and isinstance(node.input, WindowAggregate):
        return _aggregate(node.input, having=node.predicate)
    if isinstance(node, Join):
        return _join(node)
    if isinstance(node, Project):
        columns = ", ".join(_column(name, expression) for name, expression in node.columns)
        return f"SELECT {columns} FROM {_source(node.input)}"
    if isinstance(node, Distinct) and isinstance(node.input, Project):
        return to_sql(node.input).replace("SELECT", "SELECT DISTINCT", 1)
    if isinstance(node, Distinct):
        return f"SELECT DISTINCT * FROM {_source(node.input)}"
    if isinstance(node, Union) and not _is_streams(node):
        # Parentheses keep a union inside a union, and its own suffixes, apart.
        texts = [(part, to_sql(part)) for part in node.inputs]
        return " UNION ALL ".join(text if isinstance(part, (Project, Stream)) else f"({text})" for part, text in texts)
    return f"SELECT * FROM {_source(node)}"


def _column(name: str, expression: Expression) -> str:
    text = expression_sql(expression)
    return text if expression == Column(name) else f"{text} AS {name_sql(name)}"


def _source(node: Node, clause: str = "") -> str:
    """What stands behind FROM, with a window clause and the filter below taken in as WHERE."""
    if isinstance(node, Filter) and not isinstance(node.input, WindowAggregate):
        return f"{_from(node.input)}{clause} WHERE {expression_sql(node.predicate)}"
    return f"{_from(node)}{clause}"


def _from(node: Node) -> str:
    if isinstance(node, Stream):
        return name_sql(node.name)
    if isinstance(node, Union) and _is_streams(node):
        return " UNION ".join(_from(part) for part in node.inputs)
    return f"({to_sql(node)})"


def _is_streams(node: Union) -> bool:
    return all(isinstance(part, Stream) for part in node.inputs)


def _aggregate(node: WindowAggregate, having: Expression | None = None) -> str:
    items = [_column(name, expression) for name, expression in node.keys]
    items += [f"{_call(call)} AS {name_sql(call.name)}" for call in node.aggregates]
    attribute = attribute_of(node.window)
    domain = Domain.INTEGER if attribute is None else replace(shape_of(node.input), time=attribute).domain
    parts = [f"SELECT {', '.join(items)} FROM {_source(node.input, ' ' + window_sql(node.window, domain))}"]
    if node.keys:
        # Positions, because a name could also be that of another column of the input.
        parts.append("GROUP BY " + ", ".join(str(number) for number in range(1, len(node.keys) + 1)))
    if having is not None:
        parts.append(f"HAVING {expression_sql(having)}")
    return " ".join([*parts, *settings_sql(node)])


def _call(call: AggregateCall) -> str:
    if call.function == "count_distinct" and call.argument is not None:
        return f"count(DISTINCT {expression_sql(call.argument)})"
    argument = "*" if call.argument is None else expression_sql(call.argument)
    return f"{call.function}({', '.join([argument, *map(literal_sql, call.parameters)])})"


def _join(node: Join) -> str:
    """The query that gives all columns of a join."""
    domain = shape_of(node.left).domain
    sides = [_side(node, side) for side in (LEFT, RIGHT)]
    for side, clause in _clauses(node, domain):
        sides[side] += f" {clause}"
    as_of = "ASOF " if isinstance(node.window, AsOf) else ""
    kind = "" if node.kind is JoinKind.INNER else f"{node.kind.value.upper()} "
    condition = [] if node.on is None else [expression_sql(node.on, lambda name: _qualified(node, name))]
    conditions = " AND ".join([*condition, *_time_conditions(node, domain)])
    on = f" ON {conditions}" if conditions else ""
    return " ".join([f"SELECT * FROM {sides[LEFT]} {as_of}{kind}JOIN {sides[RIGHT]}{on}", *_settings(node)])


def _side(node: Join, side: int) -> str:
    child, alias = (node.left, node.right)[side], node.aliases[side]
    if isinstance(child, Stream) and child.name == alias:
        return name_sql(alias)
    text = _from(child)
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


def _qualified(node: Join, name: str) -> str:
    """A column as the side that has it calls it; sides that are queries know the names of their own joins."""
    column = next(column for column in node.names if column.name == name)
    return f"{name_sql(node.aliases[column.side])}.{name_sql(column.source)}"


def _time_conditions(node: Join, domain: Domain) -> Iterator[str]:
    """The conditions on the two times that bound the join, where no window clause does."""
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
    yield from compression_sql(node.compression)
    if node.time is not usual_time(node.kind):
        yield f"TIMED BY {_time(node)}"


def _time(node: Join) -> str:
    left, right = _times(node)
    both = {JoinTime.EARLIER: f"least({left}, {right})", JoinTime.LATER: f"greatest({left}, {right})"}
    return {JoinTime.LEFT: left, JoinTime.RIGHT: right, **both}[node.time]


def _times(node: Join) -> list[str]:
    sides = zip(node.aliases, (node.left, node.right), strict=True)
    return [f"{name_sql(alias)}.{name_sql(str(shape_of(child).time))}" for alias, child in sides]
