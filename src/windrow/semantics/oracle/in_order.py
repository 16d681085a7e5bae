"""What it means that rows leave in order: each waits until a punctuation has passed it. The slow namesake of Sort."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from windrow.semantics.progress.policies import END, START, Punctuation, Row


@dataclass(frozen=True)
class Step:
    """What one element brings about: rows that leave now, in order, and rows that came too late for their place."""

    leaving: list[Row] = field(default_factory=list)
    late: list[Row] = field(default_factory=list)


def in_order(elements: Iterable[Row | Punctuation], time: str) -> Iterator[Step]:
    """A step for each element; rows of equal time leave as they arrived.

    >>> steps = in_order([{"t": 3}, {"t": 1}, Punctuation(2), {"t": 1}, Punctuation(END)], "t")
    >>> [(step.leaving, step.late) for step in steps][2:]
    [([{'t': 1}], []), ([], [{'t': 1}]), ([{'t': 3}], [])]
    """
    waiting: list[Row] = []
    bound = START
    for element in elements:
        if isinstance(element, Punctuation):
            bound = max(bound, element.value)
            leaving = sorted((row for row in waiting if bound == END or row[time] < bound), key=lambda row: row[time])
            waiting = [row for row in waiting if bound != END and row[time] >= bound]
            yield Step(leaving=leaving)
        elif element[time] < bound:
            yield Step(late=[element])
        else:
            waiting.append(element)
            yield Step()
