"""Which rows of a block are meant, found by its bounds where they say so, and the rows that are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from windrow.operators.store.row_block import Mask, RowBlock

Meant: TypeAlias = "Mask | bool | slice"
Test: TypeAlias = Callable[[RowBlock], Meant]
"""Which rows of a block are meant: a mask, a stretch of them, or one answer for all."""


def below(name: str, value: int) -> Test:
    """Rows whose column is below a value; most blocks are not looked into."""

    def test(rows: RowBlock) -> Meant:
        least, most = rows.span(name)
        if not least < value <= most:
            return most < value
        return slice(rows.search(name, value)) if rows.by[:1] == (name,) else rows[name] < value

    return test


def between(name: str, start: int, end: int) -> Test:
    """Rows with start <= column < end."""

    def test(rows: RowBlock) -> Meant:
        least, most = rows.span(name)
        if end <= least or most < start or (start <= least and most < end):
            return start <= least and most < end
        if rows.by[:1] == (name,):
            return slice(rows.search(name, start), rows.search(name, end))
        values = rows[name]
        return (values >= start) & (values < end)

    return test


def chosen(block: RowBlock, meant: Meant) -> RowBlock:
    """Some rows of a block, itself when they are all."""
    if isinstance(meant, bool):
        return block if meant else block.take(slice(0))
    return block if not isinstance(meant, slice) and meant.all() else block.take(meant)


def others(block: RowBlock, meant: Meant) -> list[RowBlock]:
    """The other rows of a block."""
    if isinstance(meant, slice):
        start, stop, _ = meant.indices(len(block))
        return [block.take(slice(start)), block.take(slice(stop, None))]
    return [chosen(block, not meant if isinstance(meant, bool) else ~meant).numbered(block.first)]
