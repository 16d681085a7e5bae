"""Whether a plan makes sense, node by node: its columns, its types, its progress.

`shape_of` is the one gate: SQL, the fluent API and the engines all ask it, many times for one node. A node keeps its
shape until another aggregate is registered, which may have the name of one that it asks for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from windrow.aggregates import Aggregate, lookup, version
from windrow.aggregates.kinds.base import is_plain
from windrow.errors import InternalError, QueryError, UnsupportedError
from windrow.plan.checks.compression import check_compression
from windrow.plan.checks.joins import join_shape
from windrow.plan.checks.lossy import loss_of_answers, merged_loss, projected_loss, refuse_comparison, refuse_lossy
from windrow.plan.checks.progress import KEEP_TIME, carries_progress, check_order, times_hint
from windrow.plan.checks.streams import stream_shape
from windrow.plan.checks.windows import check_empties, check_window, every_of
from windrow.plan.nodes import (
    AggregateCall,
    Distinct,
    Filter,
    Join,
    Late,
    Node,
    OrderedOutput,
    Project,
    Stream,
    Union,
    WindowAggregate,
    inputs_of,
    walk,
)
from windrow.plan.types.expressions import check_condition, column_type, type_of
from windrow.plan.types.kinds import Shape, common, family_of, name_of, normal_time
from windrow.semantics.scalars.amounts import Domain
from windrow.semantics.scalars.expressions import Column, Expression
from windrow.semantics.windows.kinds import Landmark, RowsWindow, SlideByTuple, Sliding

_KEPT = "_shape"
"""Where a node keeps its shape: beside its fields, so that neither equality nor `replace` sees it."""


def shape_of(node: Node) -> Shape:
    """The columns of a plan and its progressing attribute; raises a QueryError for the first thing that is wrong."""
    kept: tuple[int, Shape] | None = getattr(node, "__dict__", {}).get(_KEPT)
    if kept is not None and kept[0] == version():
        return kept[1]
    shape = _derived(node)
    vars(node)[_KEPT] = version(), shape
    return shape


def _derived(node: Node) -> Shape:
    rule = _RULES.get(type(node))
    if rule is None:
        raise InternalError("is not a plan node", parameter=type(node).__name__)
    if any(isinstance(child, OrderedOutput) for child in inputs_of(node)):
        raise QueryError(
            "must be the last step of a query: what comes after it does not need rows in order",
            parameter="ordered output",
            hint="say it once, after everything else",
        )
    return rule(node)


def aggregates_of(node: WindowAggregate) -> Iterator[tuple[AggregateCall, Aggregate, pa.DataType | None]]:
    """Each aggregate that a node asks for, with its function and the type of its argument."""
    schema = shape_of(node.input).schema
    for call in node.aggregates:
        yield call, lookup(call.function), None if call.argument is None else type_of(call.argument, schema)


def gives_early(plan: Node) -> bool:
    """Whether some results of a plan are not final."""
    return any(isinstance(node, WindowAggregate) and node.early is not None for node in walk(plan))


def loses_unasked(node: Node, plan: Node) -> bool:
    """Whether a node of a plan loses late rows by default: nobody chose a policy, or how long windows are corrected.

    DISTINCT and ordered output have no policy of their own; a query that says LATE DROP means them, too.
    """
    if isinstance(node, WindowAggregate) and node.late is Late.REVISE:
        return node.within is None
    if isinstance(node, (WindowAggregate, Join)):
        return node.late is Late.DROP and not node.late_chosen
    choices = (part for part in walk(plan) if isinstance(part, (WindowAggregate, Join)))
    dropped = any(part.late is Late.DROP and part.late_chosen for part in choices)
    return isinstance(node, (Distinct, OrderedOutput)) and not dropped


def check_supported(node: Node) -> None:
    """Refuse at planning what no engine runs yet."""
    for part in walk(node):
        if isinstance(part, WindowAggregate):
            _check_supported_window(part)
        elif isinstance(part, (Project, Distinct)) and gives_early(part.input):
            _check_above_early(part)
        elif isinstance(part, Join):
            _check_below_join(part)


def _check_above_early(node: Project | Distinct) -> None:
    """What takes an early result back must be known as such, and must come as often as the result did."""
    if isinstance(node, Distinct):
        raise UnsupportedError(
            "DISTINCT over early results is not available: what is taken back may come again",
            hint="leave EMIT EARLY or DISTINCT out",
        )
    if ("kind", Column("kind")) not in node.columns:
        raise QueryError(
            "must keep the column kind, which distinguishes early results from final ones",
            parameter="select",
            value=", ".join(name for name, _ in node.columns),
            hint="select kind too, or leave EMIT EARLY out",
        )


def _check_below_join(node: Join) -> None:
    """What has joined is not taken back."""
    for part in walk(node):
        if isinstance(part, WindowAggregate) and (part.early is not None or part.late is Late.REVISE):
            what = "corrected later" if part.early is None else "taken back"
            raise UnsupportedError(
                f"joins over results that are {what} are not available",
                hint="leave EMIT EARLY and LATE REVISE out of the inner query",
            )


def _check_supported_window(node: WindowAggregate) -> None:
    if node.early is not None and (node.late is Late.REVISE or not isinstance(node.window, (Sliding, Landmark))):
        what = "with LATE REVISE" if node.late is Late.REVISE else f"for {type(node.window).__name__.lower()} windows"
        raise UnsupportedError(
            f"is not available {what}",
            parameter="early",
            value=str(node.early),
            hint="leave EMIT EARLY out, or use LATE SIDE with a sliding, tumbling or landmark window",
        )
    if gives_early(node.input):
        raise UnsupportedError(
            "windows over early results are not available: what is taken back cannot be taken out of them",
            hint="say EMIT EARLY in the outer query",
        )
    if any(isinstance(part, WindowAggregate) and part.late is Late.REVISE for part in walk(node.input)):
        raise UnsupportedError(
            "windows over results that are corrected later are not available yet",
            hint="use LATE DROP or LATE SIDE in the inner query",
        )


def _filter(node: Filter) -> Shape:
    shape = shape_of(node.input)
    check_condition(node.predicate, shape.schema, "where", "compare the value, as in price > 0")
    refuse_comparison(node.predicate, shape.lossy)
    return shape


def _project(node: Project) -> Shape:
    shape = shape_of(node.input)
    if not node.columns:
        raise QueryError("must name at least one column", parameter="select")
    _check_names(tuple(name for name, _ in node.columns), "select")
    schema = pa.schema([(name, _projected(expression, shape.schema)) for name, expression in node.columns])
    passed = ((name, source.name) for name, source in node.columns if shape.time and isinstance(source, Column))
    found = ((name, projected_loss(expression, shape.lossy)) for name, expression in node.columns)
    lossy = {name: loss for name, loss in found if loss is not None}
    return Shape(schema, next((name for name, below in passed if carries_progress(node.input, below)), None), lossy)


def _projected(expression: Expression, schema: pa.Schema) -> pa.DataType:
    """A column that passes keeps its encoding, so that its dictionary still serves the groups above."""
    return column_type(expression.name, schema) if isinstance(expression, Column) else type_of(expression, schema)


def _check_names(names: tuple[str, ...], parameter: str) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise QueryError(
                "must give every column its own name",
                parameter=parameter,
                value=f"{name} twice",
                hint=f"rename one of them: ... AS {name}_2",
            )


def _aggregate(node: WindowAggregate) -> Shape:
    shape = shape_of(node.input)
    end = _window_type(node, shape)
    fields = [*_key_fields(node, shape), ("window_start", end), ("window_end", end), *_answer_fields(node, shape)]
    if node.late is Late.REVISE:
        fields.append(("revision", pa.int32()))
    if node.early is not None:
        fields.append(("kind", pa.string()))
    _check_names(tuple(name for name, _ in fields), "columns")
    _check_within(node, shape)
    _check_early(node, shape)
    check_empties(node)
    check_compression(node, shape.schema, shape.time)
    return Shape(pa.schema(fields), node.time.value, loss_of_answers(node, shape.schema, shape.lossy))


def _window_type(node: WindowAggregate, shape: Shape) -> pa.DataType:
    """The type of `window_start` and `window_end`: the attribute's, or int64 where rows are counted."""
    if isinstance(node.window, RowsWindow):
        check_window(node.window)
        _check_rows(node, node.window, shape)
        return pa.int64()
    if isinstance(node.window, SlideByTuple):
        _check_partition(node, node.window.partition, shape)
    attribute = node.window.attribute
    _check_attribute(node, shape, attribute)
    check_window(node.window, shape.domain)
    return normal_time(type_of(Column(attribute), shape.schema))


