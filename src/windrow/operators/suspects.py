"""Rows that came below the bound of their group, until the next bound tells whether a session took them in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.arrays import arrow, tabled
from windrow.aggregates.base import Integers
from windrow.operators.base import Batch
from windrow.operators.state.groups import Codes
from windrow.operators.windows.session import BornLate

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Suspected:
    """Rows of one source with the codes of their groups."""

    batch: Batch
    codes: Codes

    def take(self, rows: Integers) -> Suspected:
        data = self.batch.data.take(arrow(rows))
        return Suspected(Batch(data, self.batch.times[rows], None, self.batch.source), self.codes[rows])


class Suspects:
    """Until a bound judges them, other rows may still join them to an open session, in whatever order they come."""

    def __init__(self) -> None:
        self.pieces: list[Suspected] = []

    def add(self, batch: Batch, codes: Codes, below: Mask) -> None:
        self.pieces.append(Suspected(batch, codes).take(np.flatnonzero(below)))

    def judged(self, born_late: BornLate, moved: Mask) -> Iterator[tuple[Suspected, Integers]]:
        """The late rows of the groups whose bound moved, and which of the sessions born late they are in."""
        pieces, self.pieces = self.pieces, []
        for piece in pieces:
            due = moved[piece.codes]
            if not due.all():
                self.pieces.append(piece.take(np.flatnonzero(~due)))
            owner = born_late.owners(piece.codes, piece.batch.times)
            late = np.flatnonzero(due & (owner >= 0))
            if len(late):
                yield piece.take(late), owner[late]

    @property
    def nbytes(self) -> int:
        return sum(piece.batch.data.nbytes + piece.codes.nbytes for piece in self.pieces)

    def codes_in_use(self) -> Codes:
        return np.unique(np.concatenate([np.empty(0, np.int32), *(piece.codes for piece in self.pieces)]))

    def remap(self, mapping: Codes, groups: int) -> None:
        self.pieces = [Suspected(piece.batch, mapping[piece.codes]) for piece in self.pieces]

    def state(self) -> dict[str, pa.Table]:
        tables: dict[str, pa.Table] = {}
        for i, piece in enumerate(self.pieces):
            tables[f"rows{i}"] = pa.Table.from_batches([piece.batch.data])
            tables[f"places{i}"] = tabled(time=piece.batch.times, code=piece.codes)
            tables[f"source{i}"] = pa.table({"source": pa.array([piece.batch.source], pa.string())})
        return tables

    def restore(self, tables: dict[str, pa.Table]) -> None:
        for i in range(len(tables) // 3):
            places = tables[f"places{i}"]
            times, codes = (np.array(places[name].combine_chunks()) for name in ("time", "code"))
            data = tables[f"rows{i}"].combine_chunks().to_batches()[0]
            source = tables[f"source{i}"]["source"][0].as_py()
            self.pieces.append(Suspected(Batch(data, times, None, source), codes.astype(np.int32)))
