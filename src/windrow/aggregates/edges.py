"""first and last by event time; equal times go to the least (first) or greatest (last) value."""

from __future__ import annotations

from windrow.aggregates.kinds.base import Part
from windrow.aggregates.kinds.one_value import OneValue
from windrow.aggregates.parts.edges import Edge
from windrow.semantics.scalars.expressions import Expression


class FirstLast(OneValue):
    timed = True

    def __init__(self, name: str, *, latest: bool) -> None:
        super().__init__(name, f"the value at the {'latest' if latest else 'earliest'} event time", last=latest)

    def fixed_part(self, argument: Expression) -> Part:
        return Edge(argument, self.last)
