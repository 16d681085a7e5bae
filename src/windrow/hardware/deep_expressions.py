"""Room for deep expressions: Amaranth walks them by recursion, and the union of many modules is a deep one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

DEPTH = 10_000


@contextmanager
def deep_expressions() -> Iterator[None]:
    """While circuits are made, simulated or written, functions may call each other this deeply."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
