"""OPIB-Join gives what the order-agnostic join gives, in order of the left time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from tests.operators.joins.cases import (
    NAMES,
    STREAMS,
    Arrival,
    Driven,
    answered,
    arrivals,
    by_definition,
    in_time,
    plans,
)
from tests.operators.joins.test_operator import FLAGS, driven_by
from windrow.errors import UnsupportedError
from windrow.operators.joins.in_order import InOrderJoinOperator
from windrow.physical.rules.choose_joins import choose_join, shapes_below
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Join, JoinStrategy, JoinTime, Late
from windrow.semantics.joins import RIGHT, Between, JoinKind

ORDERED = plans().map(
    lambda plan: replace(plan, time=JoinTime.LEFT, kind=JoinKind.LEFT if RIGHT in plan.kind.outer_sides else plan.kind)
)


@given(ORDERED, arrivals(), FLAGS, FLAGS, FLAGS)
def test_results_come_in_order(
    plan: Join, arrived: list[Arrival], cuts: list[bool], saves: list[bool], masks: list[bool]
) -> None:
    shapes, conditions = shapes_below(plan), choose_join(plan).conditions
    run = Driven(plan, lambda: InOrderJoinOperator(plan, shapes, shape_of(plan), conditions))
    driven_by(run, arrived, cuts, saves, masks)
    assert answered(run.results) == answered(by_definition(plan, arrived))
    place = shape_of(plan).schema.names.index(str(shape_of(plan).time))
    times = [result[place] for result in run.results]
    assert times == sorted(times)
    _, late = in_time(arrived)
    assert run.operator.counters.late == len(late) == sum(run.operator.late)
    assert len(run.late) == (len(late) if plan.late is Late.SIDE else 0)
    assert run.operator.stored_rows == 0


def test_what_has_no_left_time_is_refused() -> None:
    plan = Join(*STREAMS, JoinKind.RIGHT, Between(0, 1), None, NAMES, ("l", "r"), JoinTime.RIGHT)
    with pytest.raises(UnsupportedError, match=r"^`strategy` gives results in order of the left time"):
        choose_join(replace(plan, strategy=JoinStrategy.OPIB))
