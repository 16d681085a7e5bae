"""When a checkpoint is due: after so many rows, or after so much time in which something changed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import Any, TypeAlias

from windrow.errors import ConfigurationError, QueryError
from windrow.semantics.scalars.amounts import Amount, Domain

Every: TypeAlias = int | str | timedelta | None
"""How often: rows, or a length of time like '10 s'."""
_MOST = 1 << 62


def whole_number(value: Any, name: str) -> int:
    """The value, which must be a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError("must be a whole number of at least 1", parameter=name, value=value)
    if value >= _MOST:
        raise ConfigurationError("must be below 2^62", parameter=name, value=value)
    return value


@dataclass
class Schedule:
    """By rows or by time, and what was there at the last checkpoint.

    >>> schedule = Schedule(rows=100)
    >>> schedule.is_due(99, 0), schedule.is_due(100, 0)
    (False, True)
    """

    rows: int | None = None
    seconds: float | None = None
    clock: Callable[[], float] = field(default=monotonic, repr=False)

    def __post_init__(self) -> None:
        self.note(0, 0)

    @staticmethod
    def of(every: Every) -> Schedule:
        if every is None:
            return Schedule()
        if isinstance(every, (str, timedelta)):
            return Schedule(seconds=_seconds(every))
        return Schedule(rows=whole_number(every, "checkpoint_every"))

    def is_due(self, rows: int, results: int) -> bool:
        """Whether it is time for a checkpoint, after so many rows read and results given."""
        if self.rows is not None:
            return rows - self._read >= self.rows
        if self.seconds is None or (rows, results) == (self._read, self._given):
            return False
        return self.clock() - self._last >= self.seconds

    def note(self, rows: int, results: int) -> None:
        """A checkpoint was taken, or the run begins."""
        self._read, self._given, self._last = rows, results, self.clock()


def _seconds(every: str | timedelta) -> float:
    with suppress(QueryError):
        amount = Amount.of(every, "checkpoint_every")
        if amount.is_time and amount.number > 0:
            return amount.resolve(Domain.TIME, "checkpoint_every") / 1e6
    raise ConfigurationError(
        "must be a number of rows, or a length of time above 0",
        parameter="checkpoint_every",
        value=str(every),
        hint="write 1000000 for rows, or '10 s'",
    )
