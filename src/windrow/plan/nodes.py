"""Logical nodes: what a query asks for, engine-free and frozen.

A plan is a tree of these; the fluent API and the SQL dialect build the very same trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeAlias

import pyarrow as pa

from windrow.plan.compression import LOSSLESS, Compression
from windrow.semantics.joins import RIGHT, JoinKind, JoinWindow
from windrow.semantics.progress.policies import AtEnd, Idle, Policy
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Column, Expression
from windrow.semantics.windows.kinds import MOST_EMPTY, Emit, Window


class Late(Enum):
    """What happens to a row for the windows it missed; it is counted under every policy."""

    DROP = "drop"
    SIDE = "side"
    REVISE = "revise"


class Lateness(Enum):
    """Whether a row that missed some of its windows still counts in the others."""

    GENEROUS = "generous"
    CONSISTENT = "consistent"


class Strategy(Enum):
    """How windows are computed: each word is a module of `operators/windows`; `AUTO` lets the planner choose."""

    AUTO = "auto"
    WID = "wid"
    PANES = "panes"
    ADAPTIVE = "adaptive"
    BUFFER = "buffer"


@dataclass(frozen=True)
class Stream:
    """A named input: its schema, its progressing attribute and where its punctuations come from.

    `origin` is the path or a description of the data; the data itself is bound to the name when the query runs.
    """

    name: str
    schema: pa.Schema
    time: str
    policy: Policy = field(default_factory=AtEnd)
    idle: Idle | None = None
    origin: str | None = None


@dataclass(frozen=True)
class Filter:
    """The rows for which `predicate` is true."""

    input: Node
    predicate: Expression


@dataclass(frozen=True)
class Project:
    """New columns from expressions, in order. `Column` nodes that keep the progressing attribute keep progress."""

    input: Node
    columns: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate of a query: result name, function, argument, constant parameters (the q of a quantile)."""

    name: str
    function: str
    argument: Expression | None = None
    parameters: tuple[Any, ...] = ()

    def __str__(self) -> str:
        inside = ["*" if self.argument is None else str(self.argument), *map(repr, self.parameters)]
        return f"{self.function}({', '.join(inside)})"


class WindowTime(Enum):
    """Which bound of its window the progress of a result is on, for the windows above."""

    START = "window_start"
    END = "window_end"


@dataclass(frozen=True)
class WindowAggregate:
    """Aggregates per window and group. Columns out: keys, `window_start`, `window_end`, then the aggregates.

    With `early`, open windows are given each time the largest value seen has passed so much more, and a last column
    `kind` says what a row is: early, retract (takes an early one back) or final.
    `Emit.EMPTY` reports no more than `most_empty` windows in a row that are empty; a longer gap is an error.
    With `Late.REVISE` a last column `revision` follows: 0 for the first result, n for the n-th correction.
    `late_chosen`: what becomes of late rows was asked for, and is not the default; a run that loses rows by default
    warns of them. It changes nothing that is computed, so it is no part of what a node is.
    """

    input: Node
    window: Window
    keys: tuple[tuple[str, Expression], ...]
    aggregates: tuple[AggregateCall, ...]
    emit: Emit = Emit.NONEMPTY
    late: Late = Late.DROP
    late_chosen: bool = field(default=False, compare=False, repr=False, kw_only=True)
    lateness: Lateness = Lateness.GENEROUS
    within: Amount | None = None
    strategy: Strategy = Strategy.AUTO
    early: Amount | None = None
    most_empty: int = MOST_EMPTY
    time: WindowTime = WindowTime.END
    compression: Compression = LOSSLESS


@dataclass(frozen=True)
class Union:
    """All rows of all inputs as they come; progress is the minimum over the inputs (Meld)."""

    inputs: tuple[Node, ...]


@dataclass(frozen=True)
class Distinct:
    """Each different row once. The progressing attribute must be among the columns, so that state can be purged."""

    input: Node


@dataclass(frozen=True)
class OrderedOutput:
    """The rows of its input by the progressing attribute, ties by the other columns; the last step of a query."""

    input: Node


class JoinTime(Enum):
    """Which time the progress of a join's results is on. `EARLIER` and `LATER` are columns of these names."""

    LEFT = "left"
    RIGHT = "right"
    EARLIER = "earlier"
    LATER = "later"


class JoinStrategy(Enum):
    """How partners are found; `AUTO` lets the planner choose."""

    AUTO = "auto"
    INDEX = "index"
    SCAN = "scan"
    HANDSHAKE = "handshake"
    OPIB = "opib"
    """Results in order of the left time, by holding left rows back: to compare with, for it is slower."""


@dataclass(frozen=True)
class JoinedColumn:
    """A column of one side of a join under the name that the predicate and the results know it by."""

    name: str
    side: int
    source: str


@dataclass(frozen=True)
class Join:
    """Pairs of rows of two inputs that are in each other's window and for which `on` is true.

    `names` names every column of both sides once; `on` reads these names. `out` are the names that come out (None: all
    that the kind gives). A row below what its own side promised is late and joins nothing.
    """

    left: Node
    right: Node
    kind: JoinKind
    window: JoinWindow
    on: Expression | None
    names: tuple[JoinedColumn, ...]
    aliases: tuple[str, str]
    time: JoinTime = JoinTime.LEFT
    out: tuple[str, ...] | None = None
    late: Late = Late.DROP
    late_chosen: bool = field(default=False, compare=False, repr=False, kw_only=True)
    """As for windows."""
    strategy: JoinStrategy = JoinStrategy.AUTO
    compression: Compression = LOSSLESS
    """Of a join the mode alone: what it compares and gives stays as it came."""

    @property
    def columns(self) -> tuple[JoinedColumn, ...]:
        given = [c for c in self.names if not (self.kind.is_half and c.side == RIGHT)]
        out = None if self.out is None else frozenset(self.out)
        return tuple(c for c in given if out is None or c.name in out)

    def names_of(self, side: int) -> dict[str, str]:
        """For the columns of one side: what its input calls them, by their names here."""
        return {column.name: column.source for column in self.names if column.side == side}


Node: TypeAlias = Stream | Filter | Project | WindowAggregate | Union | Distinct | OrderedOutput | Join


def inputs_of(node: Node) -> tuple[Node, ...]:
    """The nodes a node reads from, in order."""
    if isinstance(node, Stream):
        return ()
    if isinstance(node, Join):
        return node.left, node.right
    return node.inputs if isinstance(node, Union) else (node.input,)


def map_inputs(node: Node, change: Callable[[Node], Node]) -> Node:
    if isinstance(node, Stream):
        return node
    if isinstance(node, Join):
        return replace(node, left=change(node.left), right=change(node.right))
    if isinstance(node, Union):
        return replace(node, inputs=tuple(change(child) for child in node.inputs))
    return replace(node, input=change(node.input))


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, top down."""
    yield node
    for child in inputs_of(node):
        yield from walk(child)


def renamed_columns(columns: tuple[tuple[str, Expression], ...]) -> dict[str, str]:
    """What each column that is kept as it is is called, the first name where it has several."""
    return {e.name: name for name, e in reversed(columns) if isinstance(e, Column)}
