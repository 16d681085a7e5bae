"""State columns as parts declare them: how two of them combine, of which dtype and how wide they are.

The loops that fill them are in `operators.state.columns`; registers, the state of sketches, need none of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes: TypeAlias = npt.NDArray[np.uint64]
Registers: TypeAlias = npt.NDArray[np.uint8]


class Rule(Enum):
    """How the state of two panes becomes that of both."""

    ADD = "add"
    GREATEST = "greatest"
    LATEST = "latest"
    """The greatest pair (time, value)."""


@dataclass(frozen=True)
class Columns:
    """Some columns of one argument. Equal declarations mean the same columns, which parts then share."""

    rule: ClassVar[Rule]
    dtype: ClassVar[type[np.integer[Any]]] = np.int64
    widths: ClassVar[tuple[int, int]]
    """Of an argument, before any of them widens: of whole numbers and the like, and of floats."""

    def width(self, kind: pa.DataType) -> int:
        return self.widths[pa.types.is_floating(kind)]


@dataclass(frozen=True)
class Sketch(Columns, ABC):
    """A row of registers, each of which keeps the greatest number that was put into it.

    Its state is a block of bytes in a cell, on the wire and in checkpoints; where few registers are used, only these
    are sent and saved. It is a function of the set of values alone, so order, batches and engines cannot change it.
    Its width is a multiple of 8. Value: for each row of registers how many of them hold 0, 1, 2, ...
    """

    rule = Rule.GREATEST
    dtype = np.uint8
    most: ClassVar[int] = 255
    """The greatest number that `lift` gives."""

    @abstractmethod
    def lift(self, hashes: Hashes) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """For the hash of each value the register it goes into, and the number, 1 to `most`."""


Stored: TypeAlias = Callable[[Columns], tuple[Any, Any]]
"""The columns of a part's argument: what knows how to read them, and the matrix they are in."""
