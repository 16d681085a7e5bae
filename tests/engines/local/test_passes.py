"""Queries over several sources share a pass only where they read these in the same order alone."""

from __future__ import annotations

from dataclasses import replace

from tests.engines.local.answers.test_oracle import STREAM
from windrow.engines.local.passes import passes, reading_order, streams_of
from windrow.plan.nodes import AggregateCall, Node, Union, WindowAggregate
from windrow.semantics.progress.policies import Ordered
from windrow.semantics.windows.kinds import Sliding

A, B, C = (replace(STREAM, name=name, policy=Ordered()) for name in "abc")
COUNT = (AggregateCall("n", "count"),)


def counted(below: Node, slide: int) -> WindowAggregate:
    return WindowAggregate(below, Sliding("ts", 2 * slide, slide), (), COUNT)


def test_queries_over_one_source_share_a_pass_with_any() -> None:
    assert [[0, 1, 2]] == passes([counted(A, 5), counted(B, 7), counted(A, 9)])


def test_queries_over_several_sources_share_a_pass_at_the_same_pace() -> None:
    both, other = Union((A, B)), Union((B, A))
    plans = [counted(both, 5), counted(A, 9), counted(both, 5), counted(both, 6), counted(other, 5), counted(C, 5)]
    assert [[0, 1, 2, 5], [3], [4]] == passes(plans)


def test_a_query_over_one_source_goes_where_that_is_read() -> None:
    assert [[0], [1, 2]] == passes([counted(Union((A, B)), 5), counted(Union((A, C)), 5), counted(C, 5)])


def test_the_sources_of_a_union_come_first_in_its_order() -> None:
    assert ["b", "a", "c"] == reading_order([counted(A, 5), counted(Union((B, A)), 5), C])
    assert ["a", "b"] == streams_of(Union((A, B, A)))
