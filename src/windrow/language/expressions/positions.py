"""Where things are in the query text, so that every error has its caret."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from sqlglot import exp

from windrow.errors import Position, WindrowError
from windrow.plan.types.expressions import nearest


def place(text: str, node: exp.Expr) -> Position:
    """Where a syntax tree comes from, first word to last; the place of its parent when it knows none."""
    marks = [part.meta for part in node.walk() if part.meta.get("start") is not None]
    if not marks:
        return place(text, node.parent) if node.parent else Position(text, 0, 1)
    return Position(text, min(mark["start"] for mark in marks), max(mark["end"] for mark in marks) + 1)


def head(text: str, node: exp.Expr) -> Position:
    """The position of the first word of a tree that knows its own (a function's name), else of the whole tree."""
    mark = node.meta
    return Position(text, mark["start"], mark["end"] + 1) if mark.get("start") is not None else place(text, node)


def spelling(text: str, node: exp.Expr) -> str:
    """The text a syntax tree was read from.

    For a tree whose end has no place of its own (a closing parenthesis) the text stops before it.
    """
    where = place(text, node)
    return text[where.start : where.end]


@contextmanager
def pointing(where: Position) -> Iterator[None]:
    """Give any error raised inside its place in the text, unless it knows a nearer one."""
    try:
        yield
    except WindrowError as error:
        raise error.at(where) from None


def find_name(name: str, names: Collection[str]) -> str | None:
    """The name exactly as given, else the only one that differs in case alone.

    >>> find_name("Time", ["time", "price"])
    'time'
    """
    if name in names:
        return name
    alike = [known for known in names if known.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """A hint that names the nearest known word, or what there is."""
    near = nearest(word, known, cutoff=0.7)
    return f"did you mean {near}" if near else otherwise
