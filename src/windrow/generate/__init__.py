"""Seeded streams like those of the papers, in any order of arrival and of any length."""

from __future__ import annotations

from windrow.generate.disorder import Band, BlockSorted, Disorder, InOrder, Lull, Skewed, parse_disorder
from windrow.generate.kinds import bids, packets, tasks, trades
from windrow.generate.measure import Measured, measure
from windrow.generate.skew import Skew, SkewedGroups, Uniform, Zipf, parse_skew
from windrow.generate.stream import GeneratedStream

__all__ = [
    "Band", "BlockSorted", "Disorder", "GeneratedStream", "InOrder", "Lull", "Measured", "Skew", "Skewed",
    "SkewedGroups", "Uniform", "Zipf", "bids", "measure", "packets", "parse_disorder", "parse_skew", "tasks", "trades",
]  # fmt: skip
