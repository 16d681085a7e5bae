"""How the rows that a window or a join keeps are held, and how far their values may be rounded for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class CompressionMode(Enum):
    """How kept rows are held in memory and in checkpoints; no mode changes an answer."""

    AUTO = "auto"
    """In blocks where that makes them smaller."""
    OFF = "off"
    BLOCKS = "blocks"


@dataclass(frozen=True)
class Compression:
    """What was asked for: a mode, and for columns how far each value may be from the one that came.

    `within` is in the units of the columns, in the order written; without it nothing is lost.
    """

    mode: CompressionMode = CompressionMode.AUTO
    within: tuple[tuple[str, float], ...] = ()


LOSSLESS = Compression()
"""What a query has that says nothing of it."""


@dataclass(frozen=True)
class Loss:
    """How far a column may be from the exact one, in words; `bound` where that is one number for every value."""

    text: str
    bound: float | None = None
    answer: str = field(default="it", compare=False)
    """Of what, as people know it."""


UNKNOWN = Loss("a bound that is not known")
WITHIN = "windrow.within"
"""The metadata of a field of an answer that says how far it may be from the exact one."""


def bound_text(bound: float) -> str:
    """A bound as users write it.

    >>> bound_text(5.0), bound_text(0.01), bound_text(1e300)
    ('5', '0.01', '1e+300')
    """
    return repr(bound).removesuffix(".0")
