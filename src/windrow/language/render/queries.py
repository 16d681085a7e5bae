"""Plans to SQL text.

The text reads back to the same plan: `parse(to_sql(plan), streams).queries == (plan,)`. Each node is one SELECT;
a filter below and HAVING above an aggregation are taken into it.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.language.render.expressions import expression_sql, literal_sql, name_sql
from windrow.language.render.joins import join_sql
from windrow.language.render.windows import settings_sql, window_sql
from windrow.plan.checks.nodes import shape_of
from windrow.plan.checks.windows import attribute_of
from windrow.plan.nodes import (
    AggregateCall,
    Distinct,
    Filter,
    Join,
    Node,
    OrderedOutput,
    Project,
    Stream,
    Union,
    WindowAggregate,
)
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
    if isinstance(node, Join):
        return join_sql(node, _from)
    if isinstance(node, Filter):
        return _filter(node)
    if isinstance(node, Project):
        return f"SELECT {_columns(node.columns)} FROM {_source(node.input)}"
    if isinstance(node, Distinct):
        return _distinct(node)
    if isinstance(node, Union) and not _is_streams(node):
        return " UNION ALL ".join(_operand(part) for part in node.inputs)
    return f"SELECT * FROM {_from(node)}"


def _columns(columns: tuple[tuple[str, Expression], ...]) -> str:
    return ", ".join(_column(name, expression) for name, expression in columns)


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


def _operand(node: Node) -> str:
    """An operand of UNION ALL; parentheses keep a union inside a union, and its own suffixes, apart."""
    return to_sql(node) if isinstance(node, (Project, Stream)) else f"({to_sql(node)})"


def _filter(node: Filter) -> str:
    if isinstance(node.input, WindowAggregate):
        return _aggregate(node.input, having=node.predicate)
    return f"SELECT * FROM {_source(node)}"


def _distinct(node: Distinct) -> str:
    if isinstance(node.input, Project):
        return to_sql(node.input).replace("SELECT", "SELECT DISTINCT", 1)
    return f"SELECT DISTINCT * FROM {_source(node.input)}"


def _aggregate(node: WindowAggregate, having: Expression | None = None) -> str:
    items = [_column(name, expression) for name, expression in node.keys]
    items += [f"{_call(call)} AS {name_sql(call.name)}" for call in node.aggregates]
    parts = [f"SELECT {', '.join(items)} FROM {_source(node.input, ' ' + _window(node))}"]
    if node.keys:
        # Positions, because a name could also be that of another column of the input.
        parts.append("GROUP BY " + ", ".join(str(number) for number in range(1, len(node.keys) + 1)))
    if having is not None:
        parts.append(f"HAVING {expression_sql(having)}")
    return " ".join([*parts, *settings_sql(node)])


def _window(node: WindowAggregate) -> str:
    attribute = attribute_of(node.window)
    shape = shape_of(node.input)
    domain = Domain.INTEGER if attribute is None else replace(shape, time=attribute).domain
    return window_sql(node.window, domain)


def _call(call: AggregateCall) -> str:
    if call.function == "count_distinct" and call.argument is not None:
        return f"count(DISTINCT {expression_sql(call.argument)})"
    argument = "*" if call.argument is None else expression_sql(call.argument)
    return f"{call.function}({', '.join([argument, *map(literal_sql, call.parameters)])})"
