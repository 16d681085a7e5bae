"""Where things are in the query text, so that every error has its caret."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlglot import exp

from windrow.errors import Position, WindrowError
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Node
from windrow.plan.types.expressions import nearest

AnyNode = TypeVar("AnyNode", bound=Node)
TEXT = "text"
"""The key under which the root of a syntax tree carries the text that it was read from."""


def place(node: exp.Expr) -> Position:
    """Where a syntax tree comes from, first word to last; the place of its parent when it knows none."""
    marks = [part.meta for part in node.walk() if part.meta.get("start") is not None]
    if not marks and node.parent:
        return place(node.parent)
    start, end = min((mark["start"] for mark in marks), default=0), max((mark["end"] for mark in marks), default=0)
    return Position(node.root().meta[TEXT], start, end + 1)


def head(node: exp.Expr) -> Position:
    """The position of the first word of a tree that knows its own (a function's name), else of the whole tree."""
    mark = node.meta
    if mark.get("start") is None:
        return place(node)
    return Position(node.root().meta[TEXT], mark["start"], mark["end"] + 1)


def spelling(node: exp.Expr) -> str:
    """The text a syntax tree was read from.

    For a tree whose end has no place of its own (a closing parenthesis) the text stops before it.
    """
    where = place(node)
    return where.text[where.start : where.end]


def checked(node: AnyNode, where: Position) -> AnyNode:
    """The node; what is wrong with it is shown at a place in the text."""
    with pointing(where):
        shape_of(node)
    return node


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
