"""What several queries share, in words."""

from __future__ import annotations

from dataclasses import replace

from tests.engines.local.answers.test_oracle import STREAM
from windrow.physical.explain.sharing import describe
from windrow.plan.nodes import AggregateCall, Filter, Node, Union, WindowAggregate
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import Session, Sliding

COUNT = (AggregateCall("n", "count"),)
PLAIN = WindowAggregate(STREAM, Sliding("ts", 20, 10), (("k", Column("k")),), COUNT)
POSITIVE = Filter(STREAM, Call(">", (Column("x"), Literal(0))))


def test_equal_parts_are_named_by_the_largest_of_them() -> None:
    sessions = replace(PLAIN, input=POSITIVE, window=Session("ts", 5))
    often = Filter(sessions, Call(">", (Column("n"), Literal(1))))
    plans: dict[int, Node] = {1: often, 2: sessions, 4: replace(PLAIN, input=POSITIVE)}
    assert [
        "queries 1, 2 and 4 read s once",
        "queries 1 and 2 share WindowAggregate and all below it",
        "queries 1, 2 and 4 share Filter (x > 0) and all below it",
        "queries 1 and 2: no shared panes: session windows have no panes",
        "query 4: no shared panes: no other window over the same rows could use them",
    ] == list(describe(plans, [[1, 2, 4]]))


def test_passes_and_their_reason_are_told() -> None:
    both = Union((replace(STREAM, name="a"), replace(STREAM, name="b")))
    plans = {1: replace(PLAIN, input=both), 2: replace(PLAIN, input=both, window=Sliding("ts", 5, 5))}
    assert [
        "query 1 reads a, b once, in a pass of its own",
        "query 2 reads a, b once, in a pass of its own",
        "in which order several streams are read depends on the windows over them: hence several passes",
    ] == list(describe(plans, [[1], [2]]))


def test_without_parts_only_panes_are_told() -> None:
    other = replace(PLAIN, window=Sliding("ts", 2, 2, origin=1 << 40))
    assert [
        "queries 1 and 2 read s once",
        "the windows of queries 1 and 2 share panes of 2: each row goes into one, for all of them",
    ] == list(describe({1: PLAIN, 2: other}, [[1, 2]], parts=False))
