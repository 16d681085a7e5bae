from __future__ import annotations

from collections.abc import Callable

import pytest

from windrow.errors import ConfigurationError
from windrow.generate.disorder import Band, BlockSorted, Disorder, InOrder, Lull, Skewed, parse_disorder


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", InOrder()),
        ("band 3 s", Band("3 s")),
        (" Block 60 s ", BlockSorted("60 s")),
        ("skewed 0 s, 10 s", Skewed(("0 s", "10 s"))),
    ],
)
def test_parse_disorder(text: str, expected: Disorder) -> None:
    assert expected == parse_disorder(text)


@pytest.mark.parametrize("text", ["", "band", "none 3 s", "chaos 3 s"])
def test_other_text_is_refused(text: str) -> None:
    pattern = (
        r"^`disorder` must be 'none', 'band DELAY', 'block LENGTH' or 'skewed OFFSET, OFFSET, \.\.\.', "
        rf"got {text}\. Hint: write it like 'band 3 s' or 'block 60 s'\.$"
    )
    with pytest.raises(ConfigurationError, match=pattern):
        parse_disorder(text)


@pytest.mark.parametrize(
    ("build", "pattern"),
    [
        (lambda: Band("-1 s"), r"^`max_delay` must not be negative, got -1 s\. Hint: write it like '3 s'\.$"),
        (lambda: BlockSorted("0 s"), r"^`block` must be longer than no time, got 0 s\. Hint: write it like '3 s'\.$"),
        (lambda: Lull("-1 s", "1 s"), r"^`start` must not be negative, got -1 s\. Hint: .*\.$"),
        (
            lambda: Lull("1 s", "1 s", source=-1),
            r"^`source` must be a whole number from 0 on, got -1\. Hint: give 0 or more\.$",
        ),
        (
            lambda: Skewed(()),
            r"^`offsets` must name how far each source runs behind, got \(\)\. "
            r"Hint: give one duration a source, like \('0 s', '10 s'\)\.$",
        ),
        (
            lambda: Skewed(("0 s",), (Lull("1 s", "1 s", source=1),)),
            r"^`lulls` must be of one of the 1 sources, counted from 0, got a lull of source 1\. "
            r"Hint: give `offsets` one entry a source\.$",
        ),
    ],
)
def test_patterns_that_cannot_be(build: Callable[[], object], pattern: str) -> None:
    with pytest.raises(ConfigurationError, match=pattern):
        build()
