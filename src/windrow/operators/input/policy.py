"""What a policy promises after the rows so far: the arithmetic of order, slack and slack in rows, in one place.

One process and many tasks use it alike. Its slow namesake, row by row, is `semantics.progress.policies.bounds`. Which
rows are too far ahead is here, too (the rule is `semantics.progress.lead`), and what an input notes of rows below its
bound, so that a run that loses rows says what would have helped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled
from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import Batch, LateRows
from windrow.operators.input.partitions import PartitionProgress
from windrow.operators.kernels import disorder as kept
from windrow.operators.kernels import input as kernels
from windrow.operators.late.judging import Missed, late_batch
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.plan.nodes import Stream
from windrow.plan.types.kinds import domain_of
from windrow.semantics.progress.lateness import Jump
from windrow.semantics.progress.policies import END, LIMIT, START, External, Ordered, Policy, Slack, SlackRows, lead_of
from windrow.semantics.scalars.amounts import Domain

Trail = TypeVar("Trail", list[int], npt.NDArray[np.int64])


def implied(policy: Policy, slack: int, *, high: int, settled: int) -> int:
    """The bound after rows of which `high` is the largest time, and `settled` the largest that slack in rows leaves."""
    if isinstance(policy, Ordered):
        return high
    if isinstance(policy, Slack):
        return high if high == START else high - slack
    return settled if isinstance(policy, SlackRows) else START


def moved_by(policy: Policy, *, high: int, settled: int, promised: int) -> int:
    """What moves the bound: punctuations, rows that are settled, or all rows."""
    if isinstance(policy, External):
        return promised
    return settled if isinstance(policy, SlackRows) else high


def settle(trail: Trail, rows: int, settled: int) -> tuple[int, Trail]:
    """All but the last `rows` rows of a trail are settled: the largest settled time, and the rows that are not.

    >>> settle([5, 9, 3], rows=2, settled=4)
    (5, [9, 3])
    """
    done = max(0, len(trail) - rows)
    return max(settled, int(np.max(trail[:done]))) if done else settled, trail[done:]


def slack_of(stream: Stream) -> int:
    """Slack in time, in units of the attribute."""
    return stream.policy.amount.resolve(_domain(stream), "slack") if isinstance(stream.policy, Slack) else 0


def slack_rows_of(stream: Stream) -> int:
    return stream.policy.rows if isinstance(stream.policy, SlackRows) else 0


def lead_among_rows(stream: Stream) -> int | None:
    """How far a row may be ahead of the others of its stream; None without such a bound, or where the clock decides."""
    lead = lead_of(stream.policy)
    return None if lead is None or lead.wall_clock else lead.amount.resolve(_domain(stream), "lead")


def _domain(stream: Stream) -> Domain:
    return domain_of(stream.schema.field(stream.time).type)


_FURTHEST = 1 << 62
"""Times above this are given as if they were this: how far they are ahead must fit into 64 bits."""


@dataclass
class LeadLimit:
    """How far rows may be ahead, in units of their time: of the rows before them, or of the clock."""

    lead: int
    wall_clock: bool = False
    clock: Callable[[], float] = time.time
    """The time of day in seconds."""
    latest: int = START
    """The latest time of day that was seen: where the clock is set back, rows that were not early do not become so."""

    def judge(
        self, times: Integers, high: int, partitions: PartitionProgress | None = None, codes: Codes = NO_CODES
    ) -> tuple[npt.NDArray[np.bool_], Integers]:
        """Which rows are early, and what each row is measured against, when `high` is the largest time before them.

        Where there are `partitions`, each row is measured against its own.
        """
        early = np.zeros(len(times), np.bool_)
        against = np.empty(len(times), np.int64)
        if self.wall_clock:
            against[:] = self.latest = max(self.latest, int(self.clock() * 1_000_000))
            early |= (times > against + self.lead) | (times >= LIMIT)
        elif partitions is not None:
            early, against = partitions.early(times, codes, self.lead, LIMIT)
        else:
            kernels.early_rows(times, high, self.lead, LIMIT, early, against)
        against[against == START] = LIMIT - 1
        return early, against

    def places(
        self, times: Integers, high: int, partitions: PartitionProgress | None = None, codes: Codes = NO_CODES
    ) -> Integers:
        """Where rows lie in their stream: those that are early, where the others before them are."""
        early, _ = self.judge(times, high, partitions, codes)
        if not early.any():
            return times
        reached = np.maximum.accumulate(np.where(early, max(high, -LIMIT), times))
        return np.where(early, reached, times)


def as_late_rows(batch: Batch, schema: pa.Schema, data: pa.RecordBatch | None = None) -> LateRows:
    """Early rows, or other columns of them, as late rows are given: `late_by` is below zero, they missed no window.

    So they leave at the first operator that remembers rows, which counts them.
    """
    assert batch.bounds is not None
    by = batch.bounds - np.minimum(batch.times, _FURTHEST)
    missed = Missed(by, np.zeros(len(batch), np.int64), None, None)
    return LateRows(late_batch(batch.data if data is None else data, missed, batch.source, schema))


def no_notes() -> list[int]:
    """Nothing is noted yet: there was no jump, and no row is behind one."""
    notes = [0] * kept.SIZE
    for jump in (kept.CURRENT, kept.WORST):
        notes[jump + kept.STEP], notes[jump + kept.LEAST], notes[jump + kept.MOST] = -1, END, START
    return notes


class Disorder:
    """The notes that the kernels make. They change only where rows are below the bound, or one is far ahead."""

    def __init__(self, notes: list[int] | None = None) -> None:
        self.notes: Integers = np.array(no_notes() if notes is None else notes, np.int64)

    @property
    def behind(self) -> int | None:
        """How far the row was behind that was furthest, of those below the bound; None when there was none."""
        return int(self.notes[kept.BEHIND]) if self.notes[kept.BELOW] else None

    def jump(self, rows: int, slack: int, kind: str) -> Jump | None:
        """The row that moved progress past most of them, if that is striking in a stream of so many rows."""
        place = max(kept.CURRENT, kept.WORST, key=lambda one: int(self.notes[one + kept.ROWS]))
        number, time, base, _, behind, least, most = self.notes[place : place + kept.MOST + 1].tolist()
        if not behind:
            return None
        # Before the first row there was none; it is as far ahead as all that it made late are behind it.
        jump = Jump(number, time, time - (most if base == START else base), behind, kind)
        striking = jump.is_striking(below=int(self.notes[kept.BELOW]), behind=time - least, rows=rows, slack=slack)
        return jump if striking else None

    def state(self) -> pa.Table:
        return tabled(note=self.notes)

    def restore(self, table: pa.Table) -> None:
        self.notes = table["note"].to_numpy().copy()
