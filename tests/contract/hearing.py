"""What an engine hears of its streams: the rows as they arrive, and when which promise holds.

In process the policy of a stream speaks after every row, and several streams are read side by side in order of time.
On Spark it speaks after every micro-batch, which holds the next `size` rows of every stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from windrow.plan.nodes import Stream
from windrow.plan.types.kinds import domain_of
from windrow.semantics.progress.partitions import Partitions, partitioned_by
from windrow.semantics.progress.policies import END, START, Punctuation, Slack, bounds
from windrow.semantics.scalars.moments import value_of

Row: TypeAlias = dict[str, Any]
Heard: TypeAlias = "list[tuple[str, Row] | Punctuation]"
"""Rows with the names of their streams, and the promises over all of these streams."""


@dataclass(frozen=True)
class Given:
    """A stream of a query and its elements."""

    stream: Stream
    elements: Sequence[Row | Punctuation]

    @property
    def rows(self) -> list[Row]:
        return [element for element in self.elements if not isinstance(element, Punctuation)]

    def bound_after(self, rows: int, *, at_once: bool = False) -> int:
        """What is promised after the first rows, by the policy or by punctuations up to the next row.

        Rows that come `at_once` have no order: the policy speaks after all of them, and not after each.
        """
        promised, seen = START, 0
        for element in self.elements:
            if isinstance(element, Punctuation):
                promised = max(promised, element.value if element.group is None else START)
            else:
                seen += 1
            if seen > rows:
                break
        return max(promised, self._implied_by_partition(rows, at_once) if self.per else self._implied(rows))

    @property
    def per(self) -> tuple[str, ...]:
        return partitioned_by(self.stream.policy)

    def _implied_by_partition(self, rows: int, at_once: bool) -> int:
        partitions, seen, bound = Partitions(), 0, START
        for element in self.elements:
            if not isinstance(element, Punctuation):
                if seen == rows:
                    break
                partitions.see(tuple(element[name] for name in self.per), value_of(element, self.stream.time))
                seen += 1
            elif element.group is not None:
                partitions.announce(element.group, element.value)
            bound = max(bound, partitions.bound(self._slack, self.idle()))
        return partitions.bound(self._slack, self.idle()) if at_once else bound

    def single(self, first: int, last: int) -> list[Punctuation]:
        """The promises for single groups that come after at least `first` rows and at most `last`."""
        found, seen = [], 0
        if self.per:  # what is said of partitions is for the policy alone
            return []
        for element in self.elements:
            if not isinstance(element, Punctuation):
                seen += 1
            elif element.group is not None and first <= seen <= last:
                found.append(element)
        return found

    def _implied(self, rows: int) -> int:
        values = [value_of(row, self.stream.time) for row in self.rows[:rows]]
        return list(bounds([*values, 0], self.stream.policy, self._slack))[-1]

    @property
    def _slack(self) -> int:
        policy, domain = self.stream.policy, domain_of(self.stream.schema.field(self.stream.time).type)
        return policy.amount.resolve(domain, "slack") if isinstance(policy, Slack) else 0

    def idle(self) -> int | None:
        idle = self.stream.idle
        if idle is None:
            return None
        return idle.amount.resolve(domain_of(self.stream.schema.field(self.stream.time).type), "idle")


Hearing: TypeAlias = Callable[[Sequence[Given], int], Heard]


def row_by_row(streams: Sequence[Given], size: int) -> Heard:
    """In process. Rows of several streams must keep their promises: then in which order they come says nothing."""
    if len(streams) > 1:
        return [(given.stream.name, row) for given in streams for row in given.rows]
    (given,) = streams
    heard: Heard = []
    for count, row in enumerate(given.rows):
        promises = Punctuation(given.bound_after(count)), *given.single(count, count)
        heard += [*promises, (given.stream.name, row)]
    return heard


def batch_by_batch(streams: Sequence[Given], size: int) -> Heard:
    """On Spark."""
    heard: Heard = []
    meld = _Meld(streams)
    for first in range(0, max((len(given.rows) for given in streams), default=0), size):
        for given in streams:
            heard += [(given.stream.name, row) for row in given.rows[first : first + size]]
        if len(streams) == 1:
            heard += streams[0].single(first + 1, first + size)
        heard += meld.after(first + size)
    return heard


class _Meld:
    """The least promise of all streams; one that lags more than its idle time counts as being just that far behind."""

    def __init__(self, streams: Sequence[Given]) -> None:
        self.streams = streams
        self.bounds = [START] * len(streams)
        self.bound = START

    def after(self, rows: int) -> Iterator[Punctuation]:
        for port, given in enumerate(self.streams):
            self.bounds[port] = END if rows >= len(given.rows) else given.bound_after(rows, at_once=True)
            self.bound = max(self.bound, min(self._counted(i) for i in range(len(self.streams))))
        yield Punctuation(self.bound)

    def _counted(self, port: int) -> int:
        idle = self.streams[port].idle()
        others = [bound for i, bound in enumerate(self.bounds) if i != port and bound not in (START, END)]
        return max(self.bounds[port], max(others) - idle) if idle is not None and others else self.bounds[port]