def _check_partition(node: WindowAggregate, partition: tuple[str, ...], shape: Shape) -> None:
    """Groups count their own rows, or all of them count together; nothing in between."""
    for name in partition:
        type_of(Column(name), shape.schema)
    if partition and {expression for _, expression in node.keys} != {Column(name) for name in partition}:
        raise QueryError(
            "must name all group columns, or be left out",
            parameter="partition",
            value=f"{', '.join(partition)} with groups by {', '.join(name for name, _ in node.keys) or 'nothing'}",
            hint="with PATTR, rows close windows for their own group; without, for all groups",
        )


def _check_rows(node: WindowAggregate, window: RowsWindow, shape: Shape) -> None:
    for name in window.partition:
        type_of(Column(name), shape.schema)
        if Column(name) not in (expression for _, expression in node.keys):
            raise QueryError(
                "must be among the groups, or results of different keys could not be told apart",
                parameter="partition",
                value=name,
                hint=f"group by {name} too",
            )
    if window.order is None:
        return
    type_of(Column(window.order), shape.schema)
    check_order(node.input, shape.time, window.order)


def _check_attribute(node: WindowAggregate, shape: Shape, attribute: str) -> None:
    if shape.time is None:
        raise QueryError(
            "needs a progressing attribute, but the input does not keep it",
            parameter="window",
            value=f"columns {', '.join(shape.schema.names)}",
            hint=times_hint(node.input, shape.schema.names),
        )
    type_of(Column(attribute), shape.schema)
    if not carries_progress(node.input, attribute):
        declared = any(isinstance(part, Stream) and attribute in part.schema.names for part in walk(node.input))
        raise QueryError(
            f"must be on the progressing attribute, which is {shape.time}",
            parameter="window",
            value=attribute,
            hint=times_hint(node.input, shape.schema.names)
            + (f", or declare the stream with PROGRESS ON {attribute}" if declared else ""),
        )


