"""What changed in state since it was last saved, noted by the structures that change it.

State is named tables. Most are small, or change as a whole: a structure gives those as they are, and they are compared
when saved. Three kinds know better, so that saving need not look at what stayed:

- `Stamped`: the same as long as its stamp is the same object.
- `Appended`: rows are only added behind the others.
- `Tracked`: cells by place and code, each at most once, with `Marks` of those that were touched.

Nothing relies on who saves: a stamp is compared with the one that this very save left. Where they differ, because the
state was restored, converted or saved elsewhere in between, or because that save failed, everything counts as changed
and is compared.

State is taken at one moment and written later, by another thread, while the structures change. So what a structure
gives says of itself whether it stays as it is; what does not is copied when it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers

Flags: TypeAlias = npt.NDArray[np.bool_]
Chosen: TypeAlias = "Integers | slice"
NO_FLAGS: Flags = np.empty(0, np.bool_)


class Marks:
    """Which rows of a table were touched, and which are new, since it was last saved.

    Before the first save nothing is noted, so a run without checkpoints pays nothing.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Everything may have changed."""
        self.stamp = object()
        self.is_noting = False
        self.touched = self.new = NO_FLAGS

    def begin(self, rows: int) -> object:
        """All rows were saved; from here on changes are noted. Returns the stamp that stays until all may change."""
        self.stamp = object()
        self.is_noting = True
        self.touched, self.new = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
        return self.stamp

    def touch(self, rows: npt.NDArray[Any]) -> None:
        """These rows were changed."""
        if self.is_noting:
            self.touched[rows] = True

    def add(self, before: int, after: int) -> None:
        """The rows from `before` up to `after` were added; `before` were there."""
        if self.is_noting and after > before:
            if after > len(self.new):
                more = np.zeros(max(after, 2 * len(self.new)) - len(self.new), np.bool_)
                self.touched, self.new = np.concatenate([self.touched, more]), np.concatenate([self.new, more])
            self.new[before:after] = True

    def keep(self, rows: Chosen) -> None:
        """Only these rows are left, in this order."""
        if self.is_noting:
            self.touched, self.new = self.touched[rows].copy(), self.new[rows].copy()


@dataclass(frozen=True)
class Stamped:
    """A table that is the same as long as its stamp is the same object.

    With `lasts`, what `make` reads never changes, so that it may be called at any later time, by any thread.
    """

    stamp: object
    make: Callable[[], pa.Table]
    lasts: bool = False


def lasting(make: Callable[[], pa.Table]) -> Stamped:
    """A table that may have changed since the last save, made of what changes no more, when it is written."""
    return Stamped(object(), make, lasts=True)


@dataclass(frozen=True)
class Appended:
    """A table that only grows, as long as its stamp is the same object; `make(start, end)` gives some of its rows.

    It may be called at any later time, by any thread: the rows that are counted stay as they are.
    """

    stamp: object
    count: int
    make: Callable[[int, int], pa.Table]


@dataclass(frozen=True)
class HeldCells:
    """Cells that nobody changes; `make` gives the chosen of them, with the columns `place` and `code`."""

    places: Integers
    codes: npt.NDArray[np.int32]
    make: Callable[[Chosen], pa.Table]

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True)
class Tracked:
    """Cells, each place and code at most once, with marks of those that changed.

    `hold` gives the chosen of them as they are now, to be written while these change.
    """

    marks: Marks
    places: Integers
    codes: npt.NDArray[np.int32]
    hold: Callable[[Chosen], HeldCells]

    def __len__(self) -> int:
        return len(self.places)


Saved: TypeAlias = "pa.Table | Stamped | Appended | Tracked"
State: TypeAlias = Mapping[str, Saved]


def nested(parts: Mapping[str, State]) -> dict[str, Saved]:
    """The tables of several parts, each behind the prefix of its part."""
    return {f"{prefix}{name}": table for prefix, state in parts.items() for name, table in state.items()}


def under(prefix: str, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables of one part, by their own names."""
    return {name.removeprefix(prefix): table for name, table in tables.items() if name.startswith(prefix)}
