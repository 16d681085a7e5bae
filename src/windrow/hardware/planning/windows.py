"""A window aggregate of a physical plan as a query of a circuit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from windrow.errors import UnsupportedError
from windrow.hardware.design import CircuitAlgorithm, WindowQuery
from windrow.hardware.planning.aggregates import AnswerColumn, accumulate
from windrow.hardware.planning.columns import CircuitColumn
from windrow.hardware.planning.expressions import Lowering, substituted
from windrow.hardware.planning.options import GROUPS, CircuitOptions
from windrow.hardware.planning.times import CircuitClock
from windrow.physical import nodes
from windrow.plan.checks.nodes import shape_of
from windrow.plan.compression import CompressionMode
from windrow.plan.conditions import conjuncts
from windrow.plan.nodes import AggregateCall, Join, Late, Lateness, Node, Stream, WindowAggregate
from windrow.plan.types.kinds import Family, family_of
from windrow.semantics.scalars.expressions import Column, Expression, columns_of
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, Session, SlideByTuple, Sliding

_REFUSED_WINDOWS = {
    Landmark: ("landmark windows are not available in hardware: they have no length", "give them a RANGE"),
    Session: ("session windows are not available in hardware: their rows decide where they end", "use RANGE and SLIDE"),
    RowsWindow: ("windows of rows are not available in hardware: its windows end by time", "use RANGE in time"),
    SlideByTuple: (
        "slide-by-tuple windows are not available in hardware: its windows end on a grid of time",
        "give SLIDE as a length of time",
    ),
}
_ALGORITHMS = {"wid": CircuitAlgorithm.WID, "panes": CircuitAlgorithm.PANES}


@dataclass(frozen=True)
class WindowRows:
    """A window aggregate over one stream, with everything below it said in columns of that stream."""

    node: WindowAggregate
    window: Sliding
    stream: Stream
    where: tuple[Expression, ...]
    keys: tuple[tuple[str, str], ...]
    """The name of each key in the answer, and its column."""
    arguments: Mapping[str, Expression]
    """What the columns that aggregates read are computed from."""
    strategy: str
    above: tuple[Node, ...]
    """What is done with the results in software, bottom up."""

    @property
    def calls(self) -> tuple[AggregateCall, ...]:
        """The aggregates over columns of the stream."""
        return tuple(
            call if call.argument is None else replace(call, argument=substituted(call.argument, self.arguments))
            for call in self.node.aggregates
        )

    @property
    def reads(self) -> list[str]:
        """The columns that the circuit needs, in the order of the stream."""
        arguments = (call.argument for call in self.calls if call.argument is not None)
        read = {name for one in (*self.where, *arguments) for name in columns_of(one)}
        read |= {column for _, column in self.keys}
        return [name for name in self.stream.schema.names if name in read]


@dataclass(frozen=True)
class ResultColumns:
    """How the results of one query of a circuit become rows of an answer."""

    rows: WindowRows
    keys: tuple[tuple[str, CircuitColumn], ...]
    answers: tuple[AnswerColumn, ...]
    schema: pa.Schema


def window_rows(plan: nodes.Physical) -> WindowRows:
    """The one window aggregate of a plan and what lies around it; refused where a circuit cannot be that."""
    node, above = plan.inputs[0], list[Node]()
    while isinstance(node, (nodes.Select, nodes.ProjectRows, nodes.Sort)):
        above.insert(0, node.asked)
        node = node.inputs[0]
    if not isinstance(node, nodes.Window):
        raise _no_window(node)
    asked = node.asked
    window = _checked(asked)
    stream, filters, columns = _below(node.inputs[0])
    keys = tuple((name, _key(name, substituted(key, columns))) for name, key in asked.keys)
    return WindowRows(asked, window, stream, filters, keys, columns, node.strategy.value, tuple(above))


def _no_window(node: nodes.Physical) -> UnsupportedError:
    if isinstance(node, nodes.DistinctRows):
        return UnsupportedError("DISTINCT is not available in hardware: it keeps rows", hint="group by its columns")
    if isinstance(node, nodes.Meld):
        return _union()
    return UnsupportedError(
        "queries without windows are not available in hardware", hint="aggregate in windows, or join rows by arrival"
    )


def _union() -> UnsupportedError:
    return UnsupportedError(
        "unions of streams are not available in hardware: a circuit has one input", hint="merge them before it"
    )


def _checked(asked: WindowAggregate) -> Sliding:
    """The window, or the reason why a circuit does not do what was asked for."""
    for kind, (rule, hint) in _REFUSED_WINDOWS.items():
        if isinstance(asked.window, kind):
            raise UnsupportedError(rule, hint=hint)
    assert isinstance(asked.window, Sliding)
    if asked.early is not None:
        raise UnsupportedError(
            "EMIT EARLY is not available in hardware: a window leaves the circuit when it closes", hint="leave it out"
        )
    if asked.emit is not Emit.NONEMPTY:
        raise UnsupportedError(
            f"EMIT {asked.emit.name} is not available in hardware: it gives windows that hold a row",
            hint="leave it out, or use --engine local",
        )
    if asked.late is not Late.DROP:
        raise UnsupportedError(
            f"LATE {asked.late.name} is not available in hardware: late rows are counted, and not kept",
            hint="say LATE DROP",
        )
    if asked.strategy.value not in ("auto", *_ALGORITHMS):
        raise UnsupportedError(
            "must be auto, wid or panes in hardware", parameter="strategy", value=asked.strategy.value
        )
    refuse_compression(asked)
    return asked.window


def refuse_compression(asked: WindowAggregate | Join) -> None:
    """A circuit holds what it keeps in memories of its own, each value as wide as its column."""
    if asked.compression.within:
        hint = "leave it out, or use --engine local"
        raise UnsupportedError("COMPRESS ... WITHIN is not available in hardware: values stay as they came", hint=hint)
    if asked.compression.mode is CompressionMode.BLOCKS:
        hint = "leave it out, or say COMPRESS off"
        raise UnsupportedError("COMPRESS blocks is not available in hardware: memories are as wide as a row", hint=hint)


def _below(node: nodes.Physical) -> tuple[Stream, tuple[Expression, ...], dict[str, Expression]]:
    """The stream, its filters, and what columns are computed from, in columns of the stream."""
    if isinstance(node, nodes.Read):
        return node.asked, (), {name: Column(name) for name in node.asked.schema.names}
    if isinstance(node, nodes.Select):
        stream, filters, columns = _below(node.inputs[0])
        found = tuple(substituted(one, columns) for one in conjuncts(node.asked.predicate))
        return stream, (*filters, *found), columns
    if isinstance(node, nodes.ProjectRows):
        stream, filters, columns = _below(node.inputs[0])
        return stream, filters, {name: substituted(one, columns) for name, one in node.asked.columns}
    if isinstance(node, nodes.Meld):
        raise _union()
    if isinstance(node, nodes.DistinctRows):
        raise _no_window(node)
    what = "joins" if isinstance(node, nodes.PhysicalJoin) else "windows"
    raise UnsupportedError(
        f"windows over {what} are not available in hardware: a circuit is one window aggregate, or one join",
        hint="do the last step in software",
    )


def _key(name: str, key: Expression) -> str:
    if not isinstance(key, Column):
        raise UnsupportedError(
            "must be columns in hardware",
            parameter="keys",
            value=f"{name} = {key}",
            hint="compute it into a column before the stream reaches the circuit",
        )
    return key.name


def algorithm_of(rows: WindowRows, options: CircuitOptions) -> CircuitAlgorithm:
    """As the user says, else as the plan says; panes where it has another word."""
    return _ALGORITHMS.get(options.algorithm or rows.strategy, CircuitAlgorithm.PANES)


def window_query(
    rows: WindowRows, columns: Mapping[str, CircuitColumn], clock: CircuitClock, options: CircuitOptions
) -> tuple[WindowQuery, ResultColumns]:
    """The query in units of the circuit, and how its results are read."""
    lowering = Lowering(columns)
    fields = {name: column.field for name, column in columns.items()}
    parts, answers = accumulate(rows.calls, lowering, fields, options.widths)
    keys = tuple((name, columns[column]) for name, column in rows.keys)
    query = WindowQuery(
        range=rows.window.range // clock.unit,
        slide=rows.window.slide // clock.unit,
        slack=clock.units(clock.ahead),
        parts=parts,
        where=tuple(map(lowering.lower, rows.where)),
        keys=tuple(dict.fromkeys(column.name for _, column in keys)),
        groups=_groups(tuple(column for _, column in keys), options),
        generous=rows.node.lateness is Lateness.GENEROUS,
    )
    return query, ResultColumns(rows, keys, answers, shape_of(rows.node).schema)


def _groups(keys: Iterable[CircuitColumn], options: CircuitOptions) -> int:
    """Room for every combination of values where these are few, else for as many groups as the user says."""
    columns = list({column.name: column for column in keys}.values())
    if not columns:
        return 1
    if options.groups is not None:
        return options.groups
    combinations = 1
    for column in columns:
        known = column.dictionary is not None or family_of(column.kind) is Family.BOOLEAN
        values = len(column.dictionary or (False, True)) + column.field.nullable if known else GROUPS
        combinations = min(combinations * values, GROUPS)
    return combinations
