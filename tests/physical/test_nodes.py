"""Graphs of physical nodes: what is shared stays shared when nodes change."""

from __future__ import annotations

from dataclasses import replace

from tests.engines.local.answers.test_oracle import STREAM
from windrow.physical.nodes import Answer, Physical, Read, Select, each, rewrite, undecided, walk
from windrow.plan.nodes import Filter
from windrow.semantics.scalars.expressions import Column

FILTER = Filter(STREAM, Column("x"))
READ = Read(STREAM)
SELECT = Select(FILTER, (READ,))
PLANS = Answer(FILTER, (SELECT,)), Answer(FILTER, (SELECT,)), Answer(STREAM, (Read(STREAM),))


def faster(_: Physical, node: Physical) -> Physical:
    return replace(node, slack=5) if isinstance(node, Read) else node


def test_a_logical_plan_has_a_node_for_each_of_its_own() -> None:
    assert [FILTER, STREAM] == [node.asked for node in walk(undecided(FILTER))]


def test_each_node_comes_once_and_equal_ones_are_different() -> None:
    assert [PLANS[0], SELECT, READ, PLANS[1], PLANS[2], READ] == list(each(PLANS))
    assert 6 == len({id(node) for node in each(PLANS)})


def test_what_is_shared_stays_shared() -> None:
    first, second, third = rewrite(PLANS, faster)
    assert first.inputs[0] is second.inputs[0]
    assert Read(STREAM, slack=5) == first.inputs[0].inputs[0] == third.inputs[0]
    assert first.inputs[0].inputs[0] is not third.inputs[0]


def test_what_does_not_change_stays_the_same_object() -> None:
    assert all(new is old for new, old in zip(rewrite(PLANS, lambda _, node: node), PLANS, strict=True))
