"""Punctuations and where they come from.

A punctuation `p` says: no later row has a value of the progressing attribute below `p`.
A policy turns what has been seen of a source into such promises. Conceptually every policy promises
after every row, so that where batches are cut cannot change an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from operator import index
from typing import Any, TypeAlias

from windrow.errors import DataError
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.moments import microseconds, moment_of

Row: TypeAlias = Mapping[str, Any]

END = (1 << 63) - 1
"""The punctuation that ends a stream: nothing follows."""
START = -(1 << 63)
"""The bound before any punctuation."""
LIMIT = 1 << 61
"""Values at or beyond this, on either side of zero, are refused: bounds of windows around them would overflow."""


@dataclass(frozen=True, init=False)
class Punctuation:
    """No later row has a value below `value` (in its group, when `group` is given).

    A moment is kept as whole microseconds, the units of timestamps; `is_moment` says that it was one.

    >>> from datetime import datetime
    >>> Punctuation(datetime(1970, 1, 1, 0, 1))
    Punctuation(value=60000000, group=None)
    """

    value: int
    group: tuple[Any, ...] | None = None
    is_moment: bool = field(default=False, repr=False, compare=False)

    def __init__(self, value: int | date, group: tuple[Any, ...] | None = None) -> None:
        moment = moment_of(value)
        object.__setattr__(self, "value", _whole(value) if moment is None else microseconds(moment))
        object.__setattr__(self, "group", group)
        object.__setattr__(self, "is_moment", moment is not None)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise DataError(
            "must be a moment or a whole number",
            parameter="punctuation",
            value=value,
            hint="for timestamps give a datetime, or microseconds since 1970",
        )
    if not START <= index(value) <= END:
        raise DataError("must fit into 64 bits", parameter="punctuation", value=value)
    return index(value)


@dataclass(frozen=True)
class AtEnd:
    """Only the end of the input is a promise: nothing is ever late, state grows with the input."""


@dataclass(frozen=True)
class Lead:
    """A row further ahead than `amount` is early: `semantics.lead` says what becomes of it.

    Ahead of what came before it in its stream; or, with `wall_clock`, of the clock as the row is read.
    """

    amount: Amount
    wall_clock: bool = False


@dataclass(frozen=True)
class Ordered:
    """Rows come in order of the attribute: after a row with value t, none is below t.

    With `per`, in each partition by itself, which these columns name: see `semantics.progress.partitions`.
    """

    lead: Lead | None = None
    per: tuple[str, ...] = ()


@dataclass(frozen=True)
class Slack:
    """Rows come at most `amount` below the largest value seen; with `per`, below that of their own partition."""

    amount: Amount
    lead: Lead | None = None
    per: tuple[str, ...] = ()


@dataclass(frozen=True)
class SlackRows:
    """No row is below the largest value seen before the last `rows` rows."""

    rows: int
    lead: Lead | None = None


@dataclass(frozen=True)
class External:
    """Punctuations are carried by the data.

    With `column`, a row whose `column` is not null is a punctuation of that value and not a data row.
    Without, only `Punctuation` elements of an iterator source count. With `per`, a punctuation may be for one group
    alone: for the rows that have its values in these columns. A punctuation row with nothing but NULL there is for
    all rows.
    """

    column: str | None = None
    per: tuple[str, ...] = ()


Policy: TypeAlias = AtEnd | Ordered | Slack | SlackRows | External


def lead_of(policy: Policy) -> Lead | None:
    """How far rows may be ahead; only where rows move progress is there such a bound."""
    return policy.lead if isinstance(policy, (Ordered, Slack, SlackRows)) else None


@dataclass(frozen=True)
class Idle:
    """A source that lags `amount` behind the others no longer holds them back.

    By stream time (`wall_clock=False`) the decision is a function of the data alone: the source counts as
    having reached the furthest other source minus `amount`. By wall clock, a source silent for `amount` of
    real time is left out of the minimum until its next row. The same holds of each partition of a stream that has
    such, among the others of the stream.
    """

    amount: Amount
    wall_clock: bool = False


def bounds(values: Iterable[int], policy: Policy, slack: int = 0) -> Iterator[int]:
    """The bound in force *before* each value under a policy; the slow namesake of the input kernel.

    Where each partition has its own, it is `partitions.partition_bounds`.

    >>> list(bounds([10, 12, 11, 20], Slack(Amount.of(3)), slack=3)) == [START, 7, 9, 9]
    True
    """
    seen: list[int] = []
    high = START
    for value in values:
        if isinstance(policy, Ordered):
            yield high
        elif isinstance(policy, Slack):
            yield high - slack if high != START else START
        elif isinstance(policy, SlackRows):
            kept = len(seen) - policy.rows
            yield max(seen[:kept]) if kept > 0 else START
        else:
            yield START
        seen.append(value)
        high = max(high, value)


def check_advance(previous: int, value: int) -> int:
    """The new bound, or an error when a punctuation goes back."""
    if value < previous:
        raise DataError(
            f"must never go back (the last one was {previous})",
            parameter="punctuation",
            value=value,
            hint="a source promised that no row below the last punctuation follows; merge sources with UNION",
        )
    return value
