"""What a circuit is to be, as frozen data: layouts in bits, window queries, joins, and which variant of an algorithm.

Times inside a circuit are unsigned numbers of `time_width` bits that wrap around: (t - origin) // unit of the time of a
row. The origin is chosen so that windows end at whole multiples of their slide, and the unit divides range and slide.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import gcd

from windrow.semantics.scalars.expressions import Expression


@dataclass(frozen=True)
class Field:
    """A value in bits: how many, whether it has a sign, and whether one more bit above them says that it is NULL."""

    name: str
    width: int
    signed: bool = True
    nullable: bool = False

    @property
    def bits(self) -> int:
        return self.width + self.nullable


@dataclass(frozen=True)
class BitLayout:
    """Fields side by side without gaps, the first one in the lowest bits."""

    fields: tuple[Field, ...]

    @cached_property
    def bits(self) -> int:
        return sum(one.bits for one in self.fields)

    @cached_property
    def offsets(self) -> dict[str, int]:
        """The lowest bit of each field."""
        found, place = {}, 0
        for one in self.fields:
            found[one.name] = place
            place += one.bits
        return found


class Function(Enum):
    """What an accumulator does. An average is a sum and a count, divided by whoever reads the result."""

    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True)
class CircuitPart:
    """One accumulator. `width` is wide enough for every value it can take, or its overflow is counted.

    A part without an argument counts rows; one with an argument counts, adds or compares the values that are not NULL.
    """

    function: Function
    argument: Expression | None = None
    width: int = 32
    signed: bool = False

    @property
    def is_nullable(self) -> bool:
        """Whether it may have seen no value: a count has none to miss."""
        return self.function is not Function.COUNT


class CircuitAlgorithm(Enum):
    """Window-ID: a module for every open window. Panes: a module for every open pane, and windows from panes."""

    WID = "wid"
    PANES = "panes"


class Variant(Enum):
    """The papers' algorithm as written, which loses results outside its regime, or ours, which does not."""

    LITERAL = "literal"
    REPAIRED = "repaired"


class Merge(Enum):
    """How results of modules become one stream: encoder and multiplexer (the papers), one-hot, a registered tree."""

    ENCODER = "encoder"
    ONE_HOT = "one-hot"
    TREE = "tree"


class WindowLevel(Enum):
    """How windows come from panes: each window reads all its panes, or only what enters and leaves."""

    SCAN = "scan"
    INCREMENTAL = "incremental"


@dataclass(frozen=True)
class WindowQuery:
    """One window aggregate over the input, in units of the circuit's time."""

    range: int
    slide: int
    slack: int
    parts: tuple[CircuitPart, ...]
    where: tuple[Expression, ...] = ()
    """One filter stage each; a row passes where all are true."""
    keys: tuple[str, ...] = ()
    """The fields that rows are grouped by."""
    groups: int = 1
    """How many different keys fit into the table; rows of further ones are counted as overflow."""
    generous: bool = True
    """Whether a late row still counts in those of its windows that are open."""

    @property
    def pane(self) -> int:
        return gcd(self.range, self.slide)

    @property
    def window_modules(self) -> int:
        """How many windows are open at once: those that rows up to `slack` ahead of the oldest open end belong to.

        The papers' first equation wants one window more than RANGE / SLIDE even without slack; this is the least.

        >>> WindowQuery(600, 60, 60, ()).window_modules
        11
        """
        return max(1, -(-(self.range + self.slack) // self.slide))

    @property
    def open_slides(self) -> int:
        """How many slides have open panes: the one before the oldest open end, and those of the slack after it.

        >>> WindowQuery(600, 60, 60, ()).open_slides
        2
        """
        return 1 - (-self.slack // self.slide)

    @property
    def results(self) -> BitLayout:
        """What a result holds, one field for each part."""
        named = ((f"part{place}", part) for place, part in enumerate(self.parts))
        return BitLayout(tuple(Field(name, part.width, part.signed, part.is_nullable) for name, part in named))


@dataclass(frozen=True)
class AggregateDesign:
    """A circuit for window aggregates: one input, one query or several."""

    layout: BitLayout
    """The columns of a row but for its time."""
    queries: tuple[WindowQuery, ...]
    time_width: int = 32
    algorithm: CircuitAlgorithm = CircuitAlgorithm.PANES
    variant: Variant = Variant.REPAIRED
    merge: Merge = Merge.ONE_HOT
    window_level: WindowLevel = WindowLevel.INCREMENTAL
    configurable: bool = False
    """Whether range, slide and the constants of filters are in registers that can be set at run time; the parameters of
    the queries are then the largest ones there is room for."""

    def modules(self, query: WindowQuery) -> int:
        """How many modules a query takes: open windows, or slides of which panes are open."""
        if self.algorithm is CircuitAlgorithm.PANES:
            return query.open_slides
        least = query.window_modules
        return max(least, -(-query.range // query.slide) + 1) if self.variant is Variant.LITERAL else least

    def limit(self, query: WindowQuery, modules: int) -> int:
        """How far after the end of the oldest open window so many modules still hold all windows or panes of a row."""
        if self.algorithm is CircuitAlgorithm.PANES:
            return (modules - 1) * query.slide
        return modules * query.slide - query.range

    @cached_property
    def key_layouts(self) -> tuple[BitLayout, ...]:
        named = {one.name: one for one in self.layout.fields}
        return tuple(BitLayout(tuple(named[key] for key in query.keys)) for query in self.queries)


@dataclass(frozen=True)
class JoinDesign:
    """A handshake array: rows of both streams pass each other on a chain of cores.

    `left` and `right` name their fields as the predicate does. A window is the last so many rows of a stream, by
    arrival.
    """

    left: BitLayout
    right: BitLayout
    predicate: Expression | None
    left_rows: int
    right_rows: int
    cores: int
    variant: Variant = Variant.REPAIRED
    result_depth: int = 16
    """Results that the FIFO of a core holds before the array waits."""


Design = AggregateDesign | JoinDesign


COUNTERS = ("rows", "filtered", "late", "early", "overflow", "lost")
"""What every circuit for aggregates counts, in 32 bits that stop at their greatest: rows in; not passed by a filter of
any query; late for at least one of their windows; further ahead than there are modules for; with a key for which there
is no room or a value that did not fit; results that were lost."""
