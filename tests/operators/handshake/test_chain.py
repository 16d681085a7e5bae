"""Chains on threads: the same pairs as by the definition, rest, failures that reach the driver, threads that end."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from _handshake_simulation import Meetings, Settlement, SimulatedRows
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.test_handshake_simulation import drawn_script
from windrow.operators.handshake.chain import PAIRS, Chain, Outlet
from windrow.semantics.joins import LEFT, RIGHT

pytestmark = [pytest.mark.soak] if os.environ.get("WINDROW_SOAK") else []


def run(steps: Iterator[None]) -> None:
    """Without a pause, as nothing is put into an outlet here."""
    assert list(steps) == []


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_threads_meet_the_definition(seed: int, cores: int) -> None:
    script, expected = drawn_script(Random(seed))
    locals_ = [Meetings() for _ in range(cores)]
    chain: Chain[SimulatedRows] = Chain(locals_)
    for action in script:
        if isinstance(action, Settlement):
            run(chain.settle())
        elif isinstance(action, SimulatedRows):
            run(chain.enter(action.side, action))
        else:
            chain.expire(action.side, action.number)
    run(chain.settle())
    assert sum((one.pairs for one in locals_), Counter[tuple[int, int]]()) == expected


def test_rows_that_have_met_are_spread_and_do_not_meet_again() -> None:
    locals_ = [Meetings() for _ in range(3)]
    chain: Chain[SimulatedRows] = Chain(locals_)
    for side in (LEFT, RIGHT):
        chain.numbers[side] = 6
        chain.spread(side, [SimulatedRows(side, number) for number in range(6)])
    assert [one.rows for one in locals_] == [4, 4, 4]
    assert [block.number for block in locals_[0].held[LEFT]] == [4, 5]
    run(chain.enter(LEFT, SimulatedRows(LEFT, 6)))
    for number in range(6):
        chain.expire(LEFT, number)
    run(chain.settle())
    assert sum((one.pairs for one in locals_), Counter[tuple[int, int]]()) == {(6, number): 1 for number in range(6)}


class Broken(Meetings):
    def compare(self, side: int, block: SimulatedRows, start: int, end: int) -> None:
        raise ZeroDivisionError("in a worker")


def test_what_fails_in_a_worker_fails_where_the_driver_waits() -> None:
    chain: Chain[SimulatedRows] = Chain([Meetings(), Broken()])
    run(chain.enter(RIGHT, SimulatedRows(RIGHT, 0)))
    with pytest.raises(ZeroDivisionError, match=r"^in a worker$"):
        run(chain.settle())
    with pytest.raises(ZeroDivisionError, match=r"^in a worker$"):
        run(chain.settle())


def test_threads_start_with_the_first_rows_and_end_with_their_chain() -> None:
    chain: Chain[SimulatedRows] = Chain([Meetings() for _ in range(3)])
    threads = chain.crew.threads
    run(chain.settle())
    assert not any(thread.is_alive() for thread in threads)
    run(chain.enter(LEFT, SimulatedRows(LEFT, 0)))
    assert all(thread.is_alive() for thread in threads)
    del chain
    gc.collect()
    for thread in threads:
        thread.join()
    assert not any(thread.is_alive() for thread in threads)


def test_a_worker_that_found_much_waits_until_it_is_taken() -> None:
    outlet, ids = Outlet(), np.arange(PAIRS)

    class Finding(Meetings):
        def compare(self, side: int, block: SimulatedRows, start: int, end: int) -> None:
            for _ in range(5):
                outlet.put((ids, ids))

    chain: Chain[SimulatedRows] = Chain([Finding(), Finding()], outlet)
    for number in range(3):
        run(chain.enter(LEFT, SimulatedRows(LEFT, number)))
    taken = [len(outlet.take()) for _ in chain.settle()]
    assert set(taken) == {1}
    assert sum(taken) + len(outlet.take()) >= 5 * 3


def test_a_worker_that_waits_ends_with_its_chain() -> None:
    outlet, ids = Outlet(), np.arange(PAIRS)

    class Finding(Meetings):
        def compare(self, side: int, block: SimulatedRows, start: int, end: int) -> None:
            outlet.put((ids, ids))
            outlet.put((ids, ids))

    chain: Chain[SimulatedRows] = Chain([Finding()], outlet)
    threads = chain.crew.threads
    run(chain.enter(LEFT, SimulatedRows(LEFT, 0)))
    del chain
    gc.collect()
    for thread in threads:
        thread.join()
    assert not any(thread.is_alive() for thread in threads)
