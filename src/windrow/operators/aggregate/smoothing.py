"""Workload smoothing: answers leave in slices between batches of input, not all when their punctuation comes.

What is answered stays the same, and so does what is late; only when results leave changes. A promise leaves after the
last result that it is about (thesis section 8.3.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windrow.errors import ConfigurationError
from windrow.operators.base import Element
from windrow.operators.windows.two_level.windower import TwoLevel
from windrow.physical.how import Flush, When
from windrow.semantics.windows.kinds import Emit, Landmark, Sliding

if TYPE_CHECKING:
    from windrow.operators.aggregate.frame import WindowAggregateOperator


@dataclass
class Due:
    """A closing that was asked for: its number, its boundary and the promise that holds when it is done."""

    number: int
    closed: int
    promise: int


class Smoothing:
    """The closings of one window operator that are under way."""

    def __init__(self, operator: WindowAggregateOperator, flush: Flush) -> None:
        window = operator.node.window
        assert isinstance(window, (Sliding, Landmark))
        self.operator = operator
        self.windower = TwoLevel(window, operator.grouping.plan, size=flush.rows, places=flush.places)
        self.delay = flush.windows * window.slide
        """How far behind the last boundary results may be, at most."""
        self.start = self.delay - window.slide if flush.when is When.LAZY else 0
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
        yield from self._promises()

    def _slice(self, number: int) -> Iterator[Element]:
        for closed in self.windower.step(number):
            self.answers += len(closed.answers)
            yield from self.operator.given(closed)
        yield from self._promises()

    def _promises(self) -> Iterator[Element]:
        """The promises that hold now."""
        before = len(self.due)
        while self.due and self.windower.is_done(self.due[0].number):
            yield from self.operator.promise(self.due.pop(0).promise)
        if len(self.due) < before:
            self.usual, self.answers = max(self.answers, self.usual // 2), 0
            if self.operator.node.emit is not Emit.EMPTY:
                yield from self._forget_groups()

    def _forget_groups(self) -> Iterator[Element]:
        """Groups without any state left are forgotten once they are most of all, and when nothing waits.

        Groups that were just answered may have none only because their next rows have not come yet.
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


def check_flush(saved: bool, smooth: bool) -> None:
    """State of a smoothed operator is restored by one that is smoothed too."""
    if saved != smooth:
        raise ConfigurationError(
            f"must be {'slow or lazy' if saved else 'eager'}, as in the run that wrote the checkpoint",
            parameter="flush",
            hint="give the same flush, or begin anew in an empty folder",
        )
