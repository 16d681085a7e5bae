"""Progress by partition: each partition of a stream has a bound of its own, and the stream is as far as the least.

A partition is what has its own order: one of a Kafka topic, a file, a device. Its bound is the largest value of its
rows less the slack, or what was promised for it if that is more. So a partition that lags loses no row because of
others, but holds back the answers.

A partition is known from its first row on, or once it is announced: a punctuation for it alone says that it is there,
and promises its value; START promises nothing, END says that it has ended. One that has ended, or is silent for too
long by the clock, holds nothing back until a row of it comes. Where none holds back, the stream is as far as the
furthest. With an idle time, one counts as at most so far behind the furthest.

    rows before each, slack 0      a 10   b 4   a 20   b 12   a 21   c 5
    bound                           -      10    10     10     12     12      4 and 5 are late: nobody knew of b and c

Bounds never go back. Among the rows of a partition, those too far ahead of it are early (`semantics.progress.lead`):
its first one is not, whatever it is, for there is nothing to compare it with.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from windrow.errors import Position, QueryError
from windrow.semantics.progress.policies import END, LIMIT, START, Ordered, Policy, Punctuation, Slack


def partitioned_by(policy: Policy) -> tuple[str, ...]:
    """The columns whose values tell the partitions of a stream apart; none where it has but one bound."""
    return policy.per if isinstance(policy, (Ordered, Slack)) else ()


def rows_per_partition(value: str, hint: str, position: Position | None = None) -> QueryError:
    """Why slack is not counted in rows of a partition."""
    return QueryError(
        "does not go with slack in rows: a partition that brings few of them would wait for as many all the same",
        parameter="per",
        value=value,
        hint=hint,
        position=position,
    )


@dataclass
class Reach:
    """How far a partition has come: its largest value, what was promised for it, and whether it has ended."""

    high: int = START
    promised: int = START
    ended: bool = False

    def bound(self, slack: int) -> int:
        return max(self.promised, START if self.high == START else self.high - slack)


@dataclass
class Partitions:
    """The partitions known so far, by name; the slow namesake of `operators.input.partitions`.

    >>> partitions = Partitions()
    >>> partitions.see("a", 10)
    >>> partitions.see("b", 4)
    >>> partitions.bound(slack=1), partitions.bound(slack=1, idle=2)
    (3, 7)
    """

    known: dict[Any, Reach] = field(default_factory=dict)

    def see(self, partition: Hashable, value: int) -> None:
        """A row of a partition."""
        reach = self.known.setdefault(partition, Reach())
        reach.high, reach.ended = max(reach.high, value), False

    def announce(self, partition: Hashable, value: int) -> None:
        """A punctuation for one partition; one that promises less than is known promises nothing."""
        reach = self.known.setdefault(partition, Reach())
        reach.ended = value == END
        if not reach.ended:
            reach.promised = max(reach.promised, within_limits(value))

    def bound(self, slack: int, idle: int | None = None, silent: Collection[Any] = ()) -> int:
        """What now holds of the whole stream, were nothing promised before."""
        furthest = max((reach.bound(slack) for reach in self.known.values()), default=START)
        least = min((self.known[name].bound(slack) for name in self._holding(silent)), default=furthest)
        return least if idle is None or furthest == START else max(least, furthest - idle)

    def slowest(self, slack: int, silent: Collection[Any] = ()) -> Any:
        """The partition that holds the others back; None when none is behind another."""
        bounds = {name: self.known[name].bound(slack) for name in self._holding(silent)}
        if len(set(bounds.values())) < 2 and len(bounds) == len(self.known):
            return None
        return min(bounds, key=lambda name: bounds[name], default=None)

    def _holding(self, silent: Collection[Any]) -> Iterator[Any]:
        return (name for name, reach in self.known.items() if not reach.ended and name not in silent)


def within_limits(value: int) -> int:
    """A promise: what lies beyond all times is as good as the limit."""
    return value if value == START else min(max(value, -LIMIT), LIMIT)


def partition_bounds(
    elements: Iterable[tuple[Hashable, int] | Punctuation], slack: int = 0, idle: int | None = None
) -> Iterator[int]:
    """The bound in force *before* each element: a row, as its partition and its value, or what is said of a partition.

    The slow namesake of the kernel.

    >>> list(partition_bounds([("a", 10), ("b", 4), ("a", 20), ("b", 12), ("a", 21), ("c", 5)])) == [
    ...     START, 10, 10, 10, 12, 12]
    True
    >>> list(partition_bounds([Punctuation(START, ("b",)), ("a", 10), ("b", 4), ("b", 12)])) == [START, START, START, 4]
    True
    """
    partitions, bound = Partitions(), START
    for element in elements:
        yield bound
        if not isinstance(element, Punctuation):
            partitions.see(*element)
        elif element.group is not None:
            (name,) = element.group if len(element.group) == 1 else (element.group,)
            partitions.announce(name, element.value)
        bound = max(bound, partitions.bound(slack, idle))


def named(values: Sequence[Any]) -> str:
    """The name of a partition that tells it from all others with values of the same types; text, to be saved.

    >>> named([3, None])
    '["3", null]'
    """
    return json.dumps([None if value is None else str(value) for value in values], ensure_ascii=False)


def shown(name: str) -> str:
    """What a user calls a partition.

    >>> shown('["3", null]')
    'partition 3, NULL'
    """
    return "partition " + ", ".join("NULL" if value is None else value for value in json.loads(name))
