"""Reading ahead gives the same elements, errors in their place, and stops when nobody listens."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from windrow.engines.local.reading import read_ahead
from windrow.semantics.progress.policies import Punctuation


def numbered(count: int, *, broken: bool = False) -> Iterator[Punctuation]:
    yield from map(Punctuation, range(count))
    if broken:
        raise OSError("the disk is gone")


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "windrow-reader"]


def test_the_elements_are_the_same_and_in_order() -> None:
    assert list(numbered(50)) == list(read_ahead(numbered(50), depth=3))


def test_an_error_comes_after_the_elements_before_it() -> None:
    ahead = read_ahead(numbered(5, broken=True))
    assert [Punctuation(i) for i in range(5)] == [next(ahead) for _ in range(5)]
    with pytest.raises(OSError, match=r"^the disk is gone$"):
        next(ahead)


def test_a_reader_that_nobody_listens_to_stops() -> None:
    before = set(readers())  # other tests may have left some that wait for good
    ahead = read_ahead(numbered(1000), depth=1)
    assert Punctuation(0) == next(ahead)
    (thread,) = set(readers()) - before
    ahead.close()
    thread.join(timeout=5)
    assert not thread.is_alive()
