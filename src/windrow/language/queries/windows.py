"""Window clauses and window table functions: what was written to `semantics.windows`.

RANGE without SLIDE is a tumbling window. Without WATTR the window is on the input's progressing attribute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from windrow.errors import Position, QueryError, WindrowError
from windrow.language.expressions.names import Scope
from windrow.language.expressions.positions import pointing
from windrow.language.grammar.clauses import UNBOUNDED, Attribute, Clause
from windrow.plan.build.queries import WindowSpec
from windrow.plan.checks.progress import carries_progress, check_order, times_hint
from windrow.plan.checks.windows import check_window
from windrow.plan.nodes import Node
from windrow.plan.types.kinds import Shape
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.semantics.windows.kinds import Align, RowsWindow, SlideBy, SlideByTuple, Window

_PARAMETERS = {"by": "SATTR", "order_by": "ORDER BY"}
"""The parts of a clause that parameters are called otherwise than."""


@dataclass(frozen=True)
class PlacedWindow:
    """A window, the columns that partition it, and where the query has it."""

    window: Window
    partition: tuple[str, ...]
    where: Position


@dataclass(frozen=True)
class WindowReader:
    """Reads window clauses over one input."""

    scope: Scope
    node: Node
    shape: Shape

    def read(self, clause: Clause) -> PlacedWindow:
        """The window a clause describes, or an error under the part that is wrong."""
        for parameter, rule, hint, where in self._wrong_parts(clause):
            raise QueryError(rule, parameter=parameter, hint=hint, position=where)
        counted = self.counts_rows(clause)
        partition = tuple(self.scope.attribute(attribute) for attribute in clause.attributes("PATTR"))
        slide = _amount(clause, "SLIDE", counted or bool(clause.attributes("SATTR")))
        spec = WindowSpec(
            range=UNBOUNDED if _is_unbounded(clause) else _amount(clause, "RANGE", counted),
            slide=slide,
            origin=origin_of(clause),
            gap=_amount(clause, "GAP", False),
            on=self.attribute(clause),
            by=self._by(clause),
            partition=partition if counted or (slide is not None and slide.is_rows) else (),
            order_by=self._order(clause),
            align=Align.START if clause.function and clause.part("GAP") is None else None,
        )
        try:
            window = self._checked(spec, inclusive=clause.over)
        except WindrowError as error:
            part = clause.part(_PARAMETERS.get(error.parameter or "", str(error.parameter).upper()))
            raise error.at((part or clause).where) from None
        return PlacedWindow(window, partition, clause.where)

    def _checked(self, spec: WindowSpec, *, inclusive: bool) -> Window:
        if isinstance(spec.range, Amount) and not spec.range.is_rows:
            # Before the slide, which may stand for the range.
            spec.range.resolve(self._domain(spec), "range")
        window = spec.window(self.shape)
        if inclusive and isinstance(window, SlideByTuple) and window.range >= 0:
            window = replace(window, range=window.range + 1)  # the row exactly RANGE before is in the frame
        check_window(window, Domain.INTEGER if isinstance(window, RowsWindow) else self._domain(spec))
        return window

    def _domain(self, spec: WindowSpec) -> Domain:
        return replace(self.shape, time=spec.on or self.shape.time).domain

    def _wrong_parts(self, clause: Clause) -> Iterator[tuple[str, str, str, Position]]:
        """What is refused in words of SQL, before the shared rules are applied: parameter, rule, hint and place."""
        slide = clause.part("SLIDE")
        if clause.part("RANGE") is None and clause.part("GAP") is None:
            hint = "write [RANGE 10 MINUTES SLIDE 1 MINUTE WATTR time], or [GAP 30 SECONDS] for sessions"
            yield "range", "must be given in a window clause", hint, clause.where
        if _is_unbounded(clause) and slide is None:
            yield "slide", "must be given with RANGE ALL", "write [RANGE ALL SLIDE 1 MINUTE WATTR time]", clause.where
        if clause.tumbling and slide is not None:
            rule, hint = (
                "does not go with RANGE TUMBLING, where it is the range",
                "leave SLIDE out, or leave TUMBLING out",
            )
            yield "slide", rule, hint, slide.where

    def counts_rows(self, clause: Clause) -> bool:
        """Whether the range is in rows: by its unit, or because the window is on the arrival sequence."""
        part = clause.part("RANGE")
        in_rows = part is not None and isinstance(part.value, Amount) and part.value.is_rows
        arrival = any(attribute.is_arrival for attribute in clause.attributes("WATTR"))
        column = next((a for a in clause.attributes("WATTR") if not a.is_arrival), None)
        if arrival and part is not None and isinstance(part.value, Amount) and part.value.is_time:
            raise QueryError(
                "must be in rows because the window is on row_num",
                parameter="range",
                value=str(part.value),
                hint="write RANGE 100 ROWS; for time use RATTR ts and SATTR row_num",
                position=part.where,
            )
        if in_rows and column is not None:
            raise QueryError(
                "must be row_num because the range is in rows",
                parameter="wattr",
                value=column.name,
                hint="write WATTR row_num, or give the range in units of the column",
                position=column.where,
            )
        return in_rows or arrival

    def attribute(self, clause: Clause) -> str | None:
        """The windowing attribute, which must be the one the input's progress is on."""
        named = [a for keyword in ("WATTR", "RATTR") for a in clause.attributes(keyword) if not a.is_arrival]
        if not named:
            self._check_progress(clause)
            return None
        name = self.scope.attribute(named[0])
        if not carries_progress(self.node, name):
            raise self._no_progress(clause, named[0])
        return name

    def _no_progress(self, clause: Clause, named: Attribute) -> QueryError:
        time = self.shape.time
        written = "ORDER BY {}" if clause.over else "DESCRIPTOR({})" if clause.function else "WATTR {}"
        return QueryError(
            f"must be the progressing attribute, which is {time or 'not among the columns'}",
            parameter=written.removesuffix("({})").removesuffix(" {}").lower(),
            value=named.name,
            hint=times_hint(self.node, self.shape.schema.names, written),
            position=named.where,
        )

    def _check_progress(self, clause: Clause) -> None:
        if self.shape.time is None and not self.counts_rows(clause):
            raise QueryError(
                "needs a progressing attribute, but the inner query does not keep it",
                parameter="window",
                value=f"columns {', '.join(self.shape.schema.names)}",
                hint=times_hint(self.node, self.shape.schema.names),
                position=clause.where,
            )

    def _by(self, clause: Clause) -> str | None:
        """Which order counts the rows of the slide: `row_num`, or `rank(ts)` of the range's own attribute."""
        for attribute in clause.attributes("SATTR"):
            if attribute.is_arrival:
                return SlideBy.ARRIVAL.value
            if attribute.function == "rank" and self.scope.attribute(attribute) == (
                self.attribute(clause) or self.shape.time
            ):
                return SlideBy.RANK.value
            raise QueryError(
                "must be row_num or rank of the range's attribute",
                parameter="sattr",
                value=attribute.where.text[attribute.where.start : attribute.where.end],
                hint="write SATTR row_num, or SATTR rank(ts) next to RATTR ts",
                position=attribute.where,
            )
        return None

    def _order(self, clause: Clause) -> str | None:
        """The attribute that rows are counted by instead of their arrival: the one the input's progress is on."""
        for attribute in clause.attributes("ORDER BY"):
            name = self.scope.attribute(attribute)
            if any(other.is_arrival for other in clause.attributes("WATTR")):
                raise QueryError(
                    "does not go with row_num, by which rows count as they arrive",
                    parameter="order_by",
                    value=attribute.name,
                    hint="leave WATTR row_num out",
                    position=attribute.where,
                )
            with pointing(attribute.where):
                check_order(self.node, self.shape.time, name, attribute.name)
            return name
        return None


def _is_unbounded(clause: Clause) -> bool:
    part = clause.part("RANGE")
    return part is not None and part.value == UNBOUNDED


def _amount(clause: Clause, keyword: str, rows: bool) -> Amount | None:
    """The amount of a part; a naked number next to the arrival sequence is a number of rows."""
    part = clause.part(keyword)
    if part is None or not isinstance(part.value, Amount):
        return None
    return Amount(part.value.number, "rows") if rows and part.value.unit is None else part.value


def origin_of(clause: Clause) -> Amount | str | None:
    part = clause.part("ORIGIN")
    return part.value if part and isinstance(part.value, (Amount, str)) else None
