"""Rows as they arrive: each with its group, its value of the progressing attribute and the bounds then in force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from windrow.errors import UnsupportedError
from windrow.semantics.progress.lead import EarlyRow
from windrow.semantics.progress.policies import START, Punctuation, Row, check_advance
from windrow.semantics.scalars.evaluate import evaluate
from windrow.semantics.scalars.expressions import Expression
from windrow.semantics.scalars.moments import value_of
from windrow.semantics.scalars.ordering import normal
from windrow.semantics.windows.kinds import RowsWindow, SlideByTuple, Window

Group: TypeAlias = tuple[Any, ...]
Element: TypeAlias = Row | Punctuation | EarlyRow
Keys: TypeAlias = Sequence[tuple[str, Expression]]


@dataclass(frozen=True)
class ArrivalBounds:
    """The promises in force: one for all rows, and further ones for single groups."""

    linear: int = START
    groups: Mapping[Group, int] = field(default_factory=dict)

    def of(self, group: Group) -> int:
        return max(self.linear, self.groups.get(group, START))

    def after(self, punctuation: Punctuation) -> ArrivalBounds:
        """The bounds once a punctuation came; none may go back."""
        if punctuation.group is None:
            return ArrivalBounds(check_advance(self.linear, punctuation.value), self.groups)
        group = tuple(map(normal, punctuation.group))
        value = check_advance(self.groups.get(group, START), punctuation.value)
        return ArrivalBounds(self.linear, {**self.groups, group: value})


@dataclass(frozen=True)
class Arrival:
    """One row that passed the filter."""

    row: Row
    group: Group
    t: int
    bounds: ArrivalBounds

    @property
    def bound(self) -> int:
        """The bound in force for this row as it arrived."""
        return self.bounds.of(self.group)


def arrivals(
    elements: Iterable[Element], window: Window, keys: Keys, where: Expression | None
) -> tuple[list[Arrival], list[EarlyRow], int]:
    """The rows that pass the filter, in order, those of them that are early, and the number of those that do not pass.

    Windows over rows as they arrive have no progressing attribute: the value is then the arrival number.
    """
    arrived: list[Arrival] = []
    early: list[EarlyRow] = []
    filtered, bounds = 0, ArrivalBounds()
    for element in elements:
        row = element.row if isinstance(element, EarlyRow) else element
        if isinstance(row, Punctuation):
            _check_groups(window, row)
            bounds = bounds.after(row)
        elif where is not None and evaluate(where, row) is not True:
            filtered += 1
        elif isinstance(element, EarlyRow):
            early.append(element)
        else:
            attribute = window.order if isinstance(window, RowsWindow) else window.attribute
            t = len(arrived) if attribute is None else value_of(row, attribute)
            group = tuple(normal(evaluate(expression, row)) for _, expression in keys)
            arrived.append(Arrival(row, group, t, bounds))
    return arrived, early, filtered


def _check_groups(window: Window, punctuation: Punctuation) -> None:
    if punctuation.group is not None and isinstance(window, (RowsWindow, SlideByTuple)) and not window.partition:
        raise UnsupportedError(
            "of one group needs a window that rows of other groups say nothing about",
            parameter="punctuation",
            value=punctuation.group,
            hint="partition the rows, or punctuate the whole stream",
        )
