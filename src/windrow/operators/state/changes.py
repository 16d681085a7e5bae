"""What changed in state since it was last saved, noted by the structures that change it.

State is named tables. Most are small, or change as a whole: a structure gives those as they are, and they are compared
when saved. Three kinds know better, so that saving need not look at what stayed:

- `Stamped`: the same as long as its stamp is the same object.
- `Appended`: rows are only added behind the others.
- `Tracked`: cells by place and code, each at most once, with `Marks` of those that were touched.

Nothing relies on who saves: a stamp is compared with the one that this very save left. Where they differ, because the
state was restored, converted or saved elsewhere in between, everything counts as changed and is compared.
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
    """A table that is the same as long as its stamp is the same object."""

    stamp: object
    make: Callable[[], pa.Table]


@dataclass(frozen=True)
class Appended:
    """A table that only grows, as long as its stamp is the same object; `make(start, end)` gives some of its rows."""

    stamp: object
    count: int
    make: Callable[[int, int], pa.Table]


@dataclass(frozen=True)
class Tracked:
    """Cells, each place and code at most once, with marks of those that changed; `make` gives the chosen of them.

    What it makes has the columns `place` and `code`.
    """

    marks: Marks
    places: Integers
    codes: npt.NDArray[np.int32]
    make: Callable[[Chosen], pa.Table]

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
