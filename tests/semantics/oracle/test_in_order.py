from __future__ import annotations

from hypothesis import given

from tests import strategies as streams
from windrow.semantics.oracle.in_order import in_order
from windrow.semantics.progress.policies import END, Punctuation


@given(elements=streams.elements(late=True))
def test_every_row_leaves_once_in_order_or_is_late(elements: list[streams.Element]) -> None:
    steps = list(in_order([*elements, Punctuation(END)], "ts"))
    leaving = [row for step in steps for row in step.leaving]
    rows = [element for element in elements if not isinstance(element, Punctuation)]
    assert len(elements) + 1 == len(steps)
    assert sorted(row["ts"] for row in leaving) == [row["ts"] for row in leaving]
    assert len(rows) == len(leaving) + sum(len(step.late) for step in steps)


def test_nothing_is_late_where_nothing_below_the_bound_comes() -> None:
    steps = list(in_order([{"t": 2}, {"t": 1}, Punctuation(2), {"t": 2}, Punctuation(3)], "t"))
    assert [[], [], [{"t": 1}], [], [{"t": 2}, {"t": 2}]] == [step.leaving for step in steps]
    assert [] == [row for step in steps for row in step.late]