def _key_fields(node: WindowAggregate, shape: Shape) -> list[tuple[str, pa.DataType]]:
    fields = [(name, type_of(expression, shape.schema)) for name, expression in node.keys]
    for name, kind in fields:
        if not is_plain(kind):
            raise QueryError(
                "must group by plain values", parameter=name, value=str(kind), hint="group by a field or a CAST of it"
            )
    return fields


def _answer_fields(node: WindowAggregate, shape: Shape) -> list[tuple[str, pa.DataType]]:
    fields = []
    for call in node.aggregates:
        kind = None if call.argument is None else type_of(call.argument, shape.schema)
        fields.append((call.name, lookup(call.function).result_type(kind, call.parameters)))
    return fields


def _check_within(node: WindowAggregate, shape: Shape) -> None:
    if node.within is None:
        return
    if node.late is not Late.REVISE:
        raise QueryError(
            "says how long results are corrected, which only LATE REVISE does",
            parameter="within",
            value=str(node.within),
            hint="write LATE REVISE WITHIN ..., or leave it out",
        )
    domain = Domain.INTEGER if isinstance(node.window, RowsWindow) else shape.domain
    if node.within.resolve(domain, "within") < 1:
        raise QueryError("must be positive", parameter="within", value=str(node.within), hint="as in WITHIN 1 HOUR")


