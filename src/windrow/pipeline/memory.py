"""A limit for kept rows: how it is written, and the operators that share it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from windrow.errors import ConfigurationError
from windrow.operators.store.budget import LEAST, Budget
from windrow.pipeline.graph import Stage
from windrow.plan.compression import CompressionMode
from windrow.plan.nodes import Node, WindowAggregate, walk

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def bytes_of(memory: Any, parameter: str = "memory") -> int:
    """A size in bytes, or as text with a unit.

    >>> bytes_of("2 GB"), bytes_of("512MiB"), bytes_of(4_000_000)
    (2000000000, 536870912, 4000000)
    """
    found = _SIZE.fullmatch(memory.strip()) if isinstance(memory, str) else None
    if found:
        number, unit, binary = found.groups()
        size = int(float(number) * (1024 if binary else 1000) ** _UNITS[unit.lower()])
    elif isinstance(memory, int) and not isinstance(memory, bool):
        size = memory
    else:
        raise ConfigurationError(
            "must be a size", parameter=parameter, value=memory, hint="write it as '2 GB' or '512 MB', or in bytes"
        )
    if not LEAST <= size < 1 << 62:
        raise ConfigurationError(
            "must be at least 1 MiB, and below 2^62 bytes",
            parameter=parameter,
            value=memory,
            hint="what is sealed at once has to fit; leave it out for no limit",
        )
    return size


def refuse_plain_rows(plans: Iterable[Node], parameter: str = "memory") -> None:
    """Rows that were asked to be kept as they are cannot go to the disk."""
    for plan in plans:
        for node in walk(plan):
            if isinstance(node, WindowAggregate) and node.compression.mode is CompressionMode.OFF:
                raise ConfigurationError(
                    "needs kept rows in blocks",
                    parameter=parameter,
                    value="COMPRESS off",
                    hint="leave COMPRESS off out, or the limit",
                )


def limit(stages: Iterable[Stage], memory: int) -> None:
    """Let the kept rows of all operators share one limit; less than what is sealed at once is no limit."""
    shared = Budget(max(LEAST, memory))
    for stage in stages:
        for budget in stage.operator.budgets:
            budget.share(shared)
