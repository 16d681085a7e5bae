"""What the fluent API's words mean as plan nodes: the same nodes that SQL gives.

Text is parsed above this layer; here come amounts, names and expressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import Enum
from typing import Any, TypeAlias, TypeVar

from windrow.errors import QueryError
from windrow.plan.checks.nodes import shape_of
from windrow.plan.compression import Compression, CompressionMode
from windrow.plan.nodes import (
    Filter,
    Join,
    JoinStrategy,
    Late,
    Node,
    Project,
    Strategy,
    Stream,
    Union,
    WindowAggregate,
    inputs_of,
    map_inputs,
)
from windrow.plan.types.expressions import type_of
from windrow.plan.types.kinds import Shape, parse_timestamp
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.scalars.moments import microseconds, moment_of
from windrow.semantics.windows.kinds import Align, Landmark, RowsWindow, Session, SlideBy, SlideByTuple, Sliding, Window

Length: TypeAlias = Amount | str | int | float | timedelta
"""How users write an amount: "10 min", 500, "100 rows", timedelta(minutes=10)."""
UNBOUNDED = frozenset({"unbounded", "all"})
STRATEGIES: tuple[Strategy | JoinStrategy, ...] = (*Strategy, *JoinStrategy)
"""Those of windows, then those of joins; `auto` alone is of windows until a join takes it."""
_Choice = TypeVar("_Choice", bound=Enum)
_SAID = {"compression": "compress"}
"""Fields of nodes whose setting has another name."""


@dataclass(frozen=True)
class WindowSpec:
    """A window as users write it, before the attribute's unit is known."""

    range: Length | None = None
    slide: Length | None = None
    origin: Length | datetime | date | None = None
    gap: Length | None = None
    on: str | None = None
    by: str | None = None
    partition: tuple[str, ...] = ()
    """For a window of rows: whose rows. For one in time this is for the groups of the query to say."""
    order_by: str | None = None
    align: Align | str | None = None

    def window(self, shape: Shape) -> Window:
        if self.gap is not None:
            return self._session(shape)
        if self.range is None:
            raise QueryError(
                "must be given", parameter="range", hint="window(range='10 min', slide='1 min'), or gap='30 s'"
            )
        if isinstance(self.range, str) and self.range.strip().lower() in UNBOUNDED:
            return self._landmark(shape)
        length = Amount.of(self.range, "range")
        if length.is_rows:
            return self._rows(length)
        slide = length if self.slide is None else Amount.of(self.slide, "slide")
        return self._by_tuple(shape, length, slide) if slide.is_rows else self._sliding(shape, length, slide)

    def _session(self, shape: Shape) -> Session:
        self._refuse("gap", "range", "slide", "origin", "by", "order_by", "align")
        assert self.gap is not None
        gap = Amount.of(self.gap, "gap").resolve(self._domain(shape), "gap")
        return Session(self._attribute(shape), gap)

    def _landmark(self, shape: Shape) -> Landmark:
        self._refuse("range='unbounded'", "by", "order_by", "align")
        if self.slide is None:
            raise QueryError("must be given with range='unbounded'", parameter="slide", hint="say slide='1 min'")
        slide = Amount.of(self.slide, "slide").resolve(self._domain(shape), "slide")
        return Landmark(self._attribute(shape), slide, self._origin(shape))

    def _sliding(self, shape: Shape, length: Amount, slide: Amount) -> Sliding:
        self._refuse("a window in time", "by", "order_by")
        domain = self._domain(shape)
        extent = length.resolve(domain, "range")  # first, because a slide that is not given is the range
        step = slide.resolve(domain, "slide")
        align = choice(Align, Align.END if self.align is None else self.align, "align")
        return Sliding.aligned(self._attribute(shape), extent, step, self._origin(shape), align)

    def _rows(self, length: Amount) -> RowsWindow:
        self._refuse("range in rows", "origin", "by", "on", "align")
        slide = length if self.slide is None else Amount.of(self.slide, "slide")
        return RowsWindow(_row_count(length, "range"), _row_count(slide, "slide"), self.partition, self.order_by)

    def _by_tuple(self, shape: Shape, length: Amount, slide: Amount) -> SlideByTuple:
        self._refuse("slide in rows", "origin", "order_by", "align")
        by = choice(SlideBy, self.by or SlideBy.ARRIVAL.value, "by")
        extent = length.resolve(self._domain(shape), "range")
        return SlideByTuple(self._attribute(shape), extent, _row_count(slide, "slide"), by, self.partition)

    def _refuse(self, kind: str, *parameters: str) -> None:
        for parameter in parameters:
            if getattr(self, parameter) not in (None, ()):
                raise QueryError(f"does not go with {kind}", parameter=parameter, value=str(getattr(self, parameter)))

    def _attribute(self, shape: Shape) -> str:
        if self.on is None and shape.time is None:
            raise QueryError(
                "needs a progressing attribute, but the input does not keep it",
                parameter="window",
                value=f"columns {', '.join(shape.schema.names)}",
                hint="keep the time column (or window_start or window_end) in select(), unchanged",
            )
        return self.on or str(shape.time)

    def _domain(self, shape: Shape) -> Domain:
        attribute = self._attribute(shape)
        type_of(Column(attribute), shape.schema)
        return Shape(shape.schema, attribute).domain

    def _origin(self, shape: Shape) -> int:
        return 0 if self.origin is None else origin_units(self.origin, self._domain(shape))


