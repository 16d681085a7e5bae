"""Functions on text, none of their arguments NULL. Lengths and positions count characters (code points)."""

from __future__ import annotations

import re
from functools import lru_cache


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    parts = re.findall(r"\\[%_\\]|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    return re.compile("".join(wild.get(part) or re.escape(part[-1]) for part in parts), re.DOTALL)


def like(value: str, pattern: str) -> bool:
    r"""Whether the whole text fits: `%` is any run of characters, `_` any one; a backslash takes them literally.

    >>> like("UBSN.VX", "UBS%"), like("abc", "a_"), like("50%", r"50\%")
    (True, False, True)
    """
    return _pattern(pattern).fullmatch(value) is not None


def substring(value: str, start: int, length: int | None = None) -> str:
    """The characters from `start` (1 is the first, negative counts from the end) on, at most `length` of them.

    >>> substring("windrow", 5), substring("windrow", 1, 4), substring("windrow", -3, 2)
    ('row', 'wind', 'ro')
    """
    first = start - 1 if start > 0 else start + len(value) if start < 0 else 0
    last = len(value) if length is None else first + length
    return value[max(0, first) : max(0, last)]


def replace(value: str, old: str, new: str) -> str:
    """Every `old` replaced by `new`; an empty `old` changes nothing."""
    return value.replace(old, new) if old else value


def trim(value: str) -> str:
    """Without the spaces at both ends; other white space stays, as in SQL."""
    return value.strip(" ")
