"""Whole circuits with fixed parameters, of one query and of several, against the brute force."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from tests.hardware.circuits.comparing import assert_equal, random_pattern, random_query, random_stream
from tests.hardware.reference import Promise, Row, Stream, expected, results, words
from windrow.hardware.circuits.top import circuit_of
from windrow.hardware.design import (
    AggregateDesign,
    BitLayout,
    CircuitAlgorithm,
    CircuitPart,
    Field,
    Function,
    Merge,
    WindowQuery,
)
from windrow.hardware.simulate.simulation import Simulation, Simulator
from windrow.hardware.simulate.trace import Trace
from windrow.semantics.scalars.expressions import Call, Column, Literal

X = Column("x")
LAYOUT = BitLayout((Field("x", 7), Field("k", 2, signed=False)))
PARTS = (
    CircuitPart(Function.COUNT),
    CircuitPart(Function.SUM, X, 39, signed=True),
    CircuitPart(Function.MAX, X, 7, signed=True),
)
POSITIVE = Call(">", (X, Literal(0)))


def _wid(*queries: WindowQuery, **options: object) -> AggregateDesign:
    return AggregateDesign(LAYOUT, queries, **{"time_width": 12, "algorithm": CircuitAlgorithm.WID, **options})  # type: ignore[arg-type]


def _run(design: AggregateDesign, stream: Stream, **patterns: object) -> Trace:
    simulation = Simulation(circuit_of(design), backend=Simulator.PYTHON)
    return simulation.run(words(design, stream), **patterns)  # type: ignore[arg-type]


def _rows(*times: int, k: int = 0, x: int = 1) -> Stream:
    return [Row(time, {"x": x, "k": k}) for time in times]


@pytest.mark.parametrize("algorithm", CircuitAlgorithm)
@pytest.mark.parametrize("seed", range(3))
def test_fixed_parameters_equal_the_brute_force(algorithm: CircuitAlgorithm, seed: int) -> None:
    random = Random(f"{algorithm} {seed}")
    largest = WindowQuery(4, 1, 2, PARTS[: random.randint(1, 3)], generous=random.random() < 0.5)
    query = random_query(random, largest, 9)
    if random.random() < 0.5:
        query = replace(query, keys=("k",), groups=3, where=(POSITIVE,))
    design = _wid(query, algorithm=algorithm, merge=random.choice(list(Merge)))
    simulation = Simulation(circuit_of(design), backend=Simulator.PYTHON)
    stream = random_stream(random, design, query, rows=40)
    assert_equal(simulation, design, stream, offers=random_pattern(random), ready=random_pattern(random))


@pytest.mark.parametrize("algorithm", CircuitAlgorithm)
def test_several_queries_share_the_input(algorithm: CircuitAlgorithm) -> None:
    queries = (
        WindowQuery(6, 2, 3, PARTS[:1], where=(POSITIVE,)),
        WindowQuery(5, 3, 3, PARTS, keys=("k",), groups=4),
        WindowQuery(1, 4, 3, PARTS[1:2], where=(POSITIVE, Call("<", (X, Literal(20)))), generous=False),
    )
    design = _wid(*queries, algorithm=algorithm)
    simulation = Simulation(circuit_of(design), backend=Simulator.PYTHON)
    for seed in range(2):
        random = Random(seed)
        stream = random_stream(random, design, queries[1], rows=50)
        assert_equal(simulation, design, stream, offers=random_pattern(random), ready=random_pattern(random))


def test_results_of_queries_come_in_turns() -> None:
    """Each query has ten windows to give at the end, and none waits for the other to give all of its own."""
    queries = (WindowQuery(10, 1, 0, PARTS[:1]), WindowQuery(10, 1, 0, PARTS[1:2]))
    design = _wid(*queries)
    trace = _run(design, [*_rows(0), Promise(last=True)])
    given = [int(word) >> 2 & 1 for word in trace.results[:-1, 0]]
    assert 20 == len(given)
    assert max(abs(given[:end].count(0) - given[:end].count(1)) for end in range(20)) <= 2


def test_a_row_a_cycle_and_a_window_a_cycle() -> None:
    design = _wid(WindowQuery(12, 3, 3, PARTS))
    stream = [*_rows(*(number % 3 for number in range(100))), Promise(3), Promise(12)]
    trace = _run(design, [*stream, Promise(12, last=True)])
    rows, first, second = trace.taken[:100], int(trace.taken[100]), int(trace.taken[101])
    assert [1] * 99 == [int(later - sooner) for sooner, later in pairwise(rows)]
    assert 1 == second - first
    ends = [int(one) for one in trace.given[:4]]
    # The first window closes on its own promise; the other three, with an element in front of them, on the second.
    assert [1, 1] == [later - sooner for sooner, later in pairwise(ends[1:])]


def test_a_promise_far_ahead_takes_as_long_as_a_division() -> None:
    design = _wid(WindowQuery(4, 1, 1, PARTS))
    stream = [*_rows(0), Promise(2000), *_rows(2000), Promise(2000, last=True)]
    trace = _run(design, stream)
    assert expected(design, stream).results[0] == sorted(results(design, trace.results)[0], key=repr)
    assert trace.cycles < 80


def test_keys_beyond_the_table_are_counted_and_others_go_on() -> None:
    design = _wid(WindowQuery(4, 2, 2, PARTS[:1], keys=("k",), groups=2))
    stream = [*_rows(0, k=3), *_rows(0, k=1), *_rows(1, k=2), *_rows(1, k=3), *_rows(1, k=2), Promise(last=True)]
    trace = _run(design, stream)
    assert [(2, (3,), (2,)), (2, (1,), (1,))] == results(design, trace.results)[0][:2]
    assert 2 == trace.counters["overflow"]


def test_sums_that_do_not_fit_are_counted() -> None:
    design = _wid(WindowQuery(4, 2, 2, (CircuitPart(Function.SUM, X, 8, signed=True),)))
    trace = _run(design, [*_rows(0, 0, 0, x=60), *_rows(1, x=-60), Promise(last=True)])
    # 180 is -76 in 8 bits, and back again.
    assert 2 == trace.counters["overflow"]


def test_an_empty_stream_ends() -> None:
    design = _wid(WindowQuery(4, 2, 2, PARTS))
    trace = _run(design, [Promise(last=True)])
    assert [[]] == results(design, trace.results)
    assert 1 == int(trace.results[0, 0]) & 3


@pytest.mark.parametrize("algorithm", CircuitAlgorithm)
@pytest.mark.parametrize(("time", "early"), [(5, 0), (6, 1)])
def test_rows_are_early_from_where_there_are_no_modules_on(algorithm: CircuitAlgorithm, time: int, early: int) -> None:
    """The oldest open window ends at 2, and the slack of 4 allows for rows below 6."""
    design = _wid(WindowQuery(4, 2, 4, PARTS[:1]), algorithm=algorithm)
    trace = _run(design, [*_rows(time), Promise(last=True)])
    assert (early, [[]] if early else [[(6, (), (1,)), (8, (), (1,))]]) == (
        trace.counters["early"],
        results(design, trace.results),
    )


def test_an_older_row_after_a_newer_one_does_not_hide_it() -> None:
    """No window holds the older row once that which ends at 2 has closed; but later ones hold the newer."""
    design = _wid(WindowQuery(2, 2, 6, PARTS[:1]))
    trace = _run(design, [*_rows(7), *_rows(0), Promise(20), Promise(20, last=True)])
    assert [[(2, (), (1,)), (8, (), (1,))]] == results(design, trace.results)


def test_a_new_key_is_known_to_the_row_right_after_it() -> None:
    design = _wid(WindowQuery(2, 2, 0, PARTS[:1], keys=("k",), groups=4))
    trace = _run(design, [*_rows(0, 0, 1, k=3), *_rows(1, 1, k=2), Promise(last=True)])
    assert [[(2, (3,), (3,)), (2, (2,), (2,))]] == results(design, trace.results)
