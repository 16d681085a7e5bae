"""What can be set for the windows of a query, before or after its aggregates are named."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any, TypeVar

from windrow.errors import QueryError
from windrow.plan.build.queries import STRATEGIES, Length, choice
from windrow.plan.compression import Compression, CompressionMode
from windrow.plan.nodes import JoinStrategy, Late, Lateness, Strategy
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.windows.kinds import MOST_EMPTY, Emit

Settable = TypeVar("Settable", bound="WindowSettings")


class WindowSettings:
    """Steps that change how windows are reported and computed; each gives a new query."""

    def _set(self: Settable, **settings: Any) -> Settable:
        raise NotImplementedError

    def emit(self: Settable, which: Emit | str, *, most: int = MOST_EMPTY) -> Settable:
        """Which windows are reported: "nonempty", "empty" or "complete"; `most` empty ones in a row of a group."""
        if isinstance(most, bool) or not isinstance(most, int):
            raise QueryError("must be a whole number of windows", parameter="most", value=most, hint="as in 5_000_000")
        return self._set(emit=choice(Emit, which, "emit"), most_empty=most)

    def late(self: Settable, policy: Late | str, *, within: Length | None = None) -> Settable:
        """What happens to rows for the windows they missed: "drop", "side" or "revise" (for as long as `within`)."""
        amount = None if within is None else Amount.of(within, "within")
        return self._set(late=choice(Late, policy, "late"), within=amount)

    def early(self: Settable, every: Length) -> Settable:
        """Give open windows each time the largest time seen has passed so much more; the column `kind` marks them."""
        return self._set(early=Amount.of(every, "early"))

    def lateness(self: Settable, mode: Lateness | str) -> Settable:
        """Whether a row that missed a window still counts in its others: "generous" or "consistent"."""
        return self._set(lateness=choice(Lateness, mode, "lateness"))

    def strategy(self: Settable, strategy: Strategy | JoinStrategy | str) -> Settable:
        """How windows are computed ("auto", "wid", "panes", "adaptive", "buffer") or joins ("index", "scan", ...)."""
        return self._set(strategy=choice(STRATEGIES, strategy, "strategy"))

    def compress(
        self: Settable, mode: CompressionMode | str = "auto", *, within: Mapping[str, float] | None = None
    ) -> Settable:
        """How kept rows are held: "auto", "off" or "blocks", which never changes an answer.

        `within` has values rounded, for columns that are named with how far each value may be from the one that came:
        `within={"price": 0.01}`. What that makes of each answer stands in `explain` and in the result.
        """
        if within is not None and not isinstance(within, Mapping):
            raise _not_bounds("must be columns with a bound each", repr(within))
        bounds = tuple((name, _bound(name, bound)) for name, bound in (within or {}).items())
        return self._set(compression=Compression(choice(CompressionMode, mode, "compress"), bounds))


def _bound(name: Any, bound: Any) -> float:
    if not isinstance(name, str):
        raise _not_bounds("must name columns by text", repr(name))
    if isinstance(bound, (Real, Decimal)) and not isinstance(bound, bool):
        try:
            return float(bound)
        except OverflowError:
            return float("inf")  # which is refused with its column
    raise _not_bounds("must be a number in the unit of its column", f"{name}: {bound!r}")


def _not_bounds(rule: str, value: str) -> QueryError:
    return QueryError(rule, parameter="within", value=value, hint="as in within={'price': 0.01}")
