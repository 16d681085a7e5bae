"""The oracle: any window query by brute force, from the definitions alone. Every operator is tested against it.

`arrival` says which rows pass and under which bounds, `placement` which windows hold them and which they missed,
`reference` gives the aggregates of each extent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, Protocol, TypeAlias

from windrow.errors import DataError
from windrow.semantics.oracle.arrival import Arrival, Element, Group, Keys, arrivals
from windrow.semantics.oracle.placement import Placement, place
from windrow.semantics.oracle.reference import REFERENCE
from windrow.semantics.progress.lateness import Account
from windrow.semantics.progress.lead import EarlyRow
from windrow.semantics.progress.policies import START, Row
from windrow.semantics.scalars.evaluate import evaluate
from windrow.semantics.scalars.expressions import Expression
from windrow.semantics.scalars.ordering import null_last_key
from windrow.semantics.windows.kinds import (
    MOST_EMPTY,
    Emit,
    Interval,
    Landmark,
    RowsWindow,
    Session,
    SlideByTuple,
    Sliding,
    Window,
    WindowId,
    closes_at,
)

Missed: TypeAlias = tuple[Row, int, list[Interval]]
"""A row, how far below the bound it was, and the intervals of the windows it missed."""


class AskedAggregate(Protocol):
    """One aggregate of a query: the name of its result, the function, its argument (None: `*`), its parameters."""

    @property
    def name(self) -> str: ...
    @property
    def function(self) -> str: ...
    @property
    def argument(self) -> Expression | None: ...
    @property
    def parameters(self) -> tuple[Any, ...]: ...


@dataclass(frozen=True)
class OracleAnswer:
    """The results (keys, `window_start`, `window_end`, aggregates) by end and keys, and what became of the rows.

    `missed` lists the rows with windows they are finally absent from because they came too late; `account` counts
    every row that came too late for a window, also when a revision took it in after all. `early` are the rows that came
    marked as such and passed the filter.
    """

    results: list[dict[str, Any]]
    account: Account
    missed: list[Missed]
    early: list[EarlyRow] = field(default_factory=list)


def answer(
    elements: Iterable[Element],
    window: Window,
    *,
    keys: Keys = (),
    aggregates: Sequence[AskedAggregate] = (),
    where: Expression | None = None,
    emit: Emit = Emit.NONEMPTY,
    late: str = "drop",
    lateness: str = "generous",
    within: int | None = None,
    most_empty: int = MOST_EMPTY,
) -> OracleAnswer:
    """The answer over rows and punctuations in order of arrival; the end of the input closes every window.

    `late` is "drop", "side" or "revise", `lateness` "generous" or "consistent".
    The filter comes before lateness: a filtered row is never late, nor early. With `late="revise"` the results are the
    last revisions: a row that missed a window still counts in it while the bound is less than `within` past its
    closing (None: always). `lateness` then judges what is left. A session that is corrected covers all that it
    replaces.

    >>> from windrow.semantics.progress.policies import Punctuation
    >>> from windrow.semantics.windows.kinds import Sliding
    >>> rows = [{"ts": 12}, {"ts": 3}, Punctuation(10), {"ts": 4}, {"ts": 11}]
    >>> found = answer(rows, Sliding("ts", range=10, slide=10))
    >>> found.results
    [{'window_start': 0, 'window_end': 10}, {'window_start': 10, 'window_end': 20}]
    >>> found.account, found.missed
    (Account(used=3, late=1, filtered=0, early=0), [({'ts': 4}, 6, [(0, 10)])])
    """
    arrived, early, filtered = arrivals(elements, window, keys, where)
    _check_landmarks(window, arrived, most_empty)
    at_once = place(window, arrived, within=0, lateness=lateness)
    final = place(window, arrived, within=within, lateness=lateness) if late == "revise" else at_once
    came_late = len(final.late if isinstance(window, Session) else at_once.missed)
    account = Account(len(arrived) - came_late, came_late, filtered, len(early))
    if emit is Emit.EMPTY:
        final = replace(final, extents={at: final.extents.get(at, []) for at in _between(window, final, most_empty)})
    results = sorted(_results(window, arrived, final, emit, keys, aggregates), key=lambda result: _order(result, keys))
    return OracleAnswer(results, account, _missed(window, arrived, final), early)


def _check_landmarks(window: Window, arrived: Sequence[Arrival], most: int) -> None:
    """Every landmark window up to the last row is reported, so a row far ahead of all before it is refused."""
    if isinstance(window, Landmark):
        _check_gaps(list(accumulate((window.first_wid(one.row) for one in arrived), max)), most)


def _order(result: dict[str, Any], keys: Keys) -> tuple[Any, ...]:
    return (result["window_end"], [null_last_key(result[name]) for name, _ in keys], result["window_start"] or 0)


def _missed(window: Window, arrived: Sequence[Arrival], placement: Placement) -> list[Missed]:
    return [
        (arrived[i].row, arrived[i].bound - arrived[i].t, [window.interval(wid) for wid in wids])
        for i, wids in sorted(placement.missed.items())
    ]


def _results(
    window: Window,
    arrived: Sequence[Arrival],
    placement: Placement,
    emit: Emit,
    keys: Keys,
    aggregates: Sequence[AskedAggregate],
) -> Iterator[dict[str, Any]]:
    for (group, wid), members in placement.extents.items():
        if emit is Emit.COMPLETE and not _is_complete(window, arrived, group, wid):
            continue
        start, end = window.interval(wid)
        named = dict(zip((name for name, _ in keys), group, strict=True))
        rows = [arrived[i] for i in members]
        yield {**named, "window_start": start, "window_end": end, **{a.name: _aggregate(a, rows) for a in aggregates}}


def _aggregate(aggregate: AskedAggregate, members: Sequence[Arrival]) -> Any:
    argument = aggregate.argument
    pairs = [(a.t, True if argument is None else evaluate(argument, a.row)) for a in members]
    return REFERENCE[aggregate.function](pairs, aggregate.parameters)


def _between(window: Window, placement: Placement, most: int) -> Iterator[tuple[Group, WindowId]]:
    """Every window from a group's first to its last, for each group; sessions have none between them.

    `most` empty ones may follow each other in a group.
    """
    by_group: dict[Any, list[WindowId]] = {}
    for group, wid in placement.extents:
        partition = wid[1] if isinstance(window, RowsWindow) else None
        by_group.setdefault((group, partition), []).append(wid)
    for (group, _), wids in by_group.items():
        span = _span(window, placement, wids)
        _check_gaps(sorted(map(span.index, wids)), most)
        yield from ((group, wid) for wid in span)


def _check_gaps(places: Sequence[int], most: int) -> None:
    """Refuse more than so many empty windows in a row."""
    for before, after in pairwise(places):
        if after - before - 1 > most:
            raise DataError(f"must fill no more than {most:,} windows between two rows", parameter="EMIT EMPTY")


def _span(window: Window, placement: Placement, wids: list[WindowId]) -> Sequence[WindowId]:
    if isinstance(window, Session):
        return wids
    if isinstance(window, RowsWindow):
        numbers = [k for k, _ in wids]
        return [(k, wids[0][1]) for k in range(min(numbers), max(numbers) + 1)]
    if isinstance(window, SlideByTuple):
        if window.partition:  # the row that closes a window is in it
            return wids
        return sorted({wid for _, wid in placement.extents if min(wids) <= wid <= max(wids)})
    return range(min(wids), max(wids) + 1)


def _is_complete(window: Window, arrived: Sequence[Arrival], group: Group, wid: WindowId) -> bool:
    """Whether the window starts no earlier than the first row that missed nothing and came before the window closed."""
    start, _ = window.interval(wid)
    if start is None:
        return True
    if isinstance(window, RowsWindow):
        return start >= 0
    closing = closes_at(window, wid)
    seen = [a.t for a in arrived if a.t >= _boundary(window, a.bound) and a.bounds.of(group) < closing]
    return bool(seen) and start + isinstance(window, SlideByTuple) >= min(seen)


def _boundary(window: Window, bound: int) -> int:
    """Where the windows closed at a bound end: rows from here on miss nothing."""
    if isinstance(window, (Sliding, Landmark)) and bound != START:
        return window.origin + (bound - window.origin) // window.slide * window.slide
    return bound
