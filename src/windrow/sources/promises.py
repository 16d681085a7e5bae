"""Whether punctuations among the elements of a source are in the units of its time."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import DataError
from windrow.semantics.progress.policies import END, Punctuation
from windrow.semantics.scalars.moments import microseconds, moment

_UNITS = (("milliseconds", 1_000, 1), ("seconds", 1_000_000, 1), ("nanoseconds", 1, 1_000))
_LONG_AGO, _RECENT, _FAR = (microseconds(datetime(year, 1, 1)) for year in (1980, 2000, 2200))


class CheckedPromises:
    """Takes note of the times of a source's rows and of what it promises, and refuses what cannot be meant.

    A number next to a timestamp column is in microseconds. One in another unit lies decades before all rows and would
    close nothing, or far behind them and would make all rows late.
    """

    def __init__(self, name: str, time: str | None, schema: pa.Schema) -> None:
        self.name = name
        self.time = time
        self.kind: pa.DataType | None = schema.field(time).type if time in schema.names else None
        self.latest: int | None = None
        self.promised: int | None = None

    def note(self, batch: pa.RecordBatch) -> None:
        """Rows came."""
        if isinstance(self.kind, pa.TimestampType) and (self.promised is not None or self.latest is None):
            times = batch.column(str(self.time)).cast(pa.timestamp("us", self.kind.tz), safe=False)
            self.latest = pc.max(times.cast(pa.int64())).as_py()
            self._check()

    def checked(self, punctuation: Punctuation) -> Punctuation:
        """The punctuation, in the units of the time."""
        if punctuation.is_moment and self.kind is not None and not isinstance(self.kind, pa.TimestampType):
            raise DataError(
                f"must be a number, because {self.time} of {self.name} is one",
                parameter="punctuation",
                value=str(moment(punctuation.value)),
                hint=f"give the least value of {self.time} that may still come",
            )
        if not punctuation.is_moment:
            self.promised = punctuation.value
            self._check()
        return punctuation

    def _check(self) -> None:
        """Refuse a promise that is next to the rows in another unit only."""
        value = self.promised
        if value is None or self.latest is None or value == END or not _RECENT <= self.latest < _FAR:
            return
        for unit, more, less in _UNITS:
            meant = value * more // less
            if not _LONG_AGO <= value < _FAR and _RECENT <= meant < _FAR:
                raise DataError(
                    f"must be in microseconds since 1970, like {self.time} of {self.name}",
                    parameter="punctuation",
                    value=f"{value}, which would be {moment(meant).replace(tzinfo=None)} in {unit}",
                    hint="give a datetime, as in wr.Punctuation(datetime(2024, 1, 31, tzinfo=timezone.utc))",
                )