def _row_count(amount: Amount, parameter: str) -> int:
    if amount.is_time:
        raise QueryError(
            "must be in rows as well", parameter=parameter, value=str(amount), hint=f"say {parameter}='10 rows'"
        )
    return Amount(amount.number).resolve(Domain.INTEGER, parameter)


def origin_units(origin: Length | datetime | date, domain: Domain) -> int:
    """Where windows are counted from, in units of the attribute: a moment, a number, or an amount after the epoch.

    >>> origin_units("1970-01-01 00:01", Domain.TIME), origin_units("1 min", Domain.TIME)
    (60000000, 60000000)
    """
    moment = parse_timestamp(origin) if isinstance(origin, str) else moment_of(origin)
    if moment is None:
        assert not isinstance(origin, date)
        return Amount.of(origin, "origin").resolve(domain, "origin")
    if domain is Domain.INTEGER:
        raise QueryError("must be a number because the attribute is an integer", parameter="origin", value=str(origin))
    return microseconds(moment)


def choice(kind: Iterable[_Choice], value: _Choice | str, parameter: str) -> _Choice:
    """The member of an enum, or of several, that a user's word names."""
    for member in kind:
        if member is value or (isinstance(value, str) and member.value == value.strip().lower()):
            return member
    allowed = tuple(dict.fromkeys(member.value for member in kind))
    raise QueryError("must be a known word", parameter=parameter, value=value, allowed=allowed)


def as_said(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a window or join as a user said them: what becomes of late rows is then a choice, and no default."""
    return {**settings, "late_chosen": True} if "late" in settings else dict(settings)


def change_windows(node: Node, **settings: Any) -> Node:
    """The plan with settings (emit, late, lateness, within, strategy) on the window or join nearest to its answer."""
    if isinstance(node, Join):
        return replace(node, **as_said(_settings_of_join(settings)))
    if isinstance(node, WindowAggregate) and not _is_for_join(node.input, settings):
        return replace(node, **as_said(settings))
    if isinstance(node, Stream):
        raise QueryError(
            "belongs to a window, and this query has none",
            parameter=", ".join(_SAID.get(name, name) for name in settings),
            hint="call window(...) and agg(...) first",
        )
    return map_inputs(node, lambda child: change_windows(child, **settings))


def _is_for_join(below: Node, settings: Mapping[str, Any]) -> bool:
    """Whether settings of a window are those of the join whose results it takes: they are never late for it."""
    if isinstance(below, (Filter, Project)):
        return _is_for_join(below.input, settings)
    return isinstance(settings.get("strategy"), JoinStrategy) or (isinstance(below, Join) and "late" in settings)


def _settings_of_join(settings: Mapping[str, Any]) -> dict[str, Any]:
    named = {name: value for name, value in settings.items() if value is not None}
    if named.get("strategy") is Strategy.AUTO:
        named["strategy"] = JoinStrategy.AUTO
    for name, value in named.items():
        if not isinstance(value, (Late, JoinStrategy, Compression)):
            raise QueryError(
                "belongs to a window, and this is a join",
                parameter=name,
                value=value.value if isinstance(value, Enum) else str(value),
                hint=f"a join has compress, late (drop, side), strategy ({', '.join(s.value for s in JoinStrategy)})",
            )
    return named


def change_mode(node: Node, mode: CompressionMode) -> Node:
    """The plan with all its windows and joins keeping their rows in this way; bounds stay as they are."""
    below = node if isinstance(node, Stream) else map_inputs(node, lambda child: change_mode(child, mode))
    if not isinstance(below, (WindowAggregate, Join)):
        return below
    return replace(below, compression=replace(below.compression, mode=mode))


def rename_streams(node: Node, names: Mapping[str, str]) -> Node:
    """The plan with its streams under other names, so that two plans can be put together."""
    if isinstance(node, Stream):
        return replace(node, name=names.get(node.name, node.name))
    return map_inputs(node, lambda child: rename_streams(child, names))


def is_aggregated(node: Node) -> bool:
    if isinstance(node, Stream):
        return False
    return isinstance(node, WindowAggregate) or all(map(is_aggregated, inputs_of(node)))


def align(node: Node, names: list[str]) -> Node:
    """The node with its columns in another order; as it is when they are other columns, or in that order already."""
    own = shape_of(node).schema.names
    if own == names or sorted(own) != sorted(names):
        return node
    return Project(node, tuple((name, Column(name)) for name in names))


def flatten_union(*nodes: Node) -> Union:
    """One union of all inputs; unions among them are opened up, as `a union b union c` in SQL."""
    return Union(tuple(child for node in nodes for child in (node.inputs if isinstance(node, Union) else (node,))))
