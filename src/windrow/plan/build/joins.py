"""What users' words about joins mean as plan nodes; the fluent API and SQL come here for the same node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property

import pyarrow as pa

from windrow.errors import QueryError
from windrow.plan.build.queries import Length, origin_units
from windrow.plan.checks.joins import check_times, joined_names, usual_time
from windrow.plan.checks.nodes import shape_of
from windrow.plan.checks.progress import carries_progress, timed_by
from windrow.plan.compression import LOSSLESS, Compression
from windrow.plan.conditions import conjunction, conjuncts, split_distance
from windrow.plan.nodes import Join, JoinedColumn, JoinStrategy, JoinTime, Late, Node
from windrow.plan.types.expressions import column_type
from windrow.plan.types.kinds import Shape
from windrow.semantics.joins import LEFT, AsOf, Between, JoinKind, JoinWindow, LastRows, SameWindow
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.semantics.scalars.expressions import Expression


@dataclass(frozen=True)
class Both:
    """Two plans that are about to be joined: what their columns are called, and which of them are the times."""

    left: Node
    right: Node
    aliases: tuple[str, str]
    kind: JoinKind

    @cached_property
    def shapes(self) -> tuple[Shape, Shape]:
        return shape_of(self.left), shape_of(self.right)

    @cached_property
    def names(self) -> tuple[JoinedColumn, ...]:
        return joined_names([shape.schema for shape in self.shapes], self.aliases, self.kind)

    @property
    def schema(self) -> pa.Schema:
        """All columns of both sides: what a predicate reads."""
        return pa.schema([(c.name, column_type(c.source, self.shapes[c.side].schema)) for c in self.names])

    def called(self, side: int) -> dict[str, str]:
        """For the columns of a side: what they are called in the join, by their own names."""
        return {column.source: column.name for column in self.names if column.side == side}

    @property
    def times(self) -> tuple[str, str]:
        """What the times of both sides are called."""
        check_times(self.aliases, self.shapes)
        left, right = (self.called(side)[str(shape.time)] for side, shape in enumerate(self.shapes))
        return left, right

    @property
    def domain(self) -> Domain:
        return self.shapes[LEFT].domain

    def as_of(self, on: Expression | None) -> tuple[AsOf | None, Expression | None]:
        """The as-of window that comparisons of the two times ask for, and what remains of the predicate."""
        low, high, rest = split_distance(on, self.times, self.schema)
        if high in (0, -1) and (low is None or low <= high):
            return AsOf(forward=False, strict=high == -1, within=None if low is None else -low), rest
        if low in (0, 1) and (high is None or low <= high):
            return AsOf(forward=True, strict=low == 1, within=high), rest
        return None, on

    def join(
        self,
        window: JoinWindow,
        on: Expression | None,
        *,
        time: JoinTime | None = None,
        late: Late | None = None,
        strategy: JoinStrategy = JoinStrategy.AUTO,
        compression: Compression = LOSSLESS,
    ) -> Join:
        """The join, with its conditions in a row. Without `late`, nobody chose what becomes of late rows."""
        flat = conjunction(conjuncts(on))
        at = usual_time(self.kind) if time is None else time
        sides, named = (self.left, self.right, self.kind), (self.names, self.aliases)
        policy, chosen = late or Late.DROP, late is not None
        node = Join(*sides, window, flat, *named, at, late=policy, late_chosen=chosen, strategy=strategy)
        return replace(node, compression=compression)


def sliding(left: Length, right: Length, domain: Domain) -> Between:
    """Windows in time: how long a row of each side stays in its window."""
    return Between.of_ranges(_positive(left, domain, "range"), _positive(right, domain, "range"))


def tumbling(length: Length, domain: Domain, origin: Length | datetime | date | None = None) -> SameWindow:
    return SameWindow(_positive(length, domain, "range"), 0 if origin is None else origin_units(origin, domain))


def last_rows(left: Length, right: Length) -> LastRows:
    counts = [Amount(Amount.of(size, "rows").number) for size in (left, right)]
    return LastRows(*(_positive(count, Domain.INTEGER, "rows") for count in counts))


def between(low: Length, high: Length, domain: Domain) -> Between:
    """The right time at least `low` and at most `high` after the left one; before it where they are negative."""
    ends = [Amount.of(end, "between").resolve(domain, "between") for end in (low, high)]
    return Between(*ends)


def apart(amount: Length, domain: Domain) -> int:
    """How far apart the rows of an as-of join may be."""
    found = Amount.of(amount, "within")
    units = found.resolve(domain, "within")
    if units < 0:
        raise QueryError("must not be negative", parameter="within", value=str(found), hint="as in '5 min'")
    return units


def _positive(length: Length, domain: Domain, parameter: str) -> int:
    amount = Amount.of(length, parameter)
    units = amount.resolve(domain, parameter)
    if units < 1:
        hint = "a window holds something, as in RANGE 3 MINUTES"
        raise QueryError("must be positive", parameter=parameter, value=str(amount), hint=hint)
    return units


def other_times(node: Node) -> list[tuple[str, Node]]:
    """Columns that the progress of a join could be on instead, each with the plan that has it there."""
    made = ((name, timed_by(node, name)) for name in shape_of(node).schema.names)
    return [(name, timed) for name, timed in made if timed != node and is_timed_by(timed, name)]


def is_timed_by(node: Node, name: str) -> bool:
    """Whether the plan makes sense and has its progress on that column."""
    try:
        return name in shape_of(node).schema.names and carries_progress(node, name)
    except QueryError:
        return False
