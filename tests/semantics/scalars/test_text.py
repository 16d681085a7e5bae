from __future__ import annotations

import pytest

from windrow.semantics.scalars.text import like, replace, substring, trim


@pytest.mark.parametrize(
    ("expected", "value", "pattern"),
    [
        (True, "UBSN.VX", "UBS%"),
        (True, "abc", "a_c"),
        (False, "abc", "a_"),
        (True, "", "%"),
        (False, "", "_"),
        (True, "a\nb", "a%b"),
        (True, "a.c", "a.c"),
        (False, "abc", "a.c"),
        (True, "50%", r"50\%"),
        (False, "50x", r"50\%"),
        (True, r"a\b", r"a\\b"),
        (True, "a_b", r"a\_b"),
        (False, "ABC", "abc"),
        (True, "äöü", "_ö_"),
    ],
)
def test_like(expected: bool, value: str, pattern: str) -> None:
    assert expected is like(value, pattern)


@pytest.mark.parametrize(
    ("expected", "start", "length"),
    [
        ("row", 5, None),
        ("wind", 1, 4),
        ("wind", 0, 4),
        ("ro", -3, 2),
        ("wi", -9, 4),
        ("", 1, 0),
        ("", 3, -1),
        ("", 9, 2),
        ("w", 7, 9),
    ],
)
def test_substring(expected: str, start: int, length: int | None) -> None:
    assert expected == substring("windrow", start, length)


def test_replace_and_trim() -> None:
    assert "b-b" == replace("a-a", "a", "b")
    assert "aa" == replace("aa", "", "b")
    assert "\ta b" == trim("  \ta b ")
