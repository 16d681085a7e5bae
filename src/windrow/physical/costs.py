"""What windows cost in time and memory: formulas 6.1 to 6.9 of the thesis, with measured constants.

`estimates` is pure: a window, what its aggregates keep and statistics of the stream give the cost of each strategy.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields, replace
from math import exp, gcd, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.errors import ConfigurationError
from windrow.plan.nodes import Strategy
from windrow.semantics.windows.kinds import Sliding


@dataclass(frozen=True)
class Constants:
    """Nanoseconds and bytes, measured on one core of a plain laptop-class machine; `windrow calibrate` measures others.

    Bytes per cell and group are what the tables take in all, with the room they keep for growth, over what is in use.
    """

    row_to_pane: float = 6.0
    """`a` of Eq. 6.1: a row into the cell of its pane."""
    pane_out: float = 73.0
    """`b`: a cell of a pane that closes."""
    pane_to_window: float = 73.0
    """`c`: a cell that enters or leaves a window."""
    row_to_window: float = 8.7
    """`a'` of Eq. 6.3: a row into the cell of one of its windows."""
    row_again: float = 36.0
    """A buffered row, for each window that is computed from it."""
    kept_again: float = 24.0
    """A row that AdaptWID kept, for each window that is computed from it."""
    open_cell: float = 20.0
    """Bytes of an open cell besides its columns: pane, group, hash index."""
    closed_cell: float = 28.0
    """Bytes of a cell of a closed pane besides its columns; what keeps the greatest is there twice."""
    group: float = 16.0
    """Bytes of a group in the running window besides its columns."""
    open_room: float = 2.0
    """Tables of open cells that grow fourfold, over their cells; `tight_room` where they double."""
    tight_room: float = 1.4
    closed_room: float = 3.8
    group_room: float = 1.5
    buffered_row: float = 6.0
    """Bytes of a buffered row besides its arguments: time and group, packed."""
    kept_row: float = 3.0
    """Bytes of a packed row besides its arguments, and of each of these."""
    kept_argument: float = 3.0
    value: float = 40.0
    """Bytes of a value in the sorted runs of its pane and of the window."""


MEASURED = Constants()
COLUMN = 8
"""Bytes of a state column."""


def config_file() -> Path:
    """Where they are kept: `costs.json` in the user's configuration folder."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "windrow" / "costs.json"


def calibrated() -> Constants:
    """What was measured here, else the defaults."""
    path = config_file()
    if not path.is_file():
        return MEASURED
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Constants(**{field.name: float(found[field.name]) for field in fields(Constants)})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigurationError(
            "must be what `windrow calibrate` wrote",
            parameter="costs.json",
            value=str(path),
            hint=f"delete it or run `windrow calibrate` again ({type(error).__name__}: {error})",
        ) from None


def keep(constants: Constants) -> Path:
    """Write them for this user; returns where."""
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(constants), indent=2) + "\n", encoding="utf-8")
    return path


