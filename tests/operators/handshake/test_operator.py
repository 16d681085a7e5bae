"""Handshake join equals the definition, on any number of threads and for blocks of any size."""

from __future__ import annotations

import os
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.joins.cases import (
    NAMES,
    STREAMS,
    Arrival,
    Driven,
    answered,
    arrivals,
    band,
    batch_of,
    both,
    by_definition,
    in_time,
    plans,
)
from tests.operators.joins.test_operator import FLAGS, driven_by
from windrow.operators.handshake.lookup import Lookup
from windrow.operators.handshake.operator import PATIENCE, HandshakeJoin
from windrow.operators.handshake.scanning import Scan
from windrow.operators.joins.operator import JoinOperator
from windrow.physical.how import How
from windrow.physical.rules.choose_joins import choose_join, shapes_below
from windrow.pipeline.build import build
from windrow.plan.checks.joins import usual_time
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Join, JoinStrategy, JoinTime, Late
from windrow.semantics.joins import LEFT, RIGHT, Between, JoinKind
from windrow.semantics.progress.policies import END, Punctuation

pytestmark = [pytest.mark.soak] if os.environ.get("WINDROW_SOAK") else []
SHAPES = st.tuples(st.integers(1, 4), st.sampled_from((1, 2, 3, 1024)))
"""Threads, and rows a block."""


BOTH_TIMES = frozenset({"l_ts", "r_ts"})
"""What windows above group by, where they do: then promises for single groups are given too."""


def handshake(plan: Join, threads: int, block: int, passes: frozenset[str] = BOTH_TIMES) -> JoinOperator:
    """As the other operator, of which tests use what both have. Every second number of threads looks partners up."""
    conditions = choose_join(plan).conditions
    local = Lookup if threads % 2 else Scan
    found = HandshakeJoin(
        plan, shapes_below(plan), shape_of(plan), conditions, threads=threads, passes=passes, block=block, local=local
    )
    return cast(JoinOperator, found)


def index(plan: Join) -> JoinOperator:
    return JoinOperator(plan, shapes_below(plan), shape_of(plan), choose_join(plan).conditions, passes=BOTH_TIMES)


@given(plans(), arrivals(), SHAPES, FLAGS, FLAGS, FLAGS)
def test_the_chain_joins_what_it_means(
    plan: Join, arrived: list[Arrival], shape: tuple[int, int], cuts: list[bool], saves: list[bool], masks: list[bool]
) -> None:
    run = driven_by(Driven(plan, lambda: handshake(plan, *shape)), arrived, cuts, saves, masks)
    assert answered(run.results) == answered(by_definition(plan, arrived))
    assert run.operator.counters.results == len(run.results)
    _, late = in_time(arrived)
    assert run.operator.counters.late == len(late) == sum(run.operator.late)
    assert run.operator.counters.rows_in == sum(isinstance(row, dict) for _, row in arrived)
    assert len(run.late) == (len(late) if plan.late is Late.SIDE else 0)
    assert run.operator.stored_rows == 0
    assert run.promises[-1] == END


@given(plans(), arrivals(), SHAPES, FLAGS, FLAGS)
def test_results_and_promises_are_those_of_the_index(
    plan: Join, arrived: list[Arrival], shape: tuple[int, int], cuts: list[bool], saves: list[bool]
) -> None:
    """Neither threads nor blocks nor batches show, in promises for single groups either."""
    one = driven_by(Driven(plan, lambda: handshake(plan, *shape)), arrived, cuts, saves, [False])
    other = driven_by(Driven(plan, lambda: index(plan)), arrived, [True], [False], [False])
    assert answered(one.results) == answered(other.results)
    assert one.promises == other.promises
    assert told(one) == told(other)


def told(run: Driven) -> list[tuple[Any, list[int]]]:
    return [(promises.groups.to_pylist(), promises.values.tolist()) for promises in run.groups]


@pytest.mark.parametrize("threads", [1, 3])
def test_the_engine_runs_it_where_it_is_asked_for(threads: int) -> None:
    plan = Join(*STREAMS, JoinKind.INNER, Between(-1, 1), None, NAMES, ("l", "r"), strategy=JoinStrategy.HANDSHAKE)
    operator = build(plan, how=How(threads=threads)).stages[0].operator
    assert isinstance(operator, HandshakeJoin)
    assert len(operator.driver.scans) == threads


def test_rows_go_when_one_side_alone_moves_on() -> None:
    """Nothing is promised while the right side is silent, but what it can no longer meet is let go."""
    plan = Join(*STREAMS, JoinKind.RIGHT, Between(0, 0), None, NAMES, ("l", "r"), JoinTime.RIGHT)
    run = Driven(plan, lambda: handshake(plan, 2, 4))
    rows: list[Any] = [{"ts": ts, "k": "a", "g": 1, "x": 2, "y": None} for ts in range(10)]
    run.take(run.operator.process(batch_of(rows, RIGHT), RIGHT))
    assert run.operator.stored_rows == 10
    run.take(run.operator.punctuate(Punctuation(100), LEFT))
    assert run.operator.stored_rows == 0
    assert run.operator.state_bytes > 0
    assert len(run.results) == 10
    assert run.promises == []


