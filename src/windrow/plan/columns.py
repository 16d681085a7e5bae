"""Which columns of its streams a plan reads, so that sources need not read the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa

from windrow.plan import nodes
from windrow.plan.checks.nodes import shape_of
from windrow.plan.checks.windows import attribute_of
from windrow.semantics.joins import RIGHT, AsOf
from windrow.semantics.progress.partitions import partitioned_by
from windrow.semantics.progress.policies import External
from windrow.semantics.scalars.expressions import columns_of
from windrow.semantics.windows.kinds import RowsWindow, SlideByTuple

_Read: TypeAlias = dict[str, set[str]]


def columns_read(*plans: nodes.Node) -> dict[str, list[str]]:
    """For each stream the columns that can change an answer or a late row, in the order of its schema.

    A stream that is read in several places has what any of them needs. Both sides of a union keep the same columns.
    """
    streams = [node for plan in plans for node in nodes.walk(plan) if isinstance(node, nodes.Stream)]
    read: _Read = {stream.name: set() for stream in streams}
    before: _Read = {}
    # What one side of a union needs the other must keep, wherever its stream is read: on until nothing is added.
    while before != read:
        before = {name: set(columns) for name, columns in read.items()}
        for plan in plans:
            _need(plan, _names(plan), read)
    return {stream.name: [name for name in stream.schema.names if name in read[stream.name]] for stream in streams}


def prune_together(plans: Sequence[nodes.Node]) -> list[nodes.Node]:
    """The same plans over streams that have only the columns that one of them reads."""
    columns, joins = columns_read(*plans), dict[nodes.Join, Set[str]]()
    for plan in plans:
        _note_joins(plan, _names(plan), joins)
    return [_pruned(plan, columns, joins) for plan in plans]


def _note_joins(node: nodes.Node, wanted: Set[str], joins: dict[nodes.Join, Set[str]]) -> None:
    """Note what is wanted of each join: one that several plans have gives what any needs, so that it is there once."""
    if isinstance(node, nodes.Join):
        wanted = joins[node] = joins.get(node, frozenset()) | wanted
    for child, below in _wanted_below(node, wanted):
        _note_joins(child, below, joins)


def _need(node: nodes.Node, wanted: Set[str], read: _Read) -> None:
    """Note what the streams below must give so that `node` can give the wanted columns."""
    if isinstance(node, nodes.Stream):
        read[node.name] |= wanted | _progress_columns(node)
    elif isinstance(node, nodes.Union):
        for child in node.inputs:
            _need(child, wanted | _given(node, read), read)
    else:
        for child, below in _wanted_below(node, wanted):
            _need(child, below, read)


def _wanted_below(node: nodes.Node, wanted: Set[str]) -> Iterator[tuple[nodes.Node, Set[str]]]:
    """The inputs of a node, with the columns of each that it reads to give the wanted ones and the time."""
    if isinstance(node, nodes.Join):
        for side, child in enumerate(nodes.inputs_of(node)):
            yield child, _joined(node, side, wanted)
    elif isinstance(node, nodes.Filter):
        yield node.input, wanted | set(columns_of(node.predicate)) | {str(shape_of(node).time)}
    elif isinstance(node, nodes.Project):
        yield node.input, {name for _, expression in node.columns for name in columns_of(expression)}
    elif isinstance(node, nodes.WindowAggregate):
        yield node.input, _aggregated(node)
    else:
        names = _names(node)
        yield from ((child, names) for child in nodes.inputs_of(node))


def _names(node: nodes.Node) -> set[str]:
    return set(shape_of(node).schema.names)


def _progress_columns(stream: nodes.Stream) -> set[str]:
    if not isinstance(stream.policy, External):
        return {stream.time, *partitioned_by(stream.policy)}
    carrier = () if stream.policy.column is None else (stream.policy.column,)
    return {stream.time, *carrier, *stream.policy.per}


def _aggregated(node: nodes.WindowAggregate) -> set[str]:
    """What a window aggregate reads of its input: whole rows where late ones are given back."""
    if node.late is not nodes.Late.DROP:
        return _names(node.input)
    expressions = [expression for _, expression in node.keys]
    expressions += [call.argument for call in node.aggregates if call.argument is not None]
    partition = node.window.partition if isinstance(node.window, (RowsWindow, SlideByTuple)) else ()
    progress = {attribute_of(node.window), shape_of(node.input).time}
    names = {name for expression in expressions for name in columns_of(expression)}
    return names | set(partition) | {name for name in progress if name is not None}


def _joined(node: nodes.Join, side: int, wanted: Set[str]) -> set[str]:
    """What a join reads of one side: whole rows where late ones are given back."""
    child = nodes.inputs_of(node)[side]
    if node.late is not nodes.Late.DROP or (isinstance(node.window, AsOf) and side == RIGHT):
        return _names(child)  # all of a right row says which of several as of one time is meant
    names = wanted | set(columns_of(node.on) if node.on is not None else ())
    return {source for name, source in node.names_of(side).items() if name in names} | {str(shape_of(child).time)}


def _given(node: nodes.Node, read: _Read) -> set[str]:
    """The columns a node will have as far as is known."""
    if isinstance(node, nodes.Stream):
        return read[node.name]
    if isinstance(node, nodes.Union):
        return {name for child in node.inputs for name in _given(child, read)}
    return _given(node.input, read) if isinstance(node, (nodes.Filter, nodes.Distinct)) else _names(node)


def _pruned(node: nodes.Node, columns: dict[str, list[str]], joins: dict[nodes.Join, Set[str]]) -> nodes.Node:
    """The node over streams that have only these columns; a join gives only what is wanted of it."""
    if isinstance(node, nodes.Stream):
        return replace(node, schema=pa.schema([node.schema.field(name) for name in columns[node.name]]))
    below = nodes.map_inputs(node, lambda child: _pruned(child, columns, joins))
    if not isinstance(node, nodes.Join) or not isinstance(below, nodes.Join):
        return below
    kept = [_names(side) for side in nodes.inputs_of(below)]
    names = tuple(column for column in node.names if column.source in kept[column.side])
    shape = shape_of(node)
    out = tuple(name for name in shape.schema.names if name in joins[node] or name == shape.time)
    return replace(below, names=names, out=out)
