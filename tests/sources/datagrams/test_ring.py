"""The ring: what follows one another is taken together, nothing waits for long, and a full one holds the thread up."""

from __future__ import annotations

from threading import Thread
from typing import Any

import pytest

from windrow.semantics.progress.policies import Punctuation
from windrow.sources.base import Sign
from windrow.sources.datagrams.records import ColumnBlock, Piece
from windrow.sources.datagrams.ring import Lines, Refused, Ring
from windrow.sources.rejects import Reject

BLOCK = ColumnBlock((), 100)
OTHER = ColumnBlock((), 100)


def piece(start: int, end: int, block: ColumnBlock = BLOCK) -> Piece:
    return Piece(block, start, end, [])


def extent(item: Any) -> tuple[int, int]:
    assert isinstance(item, Piece)
    return item.start, item.end


def test_rows_that_follow_one_another_are_taken_together() -> None:
    ring = Ring(1000)
    for item in (piece(0, 3), piece(3, 5), piece(0, 4, OTHER)):
        ring.put(item, 8)
    assert 24 == ring.held
    assert [(0, 5), (0, 4)] == [extent(ring.take(1, 0.0, 0.0)) for _ in range(2)]
    assert (0, Sign.TICK) == (ring.held, ring.take(1, 0.0, 0.0))


def test_what_comes_between_keeps_its_place() -> None:
    ring, reject = Ring(1000), Reject("a", None, 0, "bad", b"")
    for item in (Lines([b"1"]), Lines([b"2"]), Punctuation(7), Refused([reject]), Refused([reject]), Lines([b"3"])):
        ring.put(item, 1)
    ring.put(Sign.END, 0)
    found = [ring.take(1, 60.0, 0.0) for _ in range(6)]
    assert [[b"1", b"2"], Punctuation(7), [reject, reject], [b"3"], Sign.END, Sign.END] == found


def test_rows_wait_for_others_until_there_are_enough_or_their_time_is_over() -> None:
    ring = Ring(1000)
    ring.put(piece(0, 3), 8)
    assert (0, 3) == extent(ring.take(8, 60.0, 60.0))
    ring.put(piece(3, 4), 8)
    assert (3, 4) == extent(ring.take(100, 1e-3, 60.0))


def test_a_full_ring_lets_nobody_on_until_something_is_taken() -> None:
    ring = Ring(16)
    ring.put(piece(0, 3), 16)
    let_on: list[bool] = []
    thread = Thread(target=lambda: let_on.append(ring.make_room()))
    thread.start()
    thread.join(0.05)
    assert [] == let_on
    ring.take(1, 0.0, 0.0)
    thread.join()
    assert [True] == let_on
    assert ring.full_seconds > 0


@pytest.mark.parametrize("filled", [False, True])
def test_stopping_ends_all_waiting(filled: bool) -> None:
    ring = Ring(16)
    if filled:
        ring.put(piece(0, 3), 16)
    waiting: list[Any] = []
    threads = [
        Thread(target=lambda: waiting.append(ring.make_room() if filled else ring.take(100, 60.0, None))),
    ]
    for thread in threads:
        thread.start()
    ring.stop()
    for thread in threads:
        thread.join()
    assert [False if filled else Sign.END] == waiting
    assert Sign.END is ring.take(1, 0.0, 0.0)
