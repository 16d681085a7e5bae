"""Groups divided among several operators give what one operator gives: answers, promises, counts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import strategies as streams
from tests.operators.low_levels import batch_of, operator_of
from tests.operators.test_merge import Seen, nodes, segments_of
from tests.saved import whole_tables
from windrow.operators.base import Operator
from windrow.operators.divided import pre_aggregate
from windrow.operators.divided.operator import DividedOperator, each
from windrow.operators.divided.pre_aggregate import PreAggregatedOperator
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import WindowAggregate
from windrow.semantics.progress.policies import Punctuation


@pytest.fixture(autouse=True)
def threads_for_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pre_aggregate, "LEAST_ROWS", 2)


def divided(node: WindowAggregate, shards: int, *, panes: bool) -> DividedOperator:
    route = tuple(key for _, key in node.keys)
    if panes:
        shape = shape_of(node.input)
        return PreAggregatedOperator(node, shape, lambda: operator_of(node), route, shards=shards, threads=2)
    return DividedOperator(lambda: operator_of(node), [route], shards=shards, threads=2)


@settings(max_examples=60)
@given(data=st.data())
def test_divided_groups_give_the_answers_of_one_operator(data: st.DataObject) -> None:
    node = data.draw(nodes())
    segments = segments_of(data.draw(streams.elements(late=True, extremes=False)))
    panes, shards = data.draw(st.booleans()), data.draw(st.integers(1, 3)) if node.keys else 1
    without = data.draw(st.sampled_from((None, 2)))
    single: Operator = operator_of(node)
    many = divided(node, shards, panes=panes)
    one, all_of_them = Seen(), Seen()
    for rows, value in segments:
        cut = data.draw(st.integers(0, len(rows)))
        for part in (rows[:cut], rows[cut:]):
            if part:
                one.take(single.process(batch_of(part, without=without)))
                all_of_them.take(many.process(batch_of(part, without=without)))
        if data.draw(st.booleans()):
            tables = whole_tables(many.state())
            many = divided(node, 1, panes=panes)  # what was saved says how many there are
            many.restore(tables)
        one.take(single.punctuate(Punctuation(value)))
        all_of_them.take(many.punctuate(Punctuation(value)))
        assert streams.comparable(one.answers) == streams.comparable(all_of_them.answers)
        assert list(dict.fromkeys(one.promises)) == all_of_them.promises
        assert single.counters == many.counters


def test_what_one_thread_cannot_do_fails_for_all() -> None:
    def work(number: int) -> int:
        if number == 2:
            raise ValueError("two")
        return number

    with pytest.raises(ValueError, match=r"^two$"):
        each(work, range(4), threads=2)
