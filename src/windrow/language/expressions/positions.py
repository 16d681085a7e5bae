"""Where things are in the query text, so that every error has its caret."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

from sqlglot import exp

from windrow.errors import Position, WindrowError
from windrow.language.grammar.clauses import TextSpan


def position(text: str, span: TextSpan) -> Position:
    return Position(text, span.start, span.end)


def span_of(node: exp.Expr) -> TextSpan:
    """The stretch of text a syntax tree comes from, first word to last; that of its parent when it knows no place."""
    marks = [part.meta for part in node.walk() if part.meta.get("start") is not None]
    if not marks:
        return span_of(node.parent) if node.parent else TextSpan(0, 1)
    return TextSpan(min(mark["start"] for mark in marks), max(mark["end"] for mark in marks) + 1)


def place(text: str, node: exp.Expr) -> Position:
    """The position of a syntax tree in its text."""
    return position(text, span_of(node))


def head(text: str, node: exp.Expr) -> Position:
    """The position of the first word of a tree that knows its own (a function's name), else of the whole tree."""
    mark = node.meta
    return Position(text, mark["start"], mark["end"] + 1) if mark.get("start") is not None else place(text, node)


@contextmanager
def pointing(where: Position) -> Iterator[None]:
    """Give any error raised inside its place in the text, unless it knows a nearer one."""
    try:
        yield
    except WindrowError as error:
        raise error.at(where) from None


def find_name(name: str, names: Iterable[str]) -> str | None:
    """The name exactly as given, else the only one that differs in case alone.

    >>> find_name("Time", ["time", "price"])
    'time'
    """
    names = names if isinstance(names, Collection) else list(names)
    if name in names:
        return name
    alike = [known for known in names if known.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """A hint that names the nearest known word, or says what there is."""
    spelled = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), spelled, n=1, cutoff=0.7)
    return f"did you mean {spelled[near[0]]}" if near else otherwise
