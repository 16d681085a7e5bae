"""How far each partition of one source has come, and what that implies for the whole of it.

The rule is `semantics.progress.partitions`, the loops are `operators.kernels.partitions`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled
from windrow.aggregates.kinds.base import Integers, value_type
from windrow.errors import DataError
from windrow.operators.kernels import partitions as kernels
from windrow.operators.state.groups import Codes, Groups
from windrow.physical.nodes import Grid
from windrow.semantics.progress.partitions import named, shown, within_limits
from windrow.semantics.progress.policies import END, START, Punctuation

Flags = npt.NDArray[np.bool_]


class PartitionProgress:
    """The partitions known so far, by the values of some columns.

    One counts once it is known, and does not while it has ended or is silent: it rests then. `operators.kernels`
    says what the arrays are.
    """

    def __init__(
        self,
        per: Sequence[str],
        schema: pa.Schema,
        *,
        slack: int = 0,
        idle: int | None = None,
        silence: float | None = None,
    ) -> None:
        self.schema = pa.schema([(name, value_type(schema.field(name).type)) for name in per])
        self.slack = slack
        self.idle = idle
        self.silence = silence
        self._clear()
        self.go_by(time.monotonic)

    def _clear(self) -> None:
        self.highs: Integers = np.empty(0, np.int64)
        self.rested: Integers = np.empty(0, np.int64)
        self.promised: Integers = np.empty(0, np.int64)
        self.announced: Flags = np.empty(0, np.bool_)
        self.last_seen = np.empty(0, np.float64)
        self.tree: Integers = np.empty(0, np.int64)
        self.reached: Integers = np.full(2, START, np.int64)
        self.groups = Groups(self.schema.types)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._known))

    @property
    def bound(self) -> int:
        """What is implied by all that came so far, before rounding."""
        return int(self.reached[kernels.BOUND])

    @property
    def _known(self) -> Flags:
        known: Flags = self.announced | (np.maximum(self.highs, self.rested) != START)
        return known

    def codes(self, data: pa.RecordBatch) -> Codes:
        """The number of each row's partition. A new one is not known before a row of it counts."""
        codes = self.groups.encode([data.column(name) for name in self.schema.names])
        self._make_room()
        return codes

    def _make_room(self) -> None:
        """The arrays have a place for each leaf of the tree; those that are not in use yet say nothing."""
        room, had = self.groups.count, len(self.highs)
        if room <= had:
            return
        leaves, size = self.tree[had:], 1 << (room - 1).bit_length()
        self.highs, self.rested, self.promised = (
            np.concatenate([values, np.full(size - had, START)]) for values in (self.highs, self.rested, self.promised)
        )
        self.announced = np.concatenate([self.announced, np.zeros(size - had, np.bool_)])
        self.last_seen = np.concatenate([self.last_seen, np.zeros(size - had)])
        self.tree = np.full(2 * size, END, np.int64)
        self._set(np.arange(had, dtype=np.int32), leaves)

    def _set(self, codes: Codes, values: Integers) -> None:
        if len(codes):
            kernels.set_leaves(self.tree, codes, values)

    @property
    def _counting(self) -> Flags:
        """Which partitions hold the others back."""
        counting: Flags = self.tree[len(self.highs) :] != END
        return counting

    @property
    def _reaches(self) -> Integers:
        highs = np.maximum(self.highs, self.rested)
        return np.maximum(np.where(highs == START, START, highs - self.slack), self.promised)

    def _rest(self, codes: Codes) -> None:
        """These no longer hold back the others."""
        self.rested[codes] = np.maximum(self.rested[codes], self.highs[codes])
        self.highs[codes] = START
        self._set(codes, np.full(len(codes), END))

    def cuts(
        self, times: Integers, codes: Codes, grid: Grid, bound: int, first: int, notes: Integers
    ) -> tuple[list[tuple[int, int]], int, int]:
        """Take in rows: before which of them which punctuation must have been seen; their smallest and largest time.

        `bound` is the punctuation in force, `first` the number of the first row.
        """
        self._hear(codes)
        cuts, bounds = np.empty(len(times), np.int64), np.empty(len(times), np.int64)
        old = np.empty(max(kernels.BLOCK, len(self.highs)), np.int64)
        noted = old, (grid.origin, grid.step), bound, cuts, bounds, first, notes
        found, least, most = kernels.partition_cuts(times, codes, *(*self._state, *noted))
        return list(zip(cuts[:found].tolist(), bounds[:found].tolist(), strict=True)), int(least), int(most)

    def bounds(self, times: Integers, codes: Codes, first: int, notes: Integers) -> Integers:
        """Take in rows: what is implied before each of them."""
        self._hear(codes)
        out = np.empty(len(times), np.int64)
        kernels.partition_bounds(times, codes, *(*self._state, out, first, notes))
        return out

    @property
    def _state(self) -> tuple[Any, ...]:
        idle = -1 if self.idle is None else self.idle
        return self.slack, idle, self.highs, self.rested, self.promised, self.tree, self.reached

    def _hear(self, codes: Codes) -> None:
        """Rows came of these partitions."""
        if self.silence is not None:
            self.last_seen[codes] = self.clock()
            self.pass_time()

    def announce(self, punctuation: Punctuation, stream: str) -> None:
        """What an element says of one partition."""
        codes = self.codes(partition_row(self.schema, punctuation, stream))
        code = int(codes[0])
        self.announced[code], self.last_seen[code] = True, self.clock()
        if punctuation.value == END:
            self._rest(codes)
        else:
            self.promised[code] = max(int(self.promised[code]), within_limits(punctuation.value))
            self.highs[code] = max(int(self.highs[code]), int(self.rested[code]))
            self._set(codes, self._reaches[codes])
        self._advance(int(self._reaches[code]))

    def _advance(self, reach: int = START) -> None:
        """The least of those that count, or the furthest where none does; one may have come as far as `reach`."""
        furthest = max(int(self.reached[kernels.FURTHEST]), reach)
        least = furthest if self.tree[1] == END else int(self.tree[1])
        if self.idle is not None and furthest != START:
            least = max(least, furthest - self.idle)
        self.reached[:] = furthest, max(self.bound, least)

    def pass_time(self) -> None:
        """Partitions that are silent for too long no longer hold back the others."""
        if self.silence is None or len(self.highs) == 0:
            return
        silent = self._counting & (self.clock() - self.last_seen >= self.silence)
        if silent.any():
            self._rest(np.flatnonzero(silent).astype(np.int32))
            self._advance()

    def go_by(self, clock: Callable[[], float]) -> None:
        """Measure silence by this clock, from now on."""
        self.clock = clock
        self.last_seen[:] = clock()

    @property
    def held_back_by(self) -> str | None:
        """The partition that is least far, as a user calls it; None when none is behind another."""
        counting, reaches = self._counting, self._reaches
        if not counting.any() or (len(np.unique(reaches[counting])) < 2 and counting[self._known].all()):
            return None
        code = int(np.argmin(np.where(counting, reaches, END)))
        return shown(named([column[0].as_py() for column in self.groups.keys(code, code + 1)]))

    def early(self, times: Integers, codes: Codes, lead: int, limit: int) -> tuple[Flags, Integers]:
        """Which rows are more than `lead` ahead of their own partition, and what each is measured against."""
        early, against = np.zeros(len(times), np.bool_), np.empty(len(times), np.int64)
        highs = np.maximum(self.highs, self.rested)
        kernels.early_rows_of(times, codes, highs, lead, limit, early, against)
        return early, against

    def state(self) -> dict[str, pa.Table]:
        used = slice(self.groups.count)
        each = tabled(
            high=np.maximum(self.highs, self.rested)[used],
            promised=self.promised[used],
            announced=self.announced[used],
            counts=self._counting[used],
            silent=(self.clock() - self.last_seen)[used],
        )
        keys = pa.table(self.groups.keys(0, self.groups.count), schema=self.schema)
        return {"partitions": tabled(value=self.reached), "partitions.each": each, "partitions.keys": keys}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self._clear()
        self.groups.restore(tables["partitions.keys"])
        self._make_room()
        each, used = tables["partitions.each"], slice(self.groups.count)
        self.rested[used], self.promised[used] = each["high"].to_numpy(), each["promised"].to_numpy()
        self.announced[used] = np.array(each["announced"], np.bool_)
        self.last_seen[used] = self.clock() - each["silent"].to_numpy()
        counting = np.flatnonzero(np.array(each["counts"], np.bool_)).astype(np.int32)
        self.highs[counting] = self.rested[counting]
        self._set(counting, self._reaches[counting])
        self.reached = tables["partitions"]["value"].to_numpy().copy()


def partition_row(schema: pa.Schema, punctuation: Punctuation, stream: str) -> pa.RecordBatch:
    """The partition that a punctuation is for, by the columns that name it."""
    names, group = schema.names, punctuation.group
    assert group is not None
    if len(group) != len(names):
        raise DataError(
            f"must have a value for each of the columns that name a partition of {stream} ({', '.join(names)})",
            parameter="punctuation",
            value=group,
            hint=f"write wr.Punctuation(value, ({', '.join(names)},))",
        )
    try:
        return pa.RecordBatch.from_pylist([dict(zip(names, group, strict=True))], schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(
            f"must name a partition by values of its columns ({', '.join(f'{f.name} {f.type}' for f in schema)})",
            parameter="punctuation",
            value=group,
            hint=str(error).splitlines()[0],
        ) from None
