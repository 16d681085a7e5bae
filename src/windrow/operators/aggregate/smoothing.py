"""Workload smoothing: answers leave in slices between batches of input, not all when their punctuation comes.

What is answered stays the same, and so does what is late; only when results leave changes. A promise leaves after the
last result that it is about (thesis section 8.3.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from windrow.errors import ConfigurationError
from windrow.operators.base import Element
from windrow.operators.panes.partials import without_cells
from windrow.operators.windows.two_level.windower import TwoLevel
from windrow.physical.planner import Choice
from windrow.plan.checks.nodes import walk
from windrow.plan.nodes import Late, Node, Strategy, WindowAggregate
from windrow.semantics.windows.kinds import Emit, Landmark, Sliding

if TYPE_CHECKING:
    from windrow.operators.aggregate.frame import WindowAggregateOperator


class When(Enum):
    """When closed windows are given."""

    EAGER = "eager"
    """All of them with the punctuation that closes them."""
    SLOW = "slow"
    """A slice after each element of the input."""
    LAZY = "lazy"
    """As slow, but only in the last window before they are due; until then cells leave by being driven out."""


@dataclass(frozen=True)
class Flush:
    """How windows are flushed. Slices are of `rows` groups; `windows` is the most that results are behind.

    `cells` is the size of the low level's table, rounded up to a power of two.
    """

    when: When = When.EAGER
    rows: int = 1 << 13
    windows: int = 2
    cells: int = 1 << 16

    @property
    def places(self) -> int:
        return 1 << (self.cells - 1).bit_length()


EAGER = Flush()
IN_SLICES = Choice(Strategy.PANES, ("windows are given in slices",))
"""The algorithm of windows that are smoothed."""


def flush_of(when: str, rows: int, windows: int, cells: int) -> Flush:
    """What options say, or an error that names the one that is wrong."""
    ways = tuple(way.value for way in When)
    if when not in ways:
        raise ConfigurationError("must be a way to flush", parameter="flush", value=when, allowed=ways)
    for name, value in (("flush_rows", rows), ("flush_windows", windows), ("flush_cells", cells)):
        if value < 1:
            raise ConfigurationError("must be at least 1", parameter=name, value=value)
    return Flush(When(when), rows, windows, cells)


def check_smooth(plan: Node, flush: Flush) -> None:
    """Refuse to smooth a query none of whose windows can be."""
    if flush.when is When.EAGER:
        return
    reasons = [why_not_smooth(node) for node in walk(plan) if isinstance(node, WindowAggregate)]
    if None not in reasons:
        raise ConfigurationError(
            f"has nothing to smooth: {reasons[0] if reasons else 'the query has no windows'}",
            parameter="flush",
            value=flush.when.value,
            hint="leave it out, or say eager",
        )


def why_not_smooth(node: WindowAggregate) -> str | None:
    """Why the windows of a node are given all at once whatever is asked; None when they can be given in slices."""
    return next(_reasons(node), None)


def _reasons(node: WindowAggregate) -> Iterator[str]:
    if node.late is Late.REVISE:
        yield "LATE REVISE looks at closed windows of all groups"
    if node.early is not None:
        yield "EMIT EARLY looks at open windows of all groups"
    yield from without_cells(node)


@dataclass
class Due:
    """A closing that was asked for: its number, its boundary and the promise that holds when it is done."""

    number: int
    closed: int
    promise: int


class Smoothing:
    """The closings of one window operator that are under way."""

    def __init__(self, operator: WindowAggregateOperator, windower: TwoLevel, flush: Flush) -> None:
        self.operator = operator
        self.windower = windower
        self.delay = flush.windows * windower.window.slide
        """How far behind the last boundary results may be, at most."""
        self.start = self.delay - windower.window.slide if flush.when is When.LAZY else 0
        """How far behind they are when work on them begins."""
        self.due: list[Due] = []
        self.answers = 0
        """Answers since the last promise, and about how many a promise has of late."""
        self.usual = 0

    def ask(self, closed: int, promise: int) -> Iterator[Element]:
        """Windows up to this boundary are over. Gives what must not wait longer."""
        self.due.append(Due(self.windower.ask(closed), closed, promise))
        yield from self._until(self._number(closed - self.delay))

    def resume(self) -> Iterator[Element]:
        """A slice of the work that waits, if there is any."""
        if self.due:
            number = self._number(self.due[-1].closed - self.start)
            if number and not self.windower.is_done(number):
                yield from self._slice(number)

    def finish(self) -> Iterator[Element]:
        """Everything that waits."""
        if self.due:
            yield from self._until(self.due[-1].number)

    def _number(self, closed: int) -> int:
        """The last closing at or below a boundary; 0 when there is none."""
        return max((due.number for due in self.due if due.closed <= closed), default=0)

    def _until(self, number: int) -> Iterator[Element]:
        while number and not self.windower.is_done(number):
            yield from self._slice(number)
        yield from self._told()

    def _slice(self, number: int) -> Iterator[Element]:
        for closed in self.windower.step(number):
            self.answers += len(closed.answers)
            yield from self.operator.given(closed)
        yield from self._told()

    def _told(self) -> Iterator[Element]:
        """The promises that hold now."""
        before = len(self.due)
        while self.due and self.windower.is_done(self.due[0].number):
            yield from self.operator.promise(self.due.pop(0).promise)
        if len(self.due) < before:
            self.usual, self.answers = max(self.answers, self.usual // 2), 0
            if self.operator.node.emit is not Emit.EMPTY:
                yield from self._forget_groups()

    def _forget_groups(self) -> Iterator[Element]:
        """Groups that no one knows any more are forgotten once they are most of all, and when nothing waits.

        Groups that were just answered may be unknown only because their next rows have not come yet.
        """
        grouping = self.operator.grouping
        if 4 * self.usual > grouping.groups.count or not grouping.groups.is_large:
            return
        if grouping.groups.would_shrink(self.windower.codes_in_use()):
            yield from self.finish()
            grouping.compact(self.windower)

    def to_json(self) -> list[Any]:
        return [[due.number, due.closed, due.promise] for due in self.due]

    def from_json(self, saved: list[Any]) -> None:
        self.due = [Due(*entry) for entry in saved]


def smoothing_of(operator: WindowAggregateOperator, flush: Flush) -> Smoothing | None:
    """The part of an operator that gives its windows in slices; None where they are given all at once."""
    node = operator.node
    if flush.when is When.EAGER or why_not_smooth(node) is not None:
        return None
    assert isinstance(node.window, (Sliding, Landmark))
    windower = TwoLevel(node.window, operator.grouping.plan, size=flush.rows, places=flush.places)
    return Smoothing(operator, windower, flush)


def check_flush(saved: bool, smooth: bool) -> None:
    """State of a smoothed operator is restored by one that is smoothed too."""
    if saved != smooth:
        raise ConfigurationError(
            f"must be {'slow or lazy' if saved else 'eager'}, as in the run that wrote the checkpoint",
            parameter="flush",
            hint="give the same flush, or begin anew in an empty folder",
        )