@dataclass(frozen=True)
class Memory:
    """The model that AdaptWID decides by, group by group.

    Bytes: of a kept row, of a cell, of an eager group besides its cells, and what a row adds to cells that keep its
    value. Nanoseconds: to read a kept row for all of its windows, to add a row to a cell, to take a cell through its
    windows.
    """

    row: float
    cell: float
    group: float
    value: float
    read: float
    add: float
    step: float

    def surplus(self, rows: npt.NDArray[Any], cells: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Bytes of rows over bytes of cells: above 1, cells are less (Cond. 6.9)."""
        eager = np.maximum(self.cell * cells + self.value * rows + self.group, 1.0)
        found: npt.NDArray[np.float64] = self.row * rows / eager
        return found

    def burden(self, rows: npt.NDArray[Any], cells: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """The surplus, times the time of rows over the time of cells.

        Bytes alone would keep rows that are a little less and are read again for hundreds of windows.
        """
        eager = np.maximum(self.add * rows + self.step * cells, 1.0)
        found: npt.NDArray[np.float64] = self.surplus(rows, cells) * (self.read * rows / eager)
        return found

    def least_rows(self, burden: float) -> float:
        """No group with fewer rows has more than this burden: the root of a quadratic, for rows of one cell."""
        base = self.cell + self.group
        square = self.row * self.read - burden * self.value * self.add
        linear, constant = burden * (base * self.add + self.value * self.step), burden * base * self.step
        if square <= 0:
            return float("inf")
        return (linear + sqrt(linear * linear + 4 * square * constant)) / (2 * square)


@dataclass(frozen=True)
class StateShape:
    """What a query keeps: state columns that add, that keep the greatest, that keep pairs; arguments; values a row."""

    adds: int = 1
    maxs: int = 0
    pairs: int = 0
    arguments: int = 0
    values: int = 0

    @property
    def columns(self) -> int:
        return self.adds + self.maxs + self.pairs

    def open_cell(self, constants: Constants = MEASURED) -> float:
        """Bytes of an open cell without room to grow."""
        return constants.open_cell + COLUMN * self.columns

    def memory(self, window: Sliding, row: float | None = None, constants: Constants = MEASURED) -> Memory:
        """The memory model of AdaptWID; `row`, where it is known, is the weight of a kept row."""
        if row is None:
            row = constants.kept_row + constants.kept_argument * self.arguments
        values = constants.value * self.values
        read = constants.kept_again * -(-window.range // window.slide)
        add = constants.row_again if values else constants.row_to_pane  # values are sorted here and there
        if window.is_tumbling:  # closed cells are answers at once
            cell = constants.tight_room * self.open_cell(constants)
            return Memory(row, cell, 0.0, values, read, add, constants.pane_out)
        closed = constants.closed_cell + COLUMN * (self.columns + self.maxs + self.pairs)
        group = constants.group_room * (constants.group + COLUMN * self.columns)
        step = constants.pane_out + 2 * constants.pane_to_window
        return Memory(row, constants.closed_room * closed, group, values, read, add, step)


@dataclass(frozen=True)
class Statistics:
    """What is known of a stream: groups in a window, rows a pane and group, how long windows stay open.

    `lag` is how many panes beyond RANGE pass until a window closes (the thesis' `wed` less RANGE). Where groups differ,
    `kinds` says how: (groups, rows) of each kind of group, and `groups` and `rows` are those of all.
    """

    groups: float
    rows: float
    lag: float = 0.0
    kinds: tuple[tuple[float, float], ...] = ()

    def by_kind(self) -> list[Statistics]:
        """For each kind of group, as if there were no other."""
        kinds = self.kinds or ((self.groups, self.rows),)
        return [replace(self, groups=groups, rows=rows, kinds=()) for groups, rows in kinds]


@dataclass(frozen=True)
class Estimate:
    """The cost of a strategy: nanoseconds a window, bytes at the most."""

    time: float
    memory: float


def thesis_time(
    window: Sliding, stats: Statistics, *, panes: bool, differential: bool, constants: Constants = MEASURED
) -> float:
    """Eq. 6.1 to 6.4: nanoseconds a window, with or without panes, for aggregates that can subtract or not.

    The thesis writes 6.1 and 6.2 for a slide of one pane; a longer one closes as many panes as it has.
    """
    size = gcd(window.range, window.slide)
    per_window, per_slide = window.range // size, window.slide // size
    rows, cells = stats.groups * stats.rows, stats.groups * _share_filled(stats.rows)
    if not panes:
        return constants.row_to_window * rows * (2 * per_slide if differential else per_window)
    below = (constants.row_to_pane * rows + constants.pane_out * cells) * per_slide
    return below + constants.pane_to_window * cells * (2 * per_slide if differential else per_window)


def estimates(
    window: Sliding, shape: StateShape, stats: Statistics, constants: Constants = MEASURED
) -> dict[Strategy, Estimate]:
    """Time a window and memory of each strategy, added up over the kinds of groups."""
    parts = [_estimates(window, shape, part, constants) for part in stats.by_kind()]
    return {
        strategy: Estimate(sum(p[strategy].time for p in parts), sum(p[strategy].memory for p in parts))
        for strategy in parts[0]
    }


def _estimates(window: Sliding, shape: StateShape, stats: Statistics, constants: Constants) -> dict[Strategy, Estimate]:
    """For groups of one kind. To the formulas comes what the thesis leaves out: WID's cells leave as panes' do.

    Panes subtract, or use two stacks, which cost the same but for a third step: Eq. 6.2 for all aggregates. In
    tumbling windows a pane is the answer.
    """
    panes = window.range // gcd(window.range, window.slide)
    rows, answers = stats.groups * stats.rows * panes, stats.groups * _share_filled(stats.rows * panes)
    plain = thesis_time(window, stats, panes=False, differential=False, constants=constants)
    paned = thesis_time(window, stats, panes=True, differential=True, constants=constants)
    if window.is_tumbling:
        paned = constants.row_to_pane * rows + constants.pane_out * answers
    memory = state_bytes(window, shape, stats, constants)
    times = {
        Strategy.WID: plain + constants.pane_out * answers,
        Strategy.PANES: paned,
        Strategy.BUFFER: constants.row_again * rows,
        Strategy.ADAPTIVE: constants.kept_again * rows if _is_lazy(window, shape, stats, constants) else paned,
    }
    return {strategy: Estimate(time, memory[strategy]) for strategy, time in times.items()}


def state_bytes(
    window: Sliding, shape: StateShape, stats: Statistics, constants: Constants = MEASURED
) -> dict[Strategy, float]:
    """Eq. 6.5 and 6.8 for each strategy: bytes at the most."""
    size = gcd(window.range, window.slide)
    panes = window.range // size + stats.lag
    rows, values = stats.rows * panes, constants.value * shape.values
    cells = panes * _share_filled(stats.rows)
    open_cell = constants.open_room * shape.open_cell(constants)
    model = shape.memory(window, constants=constants)
    eager = model.cell * cells + model.value * rows + model.group
    lazy = _is_lazy(window, shape, stats, constants)
    each = {
        Strategy.WID: open_cell * min(cells * window.range, panes * size) / window.slide + values / 2 * rows,
        Strategy.PANES: open_cell * cells + values * rows if window.is_tumbling else eager,
        Strategy.BUFFER: (constants.buffered_row + constants.kept_argument * shape.arguments) * rows,
        Strategy.ADAPTIVE: model.row * rows if lazy else eager,
    }
    return {strategy: stats.groups * bytes_a_group for strategy, bytes_a_group in each.items()}


def _is_lazy(window: Sliding, shape: StateShape, stats: Statistics, constants: Constants) -> bool:
    panes = window.range // gcd(window.range, window.slide) + stats.lag
    rows, cells = stats.rows * panes, panes * _share_filled(stats.rows)
    burden = shape.memory(window, constants=constants).burden(np.array([rows]), np.array([cells]))
    return bool(burden[0] <= 1)


def _share_filled(rows: float) -> float:
    """The share of panes in which a group with so many rows a pane, at any times, has one."""
    return 1 - exp(-rows)
