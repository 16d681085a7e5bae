"""What flows between operators, and what an operator is.

An operator is a function on streams: batches and punctuations in, batches and punctuations out. It never looks at
a file, nor at a clock (but for a union with a wall-clock idle time), and its whole state can be written as named Arrow
tables and read back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.state.changes import State
from windrow.operators.store.budget import Budget
from windrow.semantics.progress.policies import Punctuation

if TYPE_CHECKING:
    from windrow.operators.aggregate.partials import SharedCells

Mask: TypeAlias = npt.NDArray[np.uint8]
_NO_TIMES: Integers = np.empty(0, np.int64)


@dataclass(frozen=True)
class Batch:
    """Rows with their progressing attribute as int64, and which of them are selected (None: all).

    Filters mark rows instead of copying the others; the next operator that must touch rows reads only those marked.
    """

    data: pa.RecordBatch
    times: Integers
    selected: Mask | None = None
    source: str = ""
    bounds: Integers | None = None
    """The bound in force as each row came, where it moved between rows that are given together."""

    @staticmethod
    def unread(data: pa.RecordBatch) -> Batch:
        """Rows of a source; the input operator finds their times."""
        return Batch(data, _NO_TIMES)

    def slice(self, start: int, end: int) -> Batch:
        selected = None if self.selected is None else self.selected[start:end]
        bounds = None if self.bounds is None else self.bounds[start:end]
        return Batch(self.data.slice(start, end - start), self.times[start:end], selected, self.source, bounds)

    def where(self, chosen: npt.NDArray[np.bool_]) -> Batch:
        """Some rows of a compact batch."""
        return replace(self, selected=chosen.view(np.uint8)).compact()

    def compact(self) -> Batch:
        """The selected rows only."""
        if self.selected is None:
            return self
        keep = self.selected.view(np.bool_)
        bounds = None if self.bounds is None else self.bounds[keep]
        return Batch(self.data.filter(pa.array(keep)), self.times[keep], None, self.source, bounds)

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class GroupPunctuations:
    """Promises for single groups: no later row with the values of `groups[i]` in those columns is below `values[i]`.

    They come in whole arrays, because there may be as many as groups. One that promises less than is known says
    nothing.
    """

    groups: pa.RecordBatch
    values: Integers

    def __len__(self) -> int:
        return len(self.values)

    def above(self, bound: int) -> GroupPunctuations:
        """Those that promise more."""
        more = self.values > bound
        return GroupPunctuations(self.groups.filter(pa.array(more)), self.values[more])


@dataclass(frozen=True)
class LateRows:
    """Rows that missed windows: the rows, how late they were, which windows they missed."""

    data: pa.RecordBatch


@dataclass(frozen=True)
class EarlyRows:
    """Rows that are too far ahead, on their way to where they are counted; `batch.bounds` is what each is ahead of.

    They take the way of all rows up to the first operator that remembers any: filters leave some out, expressions and
    unions change their columns.
    """

    batch: Batch

    def __len__(self) -> int:
        return len(self.batch)


Element: TypeAlias = "Batch | Punctuation | GroupPunctuations | LateRows | EarlyRows | SharedCells"


@dataclass
class Counters:
    """What an operator has done with its rows."""

    rows_in: int = 0
    filtered: int = 0
    late: int = 0
    uncorrected: int = 0
    """Of the late rows, those that came too late even for a correction, where there are corrections."""
    early: int = 0
    results: int = 0


class Operator(ABC):
    """One physical operator. What is not abstract is, unless overridden, as for one that keeps nothing."""

    counters: Counters
    makes_results: bool = False
    """Whether what comes out are results of its own, not the rows that came in."""

    @abstractmethod
    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        """Take rows in; give whatever can be said at once."""

    @abstractmethod
    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        """Take a promise in; give the results it completes, then the promise that now holds of the output."""

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        """The same for promises for single groups. Where rows wait, or meet those of other groups, they say nothing."""
        return ()

    def set_aside(self, early: EarlyRows, port: int = 0) -> Iterable[Element]:
        """Take rows in that are too far ahead: count them, and pass them on or give them out where late ones are."""
        self.counters.early += len(early.batch.compact())
        return ()

    @abstractmethod
    def state(self) -> State:
        """Everything it remembers, as named tables, some of which know what changed of them."""

    @abstractmethod
    def restore(self, tables: dict[str, pa.Table]) -> None:
        """Remember what `state` gave, each table as a whole."""

    def late_rows(self, port: int) -> int:
        """Rows that came in at a port and were late."""
        return self.counters.late

    def lost_rows(self, port: int) -> int:
        """Of these, the ones that are missing in some answer for good."""
        return self.late_rows(port)

    @property
    def open_windows(self) -> int:
        return 0

    @property
    def stored_rows(self) -> int:
        """Rows that are kept for those that may still meet them."""
        return 0

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """What its kept rows in blocks count for."""
        return ()

    @property
    def state_bytes(self) -> int:
        return 0

    @property
    def settled(self) -> list[str] | None:
        """The strategy that runs and the reasons for it, once that is settled; None where there is no choice."""
        return None

    @property
    def waiting_and_evicted(self) -> tuple[int, int]:
        """Cells of closed windows not given yet, and cells that others drove out of the low level's table."""
        return 0, 0


class Stateless(Operator):
    """What operators that remember nothing share: punctuations pass, and early rows are treated as others are."""

    def __init__(self) -> None:
        self.counters = Counters()

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        yield punctuation

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        yield punctuations

    def set_aside(self, early: EarlyRows, port: int = 0) -> Iterable[Element]:
        for batch in self.process(early.batch, port):
            assert isinstance(batch, Batch)
            yield EarlyRows(batch)

    def state(self) -> dict[str, pa.Table]:
        return {}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        pass
