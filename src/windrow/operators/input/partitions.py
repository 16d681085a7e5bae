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

    One counts once it is known, and does not while it has ended or is silent: its leaf in `tree` is END then.
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
        self.groups = Groups(self.schema.types)
        self.highs: Integers = np.empty(0, np.int64)
        self.promised: Integers = np.empty(0, np.int64)
        self.known: Flags = np.empty(0, np.bool_)
        self.last_seen = np.empty(0, np.float64)
        self.tree: Integers = np.full(2, END, np.int64)
        self.furthest = START
        self.bound = START
        """What is implied by all rows so far, before rounding."""
        self.go_by(time.monotonic)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.known))

    def codes(self, data: pa.RecordBatch) -> Codes:
        """The number of each row's partition. A new one is not known before a row of it counts."""
        codes = self.groups.encode([data.column(name) for name in self.schema.names])
        self._make_room()
        return codes

    def _make_room(self) -> None:
        more = self.groups.count - len(self.known)
        if more <= 0:
            return
        self.highs = np.concatenate([self.highs, np.full(more, START)])
        self.promised = np.concatenate([self.promised, np.full(more, START)])
        self.known = np.concatenate([self.known, np.zeros(more, np.bool_)])
        self.last_seen = np.concatenate([self.last_seen, np.zeros(more)])
        half = len(self.tree) // 2
        if half < len(self.known):
            leaves = self.tree[half:]
            self.tree = np.full(2 * (1 << (len(self.known) - 1).bit_length()), END, np.int64)
            self._set(np.arange(len(leaves), dtype=np.int32), leaves)

    def _set(self, codes: Codes, values: Integers) -> None:
        kernels.set_leaves(self.tree, codes, values)

    @property
    def _counting(self) -> Flags:
        """Which partitions hold the others back."""
        half = len(self.tree) // 2
        return self.tree[half : half + len(self.known)] != END

    @property
    def _reaches(self) -> Integers:
        return np.maximum(np.where(self.highs == START, START, self.highs - self.slack), self.promised)

    def see(self, times: Integers, codes: Codes, grid: Grid, first: int, notes: Integers) -> Integers:
        """Take in rows; what is implied before each of them and after the last."""
        came = np.zeros(len(self.known), np.bool_)
        came[codes] = True
        self.last_seen[came] = self.clock()
        self.known |= came
        self.pass_time()
        bounds = np.empty(len(times) + 1, np.int64)
        bounds[0] = self.bound
        idle = -1 if self.idle is None else self.idle
        self.furthest = kernels.partition_bounds(
            times, codes, self.slack, idle, self.highs, self.promised, self.tree, self.furthest,
            bounds, (grid.origin, grid.step), first, notes,
        )  # fmt: skip
        self.bound = int(bounds[-1])
        return bounds

    def announce(self, punctuation: Punctuation, stream: str) -> None:
        """What an element says of one partition."""
        group = punctuation.group
        assert group is not None
        codes = self.codes(self._row(group, stream))
        code = int(codes[0])
        self.known[code], self.last_seen[code] = True, self.clock()
        if punctuation.value != END:
            self.promised[code] = max(int(self.promised[code]), within_limits(punctuation.value))
        reach = int(self._reaches[code])
        self.furthest = max(int(self.furthest), reach)
        self._set(codes, np.array([END if punctuation.value == END else reach]))
        self._advance()

    def _row(self, group: tuple[Any, ...], stream: str) -> pa.RecordBatch:
        names = self.schema.names
        if len(group) != len(names):
            raise DataError(
                f"must have a value for each of the columns that name a partition of {stream} ({', '.join(names)})",
                parameter="punctuation",
                value=group,
                hint=f"write wr.Punctuation(value, ({', '.join(names)},))",
            )
        try:
            return pa.RecordBatch.from_pylist([dict(zip(names, group, strict=True))], self.schema)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(
                f"must name a partition by values of its columns ({', '.join(f'{f.name} {f.type}' for f in self.schema)})",
                parameter="punctuation",
                value=group,
                hint=str(error).splitlines()[0],
            ) from None

    def _advance(self) -> None:
        """Least of those that count, or the furthest where none does."""
        furthest = int(self.furthest)
        least = furthest if self.tree[1] == END else int(self.tree[1])
        if self.idle is not None and furthest != START:
            least = max(least, furthest - self.idle)
        self.bound = max(self.bound, least)

    def pass_time(self) -> None:
        """Partitions that are silent for too long no longer hold back the others."""
        if self.silence is None or not len(self.known):
            return
        silent = self._counting & (self.clock() - self.last_seen >= self.silence)
        if silent.any():
            codes = np.flatnonzero(silent).astype(np.int32)
            self._set(codes, np.full(len(codes), END))
            self._advance()

    def go_by(self, clock: Callable[[], float]) -> None:
        """Measure silence by this clock, from now on."""
        self.clock = clock
        self.last_seen[:] = clock()

    @property
    def held_back_by(self) -> str | None:
        """The partition that is least far, as a user calls it; None when none is behind another."""
        counting, reaches = self._counting, self._reaches
        if not counting.any() or (len(np.unique(reaches[counting])) < 2 and counting[self.known].all()):
            return None
        code = int(np.argmin(np.where(counting, reaches, END)))
        return shown(named([column[0].as_py() for column in self.groups.keys(code, code + 1)]))

    def early(self, times: Integers, codes: Codes, lead: int, limit: int) -> tuple[Flags, Integers]:
        """Which rows are more than `lead` ahead of their own partition, and what each is measured against."""
        early, against = np.zeros(len(times), np.bool_), np.empty(len(times), np.int64)
        kernels.early_rows_of(times, codes, self.highs.copy(), lead, limit, early, against)
        return early, against

    def state(self) -> dict[str, pa.Table]:
        scalars = tabled(value=np.array([self.furthest, self.bound]))
        each = tabled(
            high=self.highs,
            promised=self.promised,
            known=self.known,
            counts=self._counting,
            silent=self.clock() - self.last_seen,
        )
        keys = pa.table(self.groups.keys(0, self.groups.count), schema=self.schema)
        return {"partitions": scalars, "partitions.each": each, "partitions.keys": keys}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.groups = Groups(self.schema.types)
        self.known, self.tree = np.empty(0, np.bool_), np.full(2, END, np.int64)
        self.highs, self.promised = np.empty(0, np.int64), np.empty(0, np.int64)
        self.last_seen = np.empty(0, np.float64)
        self.groups.restore(tables["partitions.keys"])
        self._make_room()
        each = tables["partitions.each"]
        self.highs, self.promised = each["high"].to_numpy().copy(), each["promised"].to_numpy().copy()
        self.known = np.array(each["known"], np.bool_)
        self.last_seen = self.clock() - each["silent"].to_numpy()
        counting = np.flatnonzero(np.array(each["counts"], np.bool_)).astype(np.int32)
        self._set(counting, self._reaches[counting])
        self.furthest, self.bound = tables["partitions"]["value"].to_numpy().tolist()
