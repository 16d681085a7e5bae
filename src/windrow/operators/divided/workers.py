"""Threads that work side by side on parts of one thing, and wait for each other when it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


@lru_cache(maxsize=8)
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads are made when they are first needed and wait for the next run when one is over."""
    return ThreadPoolExecutor(threads, thread_name_prefix="windrow-worker")


def each(function: Callable[[Item], Made], items: Sequence[Item], threads: int) -> list[Made]:
    """What a function makes of each item, in order, on so many threads; none is still running when this returns.

    >>> each(abs, [-1, 2, -3], threads=2)
    [1, 2, 3]
    """
    if threads == 1 or len(items) < 2:
        return [function(item) for item in items]
    running = [_pool(threads).submit(function, item) for item in items]
    failures = [error for error in (future.exception() for future in running) if error is not None]
    if failures:
        raise failures[0]
    return [future.result() for future in running]
