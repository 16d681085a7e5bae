"""What went wrong inside Spark, in the words of whoever must act.

Errors of the workers reach the driver as text: a Python traceback inside a Java one. Those that Windrow raised are
given back as they were; the common failures of Spark itself get a message with a way out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any

from windrow import errors
from windrow.engines.spark.session.known_faults import known
from windrow.errors import Position, WindrowError

_OURS = re.compile(r"^windrow\.errors\.(\w+): (.*?)(?=\n? SQLSTATE: |\n\n|\n\s+at [\w$./]+\(|\n=== |\Z)", re.M | re.S)
_SPARKS = ("pyspark", "py4j", "grpc")
_PLACE = re.compile(r"\nline (\d+), column (\d+):\n  (.*)\n  \s*(\^+)\Z")
_PARTS = re.compile(r"\A(?:`([^`]+)` )?(.*?)(?: Hint: (.*))?\.\Z", re.S)


def explained(error: Exception) -> Exception:
    """The error as a WindrowError where its cause is known, else the error itself."""
    if isinstance(error, WindrowError) or not _is_sparks(error):
        return error
    texts = list(_texts(error))
    ours = next((found for found in map(_ours, texts) if found is not None), None)
    return ours or known("\n".join(texts)) or error


@contextmanager
def clear_words() -> Iterator[None]:
    """What goes wrong in the block is raised as `explained` puts it."""
    try:
        yield
    except Exception as error:
        told = explained(error)
        if told is error:
            raise
        raise told from error


def _is_sparks(error: Exception) -> bool:
    """Asked by name: neither PySpark nor its gateway need be there to ask."""
    kinds = [kind.__module__ for kind in type(error).__mro__]
    places = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    return any(name.split(".")[0] in _SPARKS for name in [*kinds, *places[-1:]])


def _texts(error: BaseException | None) -> Iterator[str]:
    """What the error says, and what the errors behind it say: the first line often leaves out the cause."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield str(error)
        error = error.__cause__ or error.__context__


def _ours(text: str) -> WindrowError | None:
    """The error of Windrow's that a traceback ends with."""
    found = _OURS.findall(text)
    kind: Any = getattr(errors, found[-1][0], None) if found else None
    return rebuilt(kind, found[-1][1]) if isinstance(kind, type) and issubclass(kind, WindrowError) else None


def rebuilt(kind: type[WindrowError], message: str) -> WindrowError:
    """An error whose text is exactly this message.

    >>> again = rebuilt(WindrowError, "`time` must not be null, got null at row 3. Hint: filter it.")
    >>> again.parameter, again.hint, str(again)
    ('time', 'filter it', '`time` must not be null, got null at row 3. Hint: filter it.')
    """
    place = _PLACE.search(message)
    parts = _PARTS.match(message[: place.start()] if place else message)
    if parts is None:
        return kind(message.rstrip("."))
    parameter, rule, hint = parts.groups()
    return kind(
        rule.removesuffix("." if hint else ""), parameter=parameter, hint=hint, position=place and _position(place)
    )


def _position(place: re.Match[str]) -> Position:
    """The place, in a text that has only its line."""
    line, column, text, carets = place.groups()
    start = int(line) - 1 + int(column) - 1
    return Position("\n" * (int(line) - 1) + text, start, start + len(carets))
