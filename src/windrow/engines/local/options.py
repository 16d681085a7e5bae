"""How to run in this process."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from windrow.engines.local.schedule import Every, Schedule, whole_number
from windrow.errors import ConfigurationError
from windrow.physical.costs import Statistics
from windrow.physical.how import EAGER, Flush, flush_of
from windrow.pipeline.memory import bytes_of
from windrow.semantics.scalars.amounts import Amount, Domain


@dataclass(frozen=True)
class LocalOptions:
    """How to run: threads, rows a batch, where and how often (in rows, or by time) to write checkpoints.

    Single rows of an iterator wait at most `batch_wait` for others; None: until a batch is full, or the iterator ends.
    Statistics of the stream, where given, choose the strategy; else its first rows do. `flush` says when closed windows
    are given: "eager", at once; "slow", those of `flush_rows` groups after each batch; "lazy", the same, but only in
    the last of `flush_windows` windows by which results may be behind. `flush_cells` is the size of the low level's
    table. Kept rows beyond `memory` bytes go to the disk.
    """

    threads: int = 1
    batch_rows: int = 1 << 19
    batch_wait: str | timedelta | None = "10 ms"
    checkpoint: str | None = None
    checkpoint_every: Every = None
    restore: bool = False
    statistics: Statistics | None = None
    flush: str = EAGER.when.value
    flush_rows: int = Flush.rows
    flush_windows: int = Flush.windows
    flush_cells: int = Flush.cells
    memory: str | int | None = None

    def check(self) -> None:
        for name in ("threads", "batch_rows", "flush_rows", "flush_windows", "flush_cells"):
            whole_number(getattr(self, name), name)
        Schedule.of(self.checkpoint_every)
        flush_of(self)
        seconds_of(self.batch_wait)
        if self.memory is not None:
            bytes_of(self.memory)
        if (self.checkpoint_every is not None or self.restore) and not self.checkpoint:
            raise ConfigurationError(
                "needs a folder",
                parameter="checkpoint",
                hint="give checkpoint='folder' with checkpoint_every or restore",
            )


def seconds_of(wait: str | timedelta | None) -> float | None:
    """How long rows may wait for others."""
    if wait is None:
        return None
    amount = Amount.of(wait, "batch_wait")
    if not amount.is_time or amount.number < 0:
        raise ConfigurationError(
            "must be a length of time, or None", parameter="batch_wait", value=str(wait), hint="write it like '10 ms'"
        )
    return amount.resolve(Domain.TIME, "batch_wait") / 1e6
