"""Rows among the elements of an iterable, put together, because a batch of one row costs as much as one of many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from math import inf
from typing import Any

from windrow.sources.iterables.dict_rows import is_row
from windrow.sources.iterables.read_ahead import ReadAhead


class Rows(list[Any]):
    """Dict rows that came one after another."""


def gathered(elements: Iterable[Any], batch_rows: int) -> Iterator[Any]:
    """The elements in order, neighbouring dict rows as `Rows` of up to `batch_rows`."""
    rows = Rows()
    for element in elements:
        row = is_row(element)
        if row:
            rows.append(element)
        if rows and (not row or len(rows) == batch_rows):
            yield rows
            rows = Rows()
        if not row:
            yield element
    if rows:
        yield rows


def gathered_in_time(
    elements: Iterator[Any], batch_rows: int, wait: float | None, on_wait: Callable[[], bool] | None
) -> Iterator[Any]:
    """The same, but no row waits for others longer than `wait` seconds while the next element does not come.

    Whole batches wait for nothing, so up to the first row the elements are read right here, unless `on_wait` is to be
    called while none comes.
    """
    if on_wait is None:
        for element in elements:
            if is_row(element):
                break
            yield element
        else:
            return
        elements = chain([element], elements)
    ahead = ReadAhead(elements, rows=batch_rows, on_wait=on_wait)
    try:
        while taken := ahead.take(batch_rows, inf if wait is None else wait):
            yield Rows(taken) if is_row(taken[0]) else taken[0]
    finally:
        ahead.stop()
