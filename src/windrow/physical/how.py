"""How plans are to be executed: what an engine asks for, and what it knows of the streams."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from windrow.errors import ConfigurationError
from windrow.physical.costs import MEASURED, Constants, Statistics


class When(Enum):
    """When closed windows are given."""

    EAGER = "eager"
    """All of them with the punctuation that closes them."""
    SLOW = "slow"
    """A slice after each element of the input."""
    LAZY = "lazy"
    """As slow, but only in the last window before they are due; until then cells leave by being driven out."""


@dataclass(frozen=True)
class Flush:
    """How windows are flushed. Slices are of `rows` groups; `windows` is the most that results are behind.

    `cells` is the size of the low level's table, rounded up to a power of two.
    """

    when: When = When.EAGER
    rows: int = 1 << 13
    windows: int = 2
    cells: int = 1 << 16

    @property
    def places(self) -> int:
        return 1 << (self.cells - 1).bit_length()


EAGER = Flush()


def flush_of(options: Any) -> Flush:
    """What the options of an engine say, or an error that names the one that is wrong."""
    ways = tuple(way.value for way in When)
    if options.flush not in ways:
        raise ConfigurationError("must be a way to flush", parameter="flush", value=options.flush, allowed=ways)
    sizes = {name: getattr(options, name) for name in ("flush_rows", "flush_windows", "flush_cells")}
    for name, value in sizes.items():
        if value < 1:
            raise ConfigurationError("must be at least 1", parameter=name, value=value)
    return Flush(When(options.flush), *sizes.values())


@dataclass(frozen=True)
class How:
    """How plans run: on how many threads, what is known of the streams, and what costs to choose strategies by.

    With `trial`, strategies that nothing fixes are chosen by the first rows: for a process that sees all of them.
    `flush` says when closed windows are given. With `divided`, the work is divided among shards of several processes;
    `shards` are those of this one.
    """

    threads: int = 1
    statistics: Statistics | None = None
    constants: Constants = MEASURED
    trial: bool = False
    flush: Flush = EAGER
    divided: bool = False
    shards: int = 1
    """Among how many operators groups are divided where they can be; more than threads, or fewer, is allowed."""
