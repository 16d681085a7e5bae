"""Layouts in bits, and how many modules are enough and not too many."""

from __future__ import annotations

import pytest

from windrow.hardware.design import (
    AggregateDesign,
    BitLayout,
    CircuitAlgorithm,
    CircuitPart,
    Field,
    Function,
    Variant,
    WindowQuery,
)

PARAMETERS = [
    (range_, slide, slack)
    for range_ in (1, 2, 5, 6, 12, 600)
    for slide in (1, 4, 5, 7, 60)
    for slack in (0, 1, 4, 5, 6, 13, 120)
]


def test_fields_lie_side_by_side_with_the_null_bit_above() -> None:
    layout = BitLayout((Field("a", 3), Field("b", 8, nullable=True), Field("c", 1, signed=False)))
    assert (13, {"a": 0, "b": 3, "c": 12}) == (layout.bits, layout.offsets)


def test_a_result_has_a_field_for_each_part() -> None:
    query = WindowQuery(1, 1, 0, (CircuitPart(Function.COUNT), CircuitPart(Function.SUM, None, 40, True)))
    assert (Field("part0", 32, False), Field("part1", 40, True, True)) == query.results.fields


@pytest.mark.parametrize("algorithm", CircuitAlgorithm)
def test_modules_are_as_many_as_rows_within_the_slack_need_and_not_more(algorithm: CircuitAlgorithm) -> None:
    """A row is less than slack after the end of the oldest open window: there must be modules for all below that."""
    design = AggregateDesign(BitLayout(()), (), algorithm=algorithm)
    for parameters in PARAMETERS:
        query = WindowQuery(*parameters, ())
        modules = design.modules(query)
        assert design.limit(query, modules) >= query.slack
        assert modules == 1 or design.limit(query, modules - 1) < query.slack


def test_the_papers_equations_want_a_module_more_without_slack() -> None:
    literal = AggregateDesign(BitLayout(()), (), algorithm=CircuitAlgorithm.WID, variant=Variant.LITERAL)
    repaired = AggregateDesign(BitLayout(()), (), algorithm=CircuitAlgorithm.WID)
    ordered, paper = WindowQuery(600, 60, 0, ()), WindowQuery(600, 60, 60, ())
    assert (11, 10) == (literal.modules(ordered), repaired.modules(ordered))
    assert (11, 11) == (literal.modules(paper), repaired.modules(paper))
