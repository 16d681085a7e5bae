"""The scan finds exactly the rows within bounds, also when there are more than fit at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.operators.handshake.blocks import Block, BlockRows
from windrow.operators.handshake.chain import Outlet
from windrow.operators.handshake.lookup import Lookup
from windrow.operators.handshake.scanning import ROOM, Held, Scan, coded_bounds, codes_of, shift_for
from windrow.semantics.joins import LEFT, RIGHT


@pytest.fixture(autouse=True)
def _an_outlet_that_takes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """As there is no driver to take what was found."""
    monkeypatch.setattr("windrow.operators.handshake.chain.PAIRS", 1 << 40)


def drawn(random: np.random.Generator, count: int, columns: int, spread: int, start: int = 0) -> BlockRows:
    kinds: list[Any] = [np.uint32, np.uint64, np.uint32]
    times = random.integers(0, 50, count)
    return BlockRows(
        np.arange(start, start + count),
        times,
        tuple(random.integers(0, spread, count).astype(kinds[i]) for i in range(columns)),
        times - 20,
        times + 20,
        tuple(random.integers(0, spread, count).astype(kinds[i]) - kinds[i](5) for i in range(columns)),
        tuple(random.integers(0, 20, count).astype(kinds[i]) for i in range(columns)),
    )


def expected(probing: BlockRows, stored: BlockRows) -> set[tuple[int, int]]:
    found = set()
    for p in range(len(probing)):
        near = (probing.firsts[p] <= stored.times) & (stored.times <= probing.lasts[p])
        for column, low, width in zip(stored.columns, probing.lows, probing.widths, strict=True):
            near &= column - low[p] <= width[p]
        found |= {(int(probing.ids[p]), int(stored.ids[place])) for place in np.flatnonzero(near)}
    return found


@pytest.mark.parametrize("make", [Scan, Lookup])
@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("spread", [20, 5_000])
def test_what_is_near_is_found(make: type[Scan], columns: int, spread: int) -> None:
    random = np.random.default_rng(columns)
    probing, stored = drawn(random, 700, columns, spread), drawn(random, 2_500, columns, spread)
    scan = make(Outlet())
    scan.insert(LEFT, Block(0, stored.take(slice(0, 1_000))))
    scan.compare(RIGHT, Block(0, probing.take(slice(0, 3))), 0, 1_000)
    scan.insert(LEFT, Block(1, stored.take(slice(1_000, None))))
    scan.outlet.take()
    scan.compare(RIGHT, Block(0, probing), 0, 2_500)
    found = [pair for lefts, rights in scan.outlet.take() for pair in zip(rights.tolist(), lefts.tolist(), strict=True)]
    assert len(found) == len(set(found))
    assert set(found) == expected(probing, stored)
    tried = 3 * 1_000 + 700 * 2_500
    assert scan.comparisons == tried if make is Scan else len(found) <= scan.comparisons < tried


def test_more_matches_than_fit_at_once() -> None:
    random = np.random.default_rng(5)
    probing, stored = drawn(random, 100, 1, 3), drawn(random, 3_000, 1, 3)
    scan = Scan(Outlet())
    scan.insert(RIGHT, Block(0, stored))
    scan.compare(LEFT, Block(0, probing), 10, 2_990)
    pairs = expected(probing, stored.take(slice(10, 2_990)))
    assert len(pairs) > 3 * ROOM
    found = [pair for lefts, rights in scan.outlet.take() for pair in zip(lefts.tolist(), rights.tolist(), strict=True)]
    assert sorted(found) == sorted(pairs)


def test_looking_up_leaves_out_what_has_left_and_what_is_not_asked_for() -> None:
    random = np.random.default_rng(7)
    probing, stored = drawn(random, 50, 2, 30), drawn(random, 300, 2, 30)
    lookup = Lookup(Outlet())
    blocks = [Block(i, stored.take(slice(100 * i, 100 * i + 100))) for i in range(3)]
    for block in blocks:
        lookup.insert(RIGHT, block)
    lookup.remove(RIGHT, blocks[0])
    lookup.compare(LEFT, Block(0, probing), 100, 200)
    found = [
        pair for lefts, rights in lookup.outlet.take() for pair in zip(lefts.tolist(), rights.tolist(), strict=True)
    ]
    assert sorted(found) == sorted(expected(probing, blocks[2].rows))


@pytest.mark.parametrize("make", [Scan, Lookup])
def test_what_is_left_of_the_predicate_is_tried_before_pairs_go_out(make: type[Scan]) -> None:
    random = np.random.default_rng(8)
    probing, stored = drawn(random, 60, 1, 30), drawn(random, 300, 1, 30)
    scan = make(Outlet(), lambda found: (found[LEFT][found[RIGHT] % 3 == 0], found[RIGHT][found[RIGHT] % 3 == 0]))
    scan.insert(RIGHT, Block(0, stored))
    scan.compare(LEFT, Block(0, probing), 0, 300)
    found = [pair for lefts, rights in scan.outlet.take() for pair in zip(lefts.tolist(), rights.tolist(), strict=True)]
    assert sorted(found) == sorted(pair for pair in expected(probing, stored) if pair[RIGHT] % 3 == 0)
    assert len(found) > 100


def test_held_rows_stay_in_order_as_they_move() -> None:
    random = np.random.default_rng(6)
    held, start = Held(), 0
    for count in (3, 10, 1, 50, 7):
        held.insert(drawn(random, count, 2, 9, start))
        held.remove(min(5, len(held)))
        start += count
        assert held.part(0, len(held))[0].tolist() == list(range(start - len(held), start))
    assert held.nbytes > 0


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
@given(data=st.data())
def test_what_bounds_admit_codes_admit(kind: Any, data: st.DataObject) -> None:
    top = int(np.iinfo(kind).max)
    numbers = st.one_of(st.integers(0, top), st.integers(0, 40), st.integers(top - 40, top))
    lows = np.array(data.draw(st.lists(numbers, min_size=1, max_size=5)), kind)
    widths = np.array([data.draw(numbers) for _ in lows], kind)
    offsets = np.array([data.draw(st.integers(0, int(width))) for width in widths], kind)
    shift = shift_for(np.array([data.draw(numbers)], kind))
    first, steps = coded_bounds(lows, widths, shift)
    codes = codes_of(lows + offsets, shift)
    assert ((codes - first) <= steps).all()


def test_codes_leave_out_most_of_what_lies_outside() -> None:
    values = np.arange(1 << 20, dtype=np.uint32)
    widths = np.full(3, 2_000, np.uint32)
    shift = shift_for(widths)
    first, steps = coded_bounds(np.array([0, 50_000, 1_000_000], np.uint32), widths, shift)
    codes = codes_of(values, shift)
    assert all(np.count_nonzero(codes - low <= width) < 2_300 for low, width in zip(first, steps, strict=True))
