"""What windows cost in memory: the model that AdaptWID decides by (thesis section 6.3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Constants:
    """Bytes, as weighed."""

    open_cell: float = 20.0
    closed_cell: float = 28.0
    group: float = 21.0
    column: float = 8.0
    slack: float = 2.0
    row: float = 4.0
    argument: float = 4.0


MEASURED = Constants()


@dataclass(frozen=True)
class Memory:
    """Bytes of a kept row, of a cell, and of an eager group besides its cells."""

    row: float
    cell: float
    group: float

    @staticmethod
    def of(
        widths: tuple[int, int, int],
        columns: int,
        row: float | None = None,
        *,
        tumbling: bool,
        constants: Constants = MEASURED,
    ) -> Memory:
        adds, maxs, pairs = widths
        width = constants.column * (adds + maxs + pairs)
        if row is None:
            row = constants.row + constants.argument * max(0, columns - 2)
        if tumbling:
            return Memory(row, constants.slack * (constants.open_cell + width), 0.0)
        cell = constants.closed_cell + width + constants.column * (maxs + pairs)
        return Memory(row, constants.slack * cell, constants.slack * (constants.group + width))

    def surplus(self, rows: npt.NDArray[np.generic], cells: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
        """Bytes of rows over bytes of cells, group by group."""
        eager = np.maximum(self.cell * cells + self.group, 1.0)
        found: npt.NDArray[np.float64] = self.row * rows / eager
        return found
