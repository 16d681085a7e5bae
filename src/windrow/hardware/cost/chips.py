"""Chips, what is used of them, and tables of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Chip:
    """What there is on a chip; a block RAM has `block_bits` bits."""

    name: str
    luts: int
    registers: int
    block_rams: int
    block_bits: int


LX240T = Chip("XC6VLX240T", 150_720, 301_440, 416, 36_864)
"""The Virtex-6 of the two papers on windows."""
LX760 = Chip("XC6VLX760", 474_240, 948_480, 720, 36_864)
"""The Virtex-6 of the paper on handshake join."""
ECP5_85 = Chip("LFE5UM5G-85F", 83_640, 83_640, 208, 18_432)


@dataclass(frozen=True)
class ChipCost:
    """What a circuit takes on a chip.

    `luts` are those that the chip is without then, those used as memory included; `cells` are what the tool counted,
    kind by kind. `clocks` has the MHz of each try of place and route, none where there was no place and route, and
    `critical_path` the names along the slowest way, with nanoseconds, in the try in the middle.
    """

    chip: Chip
    luts: int
    registers: int
    block_rams: float
    memory_luts: int
    cells: Mapping[str, int]
    clocks: tuple[float, ...] = ()
    critical_path: tuple[tuple[str, float], ...] = ()

    @property
    def clock(self) -> float | None:
        """MHz of the try in the middle."""
        return median(self.clocks) if self.clocks else None

    @property
    def share(self) -> float:
        """How much of the chip is used, by what is used most of."""
        chip = self.chip
        used = (self.luts, chip.luts), (self.registers, chip.registers), (self.block_rams, chip.block_rams)
        return max(number / available for number, available in used)


def table(costs: Mapping[str, ChipCost]) -> str:
    """Costs as text, a line for each name.

    >>> wid, panes = ChipCost(LX240T, 1886, 1837, 0, 0, {}), ChipCost(ECP5_85, 9, 8, 1, 0, {}, (201.5,))
    >>> print(table({"wid 11": wid, "panes": panes}))
    circuit  chip          registers  LUTs  block RAM  of the chip  MHz
    wid 11   XC6VLX240T         1837  1886          0        1.3 %    -
    panes    LFE5UM5G-85F          8     9          1        0.5 %  202
    """
    head = ("circuit", "chip", "registers", "LUTs", "block RAM", "of the chip", "MHz")
    rows = [head, *(_row(name, cost) for name, cost in costs.items())]
    widths = [max(len(row[place]) for row in rows) for place in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) if place < 2 else cell.rjust(width) for place, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in rows)
    )


def _row(name: str, cost: ChipCost) -> tuple[str, ...]:
    clock = "-" if cost.clock is None else f"{cost.clock:.0f}"
    blocks = f"{cost.block_rams:g}"
    return name, cost.chip.name, str(cost.registers), str(cost.luts), blocks, f"{100 * cost.share:.1f} %", clock
