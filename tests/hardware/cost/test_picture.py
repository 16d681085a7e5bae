"""Pictures of pipelines: well-formed, self-contained, with what matters in them."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from windrow.hardware.cost.picture import pipeline_picture
from windrow.hardware.design import (
    AggregateDesign,
    BitLayout,
    CircuitAlgorithm,
    CircuitPart,
    Design,
    Field,
    Function,
    JoinDesign,
    WindowQuery,
)
from windrow.semantics.scalars.expressions import Call, Column, Literal

ROW = BitLayout((Field("price", 32), Field("symbol", 8, signed=False)))
WHERE = Call("<", (Column("price"), Literal(100)))
QUERY = WindowQuery(
    600, 60, 60, (CircuitPart(Function.COUNT), CircuitPart(Function.MAX, Column("price"))), (WHERE,), ("symbol",), 16
)
PANES = AggregateDesign(ROW, (QUERY,))
JOIN = JoinDesign(ROW, ROW, None, 64, 64, 8)


def texts(picture: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("design", [PANES, replace(PANES, algorithm=CircuitAlgorithm.WID), JOIN])
def test_a_picture_is_whole_and_needs_nothing_else(design: Design) -> None:
    picture = pipeline_picture(design, "a & b <c>")
    assert "a & b <c>" in texts(picture)
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")


def test_stages_are_in_the_order_in_which_a_row_meets_them() -> None:
    shown = texts(pipeline_picture(PANES))
    stages = ["input", "filter 1", "punctuations", "groups", "pane 1", "pane buffer", "windows", "output"]
    assert stages == [text for text in shown if text in stages]
    assert "(price < 100)" in shown
    assert "count(*) 32 bits" in shown


def test_many_modules_are_the_first_and_the_last() -> None:
    shown = texts(pipeline_picture(replace(PANES, algorithm=CircuitAlgorithm.WID)))
    assert ["window 1", "window 2", "window 3", "window 11"] == [text for text in shown if text.startswith("window ")]
    assert "⋮" in shown


def test_several_queries_have_a_row_each() -> None:
    assert 2 == texts(pipeline_picture(replace(PANES, queries=(QUERY, replace(QUERY, range=120))))).count("input")