@pytest.mark.parametrize("kind", JoinKind)
def test_many_rows_are_joined_as_by_the_index(kind: JoinKind) -> None:
    """Windows of hundreds of rows in dozens of blocks, so that these move along the chain and leave it."""
    on = both(band("x", -40, 40), band("y", -60.0, 60.0))
    plan = Join(*STREAMS, kind, Between(-300, 200), on, NAMES, ("l", "r"), usual_time(kind))
    chain, other = Driven(plan, lambda: handshake(plan, 3, 16)), Driven(plan, lambda: index(plan))
    random = Random(kind.value)
    for start in range(0, 3_000, 100):
        for side in (LEFT, RIGHT):
            rows = [scattered(random, start) for _ in range(random.randint(0, 60))]
            for run in (chain, other):
                run.take(run.operator.process(batch_of(rows, side), side) if rows else ())
                run.take(run.operator.punctuate(Punctuation(start - 150), side))
    for side in (LEFT, RIGHT):
        for run in (chain, other):
            run.take(run.operator.punctuate(Punctuation(END), side))
    assert answered(chain.results) == answered(other.results)
    assert len(chain.results) > 100
    assert chain.promises == other.promises


def scattered(random: Random, start: int) -> dict[str, Any]:
    """A row up to 150 units late."""
    whole, real = random.randint(0, 1_000), random.uniform(0, 1_000)
    return {"ts": start + random.randint(-150, 100), "k": "a", "g": 1, "x": whole, "y": real}


def test_pairs_come_without_a_promise() -> None:
    plan = Join(*STREAMS, JoinKind.INNER, Between(0, 0), None, NAMES, ("l", "r"), usual_time(JoinKind.INNER))
    run = Driven(plan, lambda: handshake(plan, 2, 1024))
    row = {"ts": 3, "k": "a", "g": 1, "x": 1, "y": 1.0}
    for place in range(2 * PATIENCE):
        run.take(run.operator.process(batch_of([row], place % 2, []), place % 2))
    assert len(run.results) == PATIENCE**2


@pytest.mark.parametrize("side", [LEFT, RIGHT])
def test_a_chain_is_saved_at_rest(side: int) -> None:
    plan = Join(*STREAMS, JoinKind.INNER, Between(0, 0), None, NAMES, ("l", "r"), usual_time(JoinKind.INNER))
    rows = [{"ts": ts, "k": "a", "g": 1, "x": 1, "y": 1.0} for ts in range(4_000)]
    for _ in range(5):
        run = Driven(plan, lambda: handshake(plan, 4, 16))
        run.take(run.operator.process(batch_of(rows, side, []), side))
        run.take(run.operator.punctuate(Punctuation(1_500), 1 - side))
        run.again()
        run.take(run.operator.process(batch_of(rows[1_500:], 1 - side, []), 1 - side))
        run.take(run.operator.punctuate(Punctuation(END), 1 - side))
        run.take(run.operator.punctuate(Punctuation(END), side))
        assert len(run.results) == 2_500


@pytest.mark.parametrize("kind", JoinKind)
def test_a_row_far_ahead_keeps_no_others(kind: JoinKind, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be the first to come and the last to go; all that came after it are let go in time, and once."""
    monkeypatch.setattr("windrow.operators.handshake.operator.SPARE", 64)
    plan = Join(*STREAMS, kind, Between(-5, 5), band("x", 0, 0), NAMES, ("l", "r"), usual_time(kind))
    chain, other = Driven(plan, lambda: handshake(plan, 3, 8)), Driven(plan, lambda: index(plan))
    random, most = Random(kind.value), 0
    for start in range(0, 2_000, 10):
        for side in (LEFT, RIGHT):
            rows = [scattered(random, start) | {"ts": start + random.randint(0, 9)} for _ in range(10)]
            if start % 200 == 0:
                rows[0]["ts"] += 5_000
            for run in (chain, other):
                run.take(run.operator.process(batch_of(rows, side), side))
                run.take(run.operator.punctuate(Punctuation(start), side))
        most = max(most, chain.operator.stored_rows)
    for side in (LEFT, RIGHT):
        for run in (chain, other):
            run.take(run.operator.punctuate(Punctuation(END), side))
    assert answered(chain.results) == answered(other.results)
    assert chain.promises == other.promises
    assert most < 400


def test_more_pairs_than_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.operators.handshake.chain.PAIRS", 10)
    plan = Join(*STREAMS, JoinKind.INNER, Between(0, 0), None, NAMES, ("l", "r"), usual_time(JoinKind.INNER))
    run = Driven(plan, lambda: handshake(plan, 2, 4))
    rows = [{"ts": 3, "k": "a", "g": 1, "x": 1, "y": 1.0}] * 60
    most = 0
    for side in (LEFT, RIGHT):
        for element in run.operator.process(batch_of(rows, side, []), side):
            most = max(most, cast(HandshakeJoin, run.operator).driver.outlet.pairs)
            run.take([element])
    for side in (LEFT, RIGHT):
        run.take(run.operator.punctuate(Punctuation(END), side))
    assert len(run.results) == 60 * 60
    assert most < 10 + 4 * 60
