"""Disorder: what an input notes of rows below its bound, so that a run that loses rows says what would have helped."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled
from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels import disorder as kept
from windrow.semantics.progress.lateness import Jump
from windrow.semantics.progress.policies import END, START


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
