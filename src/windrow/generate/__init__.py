"""Seeded streams like those of the papers, in any order of arrival and of any length."""

from __future__ import annotations

from windrow.generate.bids import bids
from windrow.generate.disorder import Band, BlockSorted, Disorder, InOrder, Lull, Skewed, parse_disorder
from windrow.generate.measure import Measured, measure
from windrow.generate.packets import packets
from windrow.generate.skew import Skew, SkewedGroups, Uniform, Zipf, parse_skew
from windrow.generate.stream import GeneratedStream
from windrow.generate.tasks import tasks
from windrow.generate.trades import trades

__all__ = [
    "Band",
    "BlockSorted",
    "Disorder",
    "GeneratedStream",
    "InOrder",
    "Lull",
    "Measured",
    "Skew",
    "Skewed",
    "SkewedGroups",
    "Uniform",
    "Zipf",
    "bids",
    "measure",
    "packets",
    "parse_disorder",
    "parse_skew",
    "tasks",
    "trades",
]  # fmt: skip
