"""What can be set for the windows of a query, before or after its aggregates are named."""

from __future__ import annotations

from typing import Any, TypeVar

from windrow.errors import QueryError
from windrow.plan.build.queries import STRATEGIES, Length, choice
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
