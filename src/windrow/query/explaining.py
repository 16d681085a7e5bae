"""A plan in words, and what an engine has to say about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from windrow.engines.base import check_engine, home_of
from windrow.physical.costs import Statistics, calibrated
from windrow.physical.explain.plans import explain
from windrow.plan.nodes import Node

if TYPE_CHECKING:
    from windrow.sources.base import Source


def explain_on(
    plan: Node, sources: Mapping[str, Source], engine: str | None, statistics: Statistics | None = None
) -> str:
    """The plan as text; on Spark a section follows that says how it runs there."""
    engine = home_of(sources.values()) if engine is None else engine
    check_engine(engine)
    text = explain(plan) if statistics is None else explain(plan, statistics, calibrated())
    if engine != "spark":
        return text
    from windrow.engines.spark.query.explain import explain_spread

    return f"{text}\n\n{explain_spread(plan, sources)}"
