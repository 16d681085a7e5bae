"""A join by arrival of a physical plan as a handshake array."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from windrow.errors import UnsupportedError
from windrow.hardware.design import BitLayout, JoinDesign, Variant
from windrow.hardware.planning.columns import CircuitColumn, circuit_columns, layout_of
from windrow.hardware.planning.expressions import Lowering
from windrow.hardware.planning.options import CircuitOptions, chosen
from windrow.hardware.planning.windows import refuse_compression
from windrow.physical import nodes
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Join, Late, Node, Stream
from windrow.semantics.joins import LEFT, RIGHT, JoinKind, LastRows
from windrow.semantics.scalars.expressions import columns_of

CORES = 4
"""Unless the user says how many; never more than a window has rows."""


@dataclass(frozen=True)
class JoinRows:
    """A join of two streams by arrival."""

    node: Join
    window: LastRows
    streams: tuple[Stream, Stream]
    above: tuple[Node, ...]

    def reads(self, side: int) -> list[str]:
        """The names, as the join has them, of the columns that a side must bring along."""
        needed = {column.name for column in self.node.columns} | set(columns_of(self.node.on) if self.node.on else ())
        return [column.name for column in self.node.names if column.side == side and column.name in needed]


@dataclass(frozen=True)
class JoinPlan:
    """The design of a join and what is needed to feed it and to read its pairs."""

    design: JoinDesign
    rows: JoinRows
    columns: tuple[dict[str, CircuitColumn], dict[str, CircuitColumn]]
    """Of each side, by their names in the join."""
    schema: pa.Schema


def join_rows(plan: nodes.Physical) -> JoinRows | None:
    """The join at the root of a plan and what lies around it; None where there is none, refused where it cannot be."""
    node, above = plan.inputs[0], list[Node]()
    while isinstance(node, (nodes.Select, nodes.ProjectRows, nodes.Sort)):
        above.insert(0, node.asked)
        node = node.inputs[0]
    if not isinstance(node, nodes.PhysicalJoin):
        return None
    asked = node.asked
    if not isinstance(asked.window, LastRows):
        raise UnsupportedError(
            "joins by time are not available in hardware: the windows of its cores hold so many rows",
            hint="join by arrival, [RANGE 100 ROWS] after both streams",
        )
    if asked.kind is not JoinKind.INNER:
        raise UnsupportedError(
            f"{asked.kind.value} joins are not available in hardware, which gives the pairs that meet",
            hint="use an inner join",
        )
    if asked.late is not Late.DROP:
        raise UnsupportedError(
            f"LATE {asked.late.name} is not available in hardware: late rows are counted, and not kept",
            hint="say LATE DROP",
        )
    refuse_compression(asked)
    return JoinRows(asked, asked.window, (_stream(node.inputs[0]), _stream(node.inputs[1])), tuple(above))


def _stream(node: nodes.Physical) -> Stream:
    if not isinstance(node, nodes.Read):
        raise UnsupportedError(
            "a join in hardware reads streams as they are, without filters or other steps below it",
            hint="put conditions on pairs into ON, and leave the others to a step before the circuit",
        )
    return node.asked


def join_plan(rows: JoinRows, options: CircuitOptions) -> JoinPlan:
    """The handshake array of a join."""
    columns = _columns(rows, LEFT, options), _columns(rows, RIGHT, options)
    options.check_names([name for side in columns for name in side])
    lowering = Lowering({**columns[LEFT], **columns[RIGHT]})
    least = min(rows.window.left, rows.window.right)
    design = JoinDesign(
        left=_layout(columns[LEFT]),
        right=_layout(columns[RIGHT]),
        predicate=None if rows.node.on is None else lowering.lower(rows.node.on),
        left_rows=rows.window.left,
        right_rows=rows.window.right,
        cores=min(CORES, least) if options.cores is None else options.cores,
        variant=chosen(Variant, options.variant, "variant"),
    )
    if design.cores > least:
        raise UnsupportedError(
            "must be no more than the rows of a window", parameter="cores", value=design.cores, hint=f"{least} at most"
        )
    return JoinPlan(design, rows, columns, shape_of(rows.node).schema)


def _layout(columns: dict[str, CircuitColumn]) -> BitLayout:
    return layout_of(columns.values())


def _columns(rows: JoinRows, side: int, options: CircuitOptions) -> dict[str, CircuitColumn]:
    sources, schema = rows.node.names_of(side), rows.streams[side].schema
    named = pa.schema([schema.field(sources[name]).with_name(name) for name in rows.reads(side)])
    return circuit_columns(named, named.names, options)
