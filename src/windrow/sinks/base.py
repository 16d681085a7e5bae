"""What every sink takes: batches of an answer, and then an end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pyarrow as pa

from windrow.errors import ConfigurationError
from windrow.sources.base import Delivery

Self = TypeVar("Self", bound="Sink")


@dataclass(frozen=True)
class Saved:
    """What a checkpoint keeps of a sink: a place in JSON, and rows that are given out only once it is whole."""

    place: Any = None
    pending: Sequence[pa.RecordBatch] = ()


class Sink(ABC):
    """Takes batches of one schema. As a context manager it closes, or aborts on any exception, an interrupt included.

    The exception gets a note of what is left behind.

    Where a stream never ends, nobody keeps all that was given. A checkpoint then asks its sinks to save what they
    took (`save`), tells them when it is whole (`settle`), and after a crash has them `go_on` from there.
    """

    delivery: ClassVar[Delivery] = Delivery.AT_LEAST_ONCE
    """How often a result is given where a run that never ends breaks off and is restored."""

    only_appends: ClassVar[bool] = False
    """Whether it is a place that early results cannot be taken back from."""

    holds_back: bool = False
    """Whether rows are given only with a checkpoint, so that where none is ever written nothing would be."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Take the rows of a batch; columns are matched by name."""

    @abstractmethod
    def close(self) -> None:
        """Make what was written final; closing again, or after an abort, does nothing."""

    @abstractmethod
    def abort(self) -> None:
        """Leave nothing behind but what was given out already; after a close it does nothing."""

    def save(self, number: int) -> Saved:
        """See to it that all that was written can be found again, for the checkpoint of this number."""
        return Saved()

    def settle(self, number: int) -> None:  # noqa: B027 - most have nothing to do
        """That checkpoint is whole: what was kept back for it may be given out."""

    def go_on(self, number: int, saved: Saved) -> None:  # noqa: B027
        """Take back what was written behind that checkpoint, and give what it kept back; comes before all rows."""

    def left(self) -> str | None:
        """What an aborted run left behind, for a message; None: nothing."""
        return None

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None:
            self.close()
        else:
            self.abort()
            if left := self.left():
                error.__notes__ = [*getattr(error, "__notes__", ()), left]  # as `add_note` does, where there is one


def unwritable(target: str | Path, reason: str, parameter: str = "output") -> ConfigurationError:
    """The error for a file that cannot be written."""
    return ConfigurationError(
        f"must be a file that can be written ({reason})",
        parameter=parameter,
        value=str(target),
        hint="name a file in a folder that exists and that you may write to",
    )


def only_appends(target: str) -> ConfigurationError:
    """The error for early results on their way to a place that only ever takes more rows."""
    return ConfigurationError(
        "must be a place that early results can be taken back from; files and tables only take more rows",
        parameter="output",
        value=target,
        hint="leave EMIT EARLY out, or take the results where they come: the terminal, .batches(), .to_spark(), and "
        "on Spark kafka://host:port/topic, memory:name or console:",
    )


def fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with exactly the columns of `schema`; text may come plain or as a dictionary."""
    if batch.schema.equals(schema, check_metadata=False):
        return batch
    return pa.RecordBatch.from_arrays([batch.column(f.name).cast(f.type) for f in schema], schema=schema)
