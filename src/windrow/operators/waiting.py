"""Rows that wait until no row before them can come."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.aggregates.arrays import tabled
from windrow.aggregates.base import Integers
from windrow.operators.base import Batch


@dataclass
class Waiting:
    """Rows by arrival, in pieces; a piece whose rows all wait on is not touched."""

    pieces: list[Batch] = field(default_factory=list)

    def add(self, batch: Batch) -> None:
        if len(batch):
            self.pieces.append(batch)

    def release(self, bound: int, *, last: bool) -> Batch | None:
        """The rows below a bound, or all when it is the last one, by arrival; they wait no longer."""
        leaving, staying = [], []
        for piece in self.pieces:
            below = np.ones(len(piece), np.bool_) if last else piece.times < bound
            leaving.append(_some(piece, below))
            staying.append(_some(piece, ~below))
        self.pieces = [piece for piece in staying if piece is not None]
        return joined([piece for piece in leaving if piece is not None])

    def state(self) -> dict[str, pa.Table]:
        whole = joined(self.pieces)
        if whole is None:
            return {}
        self.pieces = [whole]
        return {"waiting": pa.Table.from_batches([whole.data]), "waiting.times": tabled(time=whole.times)}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        if "waiting" in tables:
            data = tables["waiting"].combine_chunks().to_batches()[0]
            times: Integers = np.array(tables["waiting.times"]["time"].combine_chunks())
            self.pieces = [Batch(data, times)]

    @property
    def nbytes(self) -> int:
        return sum(piece.data.nbytes + piece.times.nbytes for piece in self.pieces)


def _some(piece: Batch, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Batch | None:
    if not chosen.any():
        return None
    return piece if chosen.all() else Batch(piece.data, piece.times, chosen.view(np.uint8)).compact()


def joined(pieces: list[Batch]) -> Batch | None:
    """All rows as one batch; None when there are none."""
    if len(pieces) < 2:
        return pieces[0] if pieces else None
    data = pa.Table.from_batches([piece.data for piece in pieces]).combine_chunks().to_batches()
    assert len(data) == 1
    return Batch(data[0], np.concatenate([piece.times for piece in pieces]))
