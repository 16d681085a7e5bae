"""Whose turn it is, what is read ahead, and who is passed by."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from windrow.engines.local.reading import ReadAheadReader
from windrow.semantics.progress.policies import Punctuation
from windrow.sources import Element, Sign
from windrow.sources.base import ElementReader


def numbered(count: int, *, broken: bool = False) -> Iterator[Punctuation]:
    yield from map(Punctuation, range(count))
    if broken:
        raise OSError("the disk is gone")


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "windrow-reader"]


def read_ahead(elements: Iterator[Element], depth: int = 2) -> ReadAheadReader:
    return ReadAheadReader(ElementReader(elements), depth)


def test_the_elements_are_the_same_and_in_order_with_their_positions() -> None:
    ahead = read_ahead(numbered(50), depth=3)
    plain = ElementReader(numbered(50))
    assert plain.position == ahead.position
    for _ in range(51):
        assert (plain.poll(), plain.position) == (ahead.poll(), ahead.position)
    assert Sign.END is ahead.poll()


def test_an_error_comes_after_the_elements_before_it() -> None:
    ahead = read_ahead(numbered(5, broken=True))
    assert [Punctuation(i) for i in range(5)] == [ahead.poll() for _ in range(5)]
    with pytest.raises(OSError, match=r"^the disk is gone$"):
        ahead.poll()


def test_a_reader_that_nobody_listens_to_stops() -> None:
    before = set(threads())  # other tests may have left some that wait for good
    ahead = read_ahead(numbered(1000), depth=1)
    assert Punctuation(0) == ahead.poll()
    (thread,) = set(threads()) - before
    ahead.close()
    thread.join(timeout=5)
    assert not thread.is_alive()
