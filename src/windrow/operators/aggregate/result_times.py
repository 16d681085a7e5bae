"""At which time a result counts for the windows above it: where its window ends, or where it starts."""

from __future__ import annotations

from windrow.aggregates.kinds.base import Integers
from windrow.plan.checks.windows import lag_of
from windrow.plan.nodes import WindowAggregate
from windrow.semantics.progress.policies import END, START, Punctuation


def times_of(node: WindowAggregate, ends: Integers) -> Integers:
    """The times of results, by their ends."""
    lag = lag_of(node)
    return ends - lag if lag else ends


def promise_of(node: WindowAggregate, end: int) -> Punctuation:
    """What is promised of the results to come, of which none ends before `end`."""
    return Punctuation(end if end in (START, END) else end - lag_of(node))
