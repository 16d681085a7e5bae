"""What the experiments on circuits share: the papers' queries as designs, how much is run, and sizes and clocks."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from _machine import this_machine

from windrow.hardware.circuits.top import circuit_of
from windrow.hardware.cost.chips import LX240T, Chip, ChipCost
from windrow.hardware.cost.ecp5 import ecp5_cost
from windrow.hardware.cost.virtex6 import virtex6_cost
from windrow.hardware.design import (
    AggregateDesign,
    BitLayout,
    CircuitAlgorithm,
    CircuitPart,
    Design,
    Field,
    Function,
    JoinDesign,
    Merge,
    Variant,
    WindowQuery,
)
from windrow.semantics.scalars.expressions import Call, Column, Literal

SLIDE = 60
"""Seconds; SLACK is the same in both papers."""
SYMBOL = int.from_bytes(b"UBSN", "big")
TUPLE_BITS = 128
ROW = BitLayout((Field("symbol", 32, signed=False), Field("price", 32), Field("volume", 32)))
"""Beside the time, which is the fourth number of a tuple."""
TARGET = 300.0
"""MHz that place and route aims at: above every bar, so that it does not stop trying too soon."""
SHARE = 8
"""Rows of each side that a core of the handshake array keeps in figure 18."""
Pairs = list[tuple[float, float]]


class Size(Enum):
    """How much is run: a try, what takes under five minutes a circuit, or everything."""

    QUICK = "quick"
    USUAL = "usual"
    FULL = "full"

    def of(self, quick: Sequence[int], usual: Sequence[int], full: Sequence[int] = ()) -> tuple[int, ...]:
        """The sizes to run; `full` ones come behind the usual ones."""
        return tuple({Size.QUICK: quick, Size.USUAL: usual, Size.FULL: [*usual, *full]}[self])


@dataclass(frozen=True)
class Asked:
    """What the command line says: how much is run, and which part of an experiment (None: all)."""

    size: Size
    only: str | None = None

    def wants(self, part: str) -> bool:
        return self.only in (None, part)


def begin(about: str | None) -> Size:
    """Read the command line and print what the figures depend on."""
    return begin_part(about, ()).size


def begin_part(about: str | None, parts: Sequence[str]) -> Asked:
    """The same for an experiment that has parts, of which `--only` names one."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--quick", action="store_true", help="small circuits only")
    group.add_argument("--full", action="store_true", help="large circuits too, which take over five minutes each")
    if parts:
        parser.add_argument("--only", choices=parts, help="this part alone")
    asked = parser.parse_args()
    print((about or "").strip().partition("\n")[0])
    print(this_machine())
    size = Size.QUICK if asked.quick else Size.FULL if asked.full else Size.USUAL
    return Asked(size, asked.only if parts else None)


# Designs


def trades_query(ratio: int) -> WindowQuery:
    """Queries Q3 and Q4: how many trades of one symbol, RANGE of so many SLIDEs.

    >>> trades_query(10).window_modules
    11
    """
    is_chosen = Call("=", (Column("symbol"), Literal(SYMBOL)))
    return WindowQuery(ratio * SLIDE, SLIDE, SLIDE, (CircuitPart(Function.COUNT),), (is_chosen,))


def aggregate(algorithm: CircuitAlgorithm, ratio: int, variant: Variant = Variant.REPAIRED) -> AggregateDesign:
    """The circuit of the papers, or ours with the defaults of `windrow synth`."""
    merge = Merge.ENCODER if variant is Variant.LITERAL else Merge.ONE_HOT
    return AggregateDesign(ROW, (trades_query(ratio),), algorithm=algorithm, variant=variant, merge=merge)


def join(cores: int, rows: int, variant: Variant = Variant.REPAIRED) -> JoinDesign:
    """Section 6.3: an equality of keys of 32 bits, with as many bits beside the key; `rows` of each side in all."""
    left, right = (BitLayout((Field(f"{side}_key", 32), Field(f"{side}_value", 32))) for side in ("left", "right"))
    is_equal = Call("=", (Column("left_key"), Column("right_key")))
    return JoinDesign(left, right, is_equal, rows, rows, cores, variant)


# Costs


def on_virtex6(design: Design, chip: Chip = LX240T, *, by_modules: bool = False) -> ChipCost:
    _say("Virtex-6", design)
    return virtex6_cost(circuit_of(design), chip=chip, by_modules=by_modules, timeout=7200.0)


def on_ecp5(design: Design, seeds: Sequence[int] = (1,)) -> ChipCost:
    _say("ECP5", design)
    return ecp5_cost(circuit_of(design), seeds=seeds, target=TARGET, timeout=14_400.0)


def costs(on_chip: Callable[[Design], ChipCost], designs: Mapping[int, Design]) -> dict[int, ChipCost]:
    """What each design takes; the tools are processes, so that as many run side by side as there are cores."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return dict(zip(designs, threads.map(on_chip, designs.values()), strict=True))


def placed(designs: Mapping[int, Design], seeds: Sequence[int]) -> dict[int, ChipCost]:
    """The same on an ECP5, where the seeds of a design run side by side too, and the largest designs first."""
    tries = [(name, seed) for name in sorted(designs, reverse=True) for seed in seeds]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(lambda one: on_ecp5(designs[one[0]], (one[1],)), tries))  # which the cache keeps
    return {name: on_ecp5(design, seeds) for name, design in designs.items()}


def megahertz(cost: ChipCost) -> float:
    """The clock of the try in the middle."""
    return cost.clock or 0.0


def tries(cost: ChipCost) -> str:
    return ", ".join(f"{clock:.0f}" for clock in cost.clocks)


def _say(chip: str, design: Design) -> None:
    """What is being made, on a terminal: it may take minutes where the cache has none."""
    if sys.stderr.isatty():
        kind = f"{design.cores} cores" if isinstance(design, JoinDesign) else _kind(design)
        print(f"{chip}: {design.variant.value}, {kind} ...", file=sys.stderr, flush=True)


def _kind(design: AggregateDesign) -> str:
    (query,) = design.queries
    return f"{design.algorithm.value}, RANGE/SLIDE {query.range // query.slide}"


# Figures


def per_cent(ours: float, theirs: float) -> float:
    """How much more ours is.

    >>> per_cent(103.0, 100.0)
    3.0
    """
    return 100.0 * (ours - theirs) / theirs


def flatness(values: Sequence[float]) -> float:
    """The slowest over the fastest."""
    return min(values) / max(values)


@dataclass(frozen=True)
class Line:
    """A straight line through measured points, for what was not measured.

    >>> Line.through([(1, 10.0), (2, 12.0), (3, 14.0)]).at(100)
    208.0
    """

    start: float
    slope: float

    @staticmethod
    def through(points: Pairs) -> Line:
        """The one with the least squares."""
        mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
        spread = sum((x - mean_x) ** 2 for x, _ in points)
        slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
        return Line(mean_y - slope * mean_x, slope)

    def at(self, x: float) -> float:
        return self.start + self.slope * x


def doubled(first: int, last: int) -> Iterator[int]:
    """Powers of two times the first, to the last.

    >>> list(doubled(64, 512))
    [64, 128, 256, 512]
    """
    while first <= last:
        yield first
        first *= 2
