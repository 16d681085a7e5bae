"""Codes of 16 bits by which a scan leaves out most rows before their values are compared.

A code is 16 bits of a value, such that a step of it is small beside the bounds that probes set. Values far apart may
have the same code, so what it admits must be compared; what it does not admit is out of bounds for sure.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.operators.handshake.blocks import Unsigned

Codes: TypeAlias = npt.NDArray[np.uint16]
STEPS = 5
"""Typical bounds are about 2 to the power of this wide, in steps."""
_ALL = (1 << 16) - 1


def shift_for(widths: Unsigned) -> int:
    """How many low bits of a value its code leaves out, for probes with bounds that wide.

    Above the code no bits of the value are left out but whole turns: bounds may go beyond the last value to the first.
    """
    typical = int(np.median(widths))
    return min(max(0, typical.bit_length() - STEPS), 8 * widths.dtype.itemsize - 16)


def codes_of(values: Unsigned, shift: int) -> Codes:
    """
    >>> codes_of(np.array([7, 8, 1 << 19], np.uint32), 3).tolist()
    [0, 1, 0]
    """
    return (values >> values.dtype.type(shift)).astype(np.uint16)


def coded_bounds(lows: Unsigned, widths: Unsigned, shift: int) -> tuple[Codes, Codes]:
    """The bounds in codes; they admit the code of every value that the bounds admit.

    >>> low, width = coded_bounds(np.array([6], np.uint32), np.array([10], np.uint32), 3)
    >>> low.tolist(), width.tolist()
    ([0], [2])
    """
    kind = lows.dtype.type
    firsts, lasts = lows >> kind(shift), (lows + widths) >> kind(shift)
    turn = kind((1 << (8 * lows.dtype.itemsize - shift)) - 1)
    steps = np.where(widths >> kind(shift) >= _ALL, kind(_ALL), np.minimum((lasts - firsts) & turn, kind(_ALL)))
    return firsts.astype(np.uint16), steps.astype(np.uint16)
