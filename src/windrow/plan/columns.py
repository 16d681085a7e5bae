"""Which columns of its streams a plan reads, so that sources need not read the others."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa

from windrow.plan.checks.nodes import shape_of
from windrow.plan.checks.windows import attribute_of
from windrow.plan.nodes import (
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
    map_inputs,
    walk,
)
from windrow.semantics.joins import RIGHT, AsOf
from windrow.semantics.progress.policies import External
from windrow.semantics.scalars.expressions import columns_of
from windrow.semantics.windows.kinds import RowsWindow, SlideByTuple

_Read: TypeAlias = dict[str, set[str]]


def columns_read(*plans: Node) -> dict[str, list[str]]:
    """For each stream the columns that can change an answer or a late row, in the order of its schema.

    A stream that is read in several places has what any of them needs. Both sides of a union keep the same columns.
    """
    streams = [node for plan in plans for node in walk(plan) if isinstance(node, Stream)]
    read: _Read = {stream.name: set() for stream in streams}
    before: _Read = {}
    # What one side of a union needs the other must keep, wherever its stream is read: on until nothing is added.
    while before != read:
        before = {name: set(columns) for name, columns in read.items()}
        for plan in plans:
            _need(plan, _names(plan), read)
    return {stream.name: [name for name in stream.schema.names if name in read[stream.name]] for stream in streams}


def prune(plan: Node) -> Node:
    """The same plan over streams that have only the columns it reads."""
    return prune_together([plan])[0]


def prune_together(plans: Sequence[Node]) -> list[Node]:
    """The same plans over streams that have only the columns that one of them reads."""
    columns, joins = columns_read(*plans), dict[Join, Set[str]]()
    for plan in plans:
        _note_joins(plan, _names(plan), joins)
    return [_pruned(plan, _names(plan), columns, joins) for plan in plans]


def _note_joins(node: Node, wanted: Set[str], joins: dict[Join, Set[str]]) -> None:
    """Note what is wanted of each join: one that several plans have gives what any needs, so that it is there once."""
    if isinstance(node, Join):
        joins[node] = joins.get(node, frozenset()) | wanted
        for side, child in enumerate(inputs_of(node)):
            _note_joins(child, _joined(node, side, joins[node]), joins)
        return
    for child in inputs_of(node):
        _note_joins(child, _wanted_below(node, wanted), joins)


def _need(node: Node, wanted: Set[str], read: _Read) -> None:
    """Note what the streams below must give so that `node` can give the wanted columns."""
    if isinstance(node, Stream):
        read[node.name] |= wanted | _progress_columns(node)
    elif isinstance(node, Filter):
        _need(node.input, wanted | set(columns_of(node.predicate)), read)
    elif isinstance(node, Project):
        _need(node.input, {name for _, expression in node.columns for name in columns_of(expression)}, read)
    elif isinstance(node, WindowAggregate):
        _need(node.input, _aggregated(node), read)
    elif isinstance(node, (Distinct, OrderedOutput)):
        _need(node.input, _names(node), read)
    elif isinstance(node, Join):
        for side, child in enumerate(inputs_of(node)):
            _need(child, _joined(node, side, wanted), read)
    else:
        for child in node.inputs:
            _need(child, wanted | _given(node, read), read)


def _names(node: Node) -> set[str]:
    return set(shape_of(node).schema.names)


def _progress_columns(stream: Stream) -> set[str]:
    if not isinstance(stream.policy, External):
        return {stream.time}
    carrier = () if stream.policy.column is None else (stream.policy.column,)
    return {stream.time, *carrier, *stream.policy.per}


def _aggregated(node: WindowAggregate) -> set[str]:
    """What a window aggregate reads of its input: whole rows where late ones are given back."""
    if node.late is not Late.DROP:
        return _names(node.input)
    expressions = [expression for _, expression in node.keys]
    expressions += [call.argument for call in node.aggregates if call.argument is not None]
    partition = node.window.partition if isinstance(node.window, (RowsWindow, SlideByTuple)) else ()
    progress = {attribute_of(node.window), shape_of(node.input).time}
    names = {name for expression in expressions for name in columns_of(expression)}
    return names | set(partition) | {name for name in progress if name is not None}


def _joined(node: Join, side: int, wanted: Set[str]) -> set[str]:
    """What a join reads of one side: whole rows where late ones are given back."""
    child = inputs_of(node)[side]
    if node.late is not Late.DROP or (isinstance(node.window, AsOf) and side == RIGHT):
        return _names(child)  # all of a right row says which of several as of one time is meant
    names = wanted | set(columns_of(node.on) if node.on is not None else ())
    return {source for name, source in node.names_of(side).items() if name in names} | {str(shape_of(child).time)}


def _given(node: Node, read: _Read) -> set[str]:
    """The columns a node will have as far as is known."""
    if isinstance(node, Stream):
        return read[node.name]
    if isinstance(node, Union):
        return {name for child in node.inputs for name in _given(child, read)}
    return _given(node.input, read) if isinstance(node, (Filter, Distinct)) else _names(node)


def _pruned(node: Node, wanted: Set[str], columns: dict[str, list[str]], joins: dict[Join, Set[str]]) -> Node:
    """The node over streams that have only these columns; a join gives only what is wanted of it."""
    if isinstance(node, Stream):
        return replace(node, schema=pa.schema([node.schema.field(name) for name in columns[node.name]]))
    if isinstance(node, Join):
        return _pruned_join(node, joins[node], columns, joins)
    return map_inputs(node, lambda child: _pruned(child, _wanted_below(node, wanted), columns, joins))


def _wanted_below(node: Node, wanted: Set[str]) -> Set[str]:
    """The columns of its input that a node with one reads to give the wanted ones, and the time."""
    if isinstance(node, Filter):
        return wanted | set(columns_of(node.predicate)) | {str(shape_of(node).time)}
    if isinstance(node, Project):
        return {name for _, expression in node.columns for name in columns_of(expression)}
    if isinstance(node, WindowAggregate):
        return _aggregated(node)
    return _names(node)


def _pruned_join(node: Join, wanted: Set[str], columns: dict[str, list[str]], joins: dict[Join, Set[str]]) -> Join:
    sides = [_pruned(child, _joined(node, side, wanted), columns, joins) for side, child in enumerate(inputs_of(node))]
    kept = [_names(side) for side in sides]
    names = tuple(column for column in node.names if column.source in kept[column.side])
    shape = shape_of(node)
    out = tuple(name for name in shape.schema.names if name in wanted or name == shape.time)
    return replace(node, left=sides[0], right=sides[1], names=names, out=out)