def _check_early(node: WindowAggregate, shape: Shape) -> None:
    if node.early is not None and every_of(node, shape.domain) < 1:
        raise QueryError(
            "must be positive", parameter="early", value=str(node.early), hint="as in EMIT EARLY EVERY 10 SECONDS"
        )


def _union(node: Union) -> Shape:
    if not node.inputs:
        raise InternalError("must have inputs", parameter="union")
    shapes = [shape_of(child) for child in node.inputs]
    first = shapes[0]
    for other in shapes[1:]:
        if first.schema.names != other.schema.names:
            raise QueryError(
                "needs the same columns on both sides, in the same order",
                parameter="union",
                value=f"({', '.join(first.schema.names)}) and ({', '.join(other.schema.names)})",
                hint="select the columns you want from each side first",
            )
        if first.time != other.time:
            raise QueryError(
                "needs the same progressing attribute on both sides",
                parameter="union",
                value=f"{first.time or 'none'} and {other.time or 'none'}",
                hint="rename one: SELECT ... AS the name of the other",
            )
    schema = pa.schema([(name, _merged(name, shapes)) for name in first.schema.names])
    return Shape(schema, first.time, merged_loss(shape.lossy for shape in shapes))


def _merged(name: str, shapes: list[Shape]) -> pa.DataType:
    kind: pa.DataType = shapes[0].schema.field(name).type
    for shape in shapes[1:]:
        other: pa.DataType = shape.schema.field(name).type
        merged = kind if kind == other else common(kind, other)
        if merged is None or (name == shape.time and family_of(kind) is not family_of(other)):
            raise QueryError(
                f"needs one type for the column {name}",
                parameter="union",
                value=f"{name_of(kind)} and {name_of(other)}",
                hint=f"CAST({name} AS ...) on one side first",
            )
        kind = merged
    return kind


def _timed(node: Node, parameter: str, rule: str, hint: str) -> Shape:
    """The columns of a node that must have the progressing attribute among them."""
    shape = shape_of(node)
    if shape.time is None:
        value = f"columns {', '.join(shape.schema.names)}"
        raise QueryError(f"needs the progressing attribute among {rule}", parameter=parameter, value=value, hint=hint)
    return shape


def _distinct(node: Distinct) -> Shape:
    rule = "its columns, or state would grow without bound"
    shape = _timed(node.input, "distinct", rule, "keep the time column in the SELECT DISTINCT list")
    refuse_lossy(shape.schema.names, shape.lossy, "must not be told apart by DISTINCT", "leave one of them out")
    return shape


def _ordered(node: OrderedOutput) -> Shape:
    hint = KEEP_TIME.replace("inner ", "")
    shape = _timed(node.input, "ordered output", "the columns, or nobody could see the order", hint)
    for part in walk(node):
        # A result that is corrected, or comes before its window closes, has no place in the order.
        if isinstance(part, WindowAggregate) and part.late is Late.REVISE:
            rule = "does not go with LATE REVISE: a correction follows results of later windows"
            raise UnsupportedError(rule, parameter="ordered output", hint="use LATE SIDE")
        if isinstance(part, WindowAggregate) and part.early is not None:
            rule = "does not go with EMIT EARLY: a window is reported before earlier ones have closed"
            raise UnsupportedError(rule, parameter="ordered output", hint="leave one of them out")
    return Shape(shape.answer, shape.time, shape.lossy)


_RULES: dict[type, Callable[[Any], Shape]] = {
    Stream: stream_shape,
    Filter: _filter,
    Project: _project,
    WindowAggregate: _aggregate,
    Union: _union,
    Distinct: _distinct,
    OrderedOutput: _ordered,
    Join: lambda node: join_shape(node, (shape_of(node.left), shape_of(node.right))),
}
