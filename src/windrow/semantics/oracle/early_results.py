"""Early results: what is known of windows that are still open, given out before they close.

A point of report lies after each row with which the largest value seen passes a multiple of `every` (counted from the
window's origin). There, every open window that has changed since the last point is given as it is then. Each such
result is taken back once, when a newer one or the final one replaces it: what was given less what was taken back is
always one result for each window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from windrow.semantics.oracle import answers as oracle
from windrow.semantics.oracle.arrival import ArrivalBounds, Element, Keys
from windrow.semantics.progress.lead import EarlyRow
from windrow.semantics.progress.policies import START, Punctuation
from windrow.semantics.scalars.evaluate import evaluate
from windrow.semantics.scalars.expressions import Expression
from windrow.semantics.scalars.moments import value_of
from windrow.semantics.windows.kinds import Landmark, Sliding


def points(elements: Sequence[Element], window: Sliding | Landmark, every: int, where: Expression | None) -> list[int]:
    """After how many elements there is something to say."""
    found, high = [], START
    for count, element in enumerate(elements, 1):
        if isinstance(element, (Punctuation, EarlyRow)) or (where is not None and evaluate(where, element) is not True):
            continue
        value = value_of(element, window.attribute)
        if high != START and (value - window.origin) // every > (high - window.origin) // every:
            found.append(count)
        high = max(high, value)
    return found


def early_results(
    elements: Sequence[Element],
    window: Sliding | Landmark,
    reported: Iterable[int],
    *,
    keys: Keys = (),
    aggregates: Sequence[oracle.AskedAggregate] = (),
    **settings: Any,
) -> list[dict[str, Any]]:
    """All early results, in order, when they are reported after so many elements; `settings` are those of the oracle.

    >>> from windrow.plan.nodes import AggregateCall
    >>> rows, window = [{"ts": 1}, {"ts": 2}, {"ts": 5}, {"ts": 11}], Sliding("ts", range=10, slide=10)
    >>> reported = points(rows, window, 5, None)
    >>> [r["n"] for r in early_results(rows, window, reported, aggregates=[AggregateCall("n", "count")])]
    [3, 1]
    """
    given: list[dict[str, Any]] = []
    known: dict[str, str] = {}
    for count in reported:
        before = elements[:count]
        found = oracle.answer(before, window, keys=keys, aggregates=aggregates, **settings).results
        bounds = _bounds(before)
        now = {}
        for result in found:
            group = tuple(result[name] for name, _ in keys)
            if result["window_end"] <= bounds.of(group):
                continue
            place = repr((group, result["window_end"]))
            now[place] = repr(result)
            if known.get(place) != now[place]:
                given.append(result)
        known = now
    return given


def _bounds(elements: Iterable[Element]) -> ArrivalBounds:
    bounds = ArrivalBounds()
    for element in elements:
        if isinstance(element, Punctuation):
            bounds = bounds.after(element)
    return bounds
