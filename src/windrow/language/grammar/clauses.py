"""What the dialect adds to SQL, as it was written: window clauses, unions of streams, declarations, suffixes.

The parser builds these values; nothing in them is resolved against a schema yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import pyarrow as pa
from sqlglot import exp

from windrow.errors import Position
from windrow.plan.nodes import Stream
from windrow.semantics.progress.policies import Idle, Policy
from windrow.semantics.scalars.amounts import Amount

CLAUSE = "window clause"
"""The key under which a table or an aggregate of the syntax tree carries its window clause."""
SUFFIXES = "query suffixes"
"""The key under which a SELECT of the syntax tree carries EMIT, LATE, LATENESS, STRATEGY, COMPRESS and TIMED BY."""
ORDERED_OUTPUT = "ordered output"
"""The key under which a whole query carries the place of ORDERED OUTPUT."""
UNBOUNDED = "unbounded"
"""The value of `RANGE ALL` and `RANGE UNBOUNDED`: a landmark window."""


@dataclass(frozen=True)
class Attribute:
    """A column named inside a window clause; `function` is `rank` in `rank(ts)`, `least` in `least(a.ts, b.ts)`."""

    name: str
    where: Position
    function: str | None = None
    qualifier: str | None = None
    other: Attribute | None = None

    @property
    def is_arrival(self) -> bool:
        """Whether this is the arrival sequence rather than a column."""
        return self.function is self.qualifier is None and self.name.lower() in ("row-num", "row_num", "rownum")


PartValue: TypeAlias = Amount | str | tuple[Attribute, ...]


@dataclass(frozen=True)
class ClausePart:
    """One part of a window clause: its canonical keyword, its value and its place."""

    keyword: str
    value: PartValue
    where: Position


@dataclass(frozen=True)
class Clause:
    """A window clause: its parts in the order written.

    `tumbling` remembers `RANGE TUMBLING`, `over` SQL's OVER, `function` a window table function.
    """

    parts: tuple[ClausePart, ...]
    where: Position
    tumbling: bool = False
    over: bool = False
    function: str | None = None

    def part(self, keyword: str) -> ClausePart | None:
        return next((part for part in self.parts if part.keyword == keyword), None)

    def attributes(self, keyword: str) -> tuple[Attribute, ...]:
        """The columns that a part names; none when the part is missing."""
        part = self.part(keyword)
        return part.value if part and isinstance(part.value, tuple) else ()


@dataclass(frozen=True)
class Suffix:
    """A setting after a SELECT: a field of `WindowAggregate` or `Join`, its value and its place."""

    field: str
    value: Any
    where: Position


class StreamUnion(exp.Expression):
    """`a union b union c` between stream names in FROM."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True, "alias": False}


class WindowFunctionTable(exp.Expression):
    """The `TABLE t PARTITION BY ...` argument of a window table function."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": False}


class CreateStream(exp.Expression):
    """A `CREATE STREAM` statement; `this` is a `StreamDeclaration`, `places` are those of its clauses."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "places": True}


@dataclass(frozen=True)
class StreamDeclaration:
    """A declared stream. `columns` is None when the source knows them, `path` when data is bound by name.

    Its files are read as they grow where it `follow`s them; `format` is how its lines are written.
    """

    name: str
    columns: pa.Schema | None
    path: str | None
    time: str
    policy: Policy
    idle: Idle | None = None
    follow: bool = False
    format: str | None = None

    def stream(self, schema: pa.Schema, origin: str | None) -> Stream:
        """The declared stream, once its columns are known."""
        return Stream(self.name, schema, self.time, self.policy, self.idle, origin)
