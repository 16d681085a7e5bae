"""What figures 8-9 and 8-10 share: a join over unions, in order (Merge below the join) and as it is (Meld)."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from _figures import amount, duration
from _harness import table
from _in_order import Held, out_of_order, skewed, units, weighed
from _pictures import Panel

import windrow as wr
from windrow.operators.input.input import Input
from windrow.operators.rowwise.meld import MeldOperator
from windrow.operators.rowwise.sort import SortOperator
from windrow.physical.nodes import Grid
from windrow.pipeline.build import build
from windrow.pipeline.graph import Pipeline, Stage
from windrow.plan.columns import prune_together
from windrow.plan.nodes import Node

STRETCH = 500_000
"""Microseconds of arrival that are pushed at a time."""
MakePlan = Callable[[dict[str, wr.Query]], Node]


def merging(plan: Node) -> Pipeline:
    """The query with every union in order: what has passed one waits in a sort for the slowest of its inputs."""
    pipeline = build(prune_together([plan])[0])
    for stage in [stage for stage in pipeline.stages if isinstance(stage.operator, MeldOperator)]:
        assert isinstance(stage.operator, MeldOperator)
        sort = Stage(
            SortOperator(stage.operator.schema), f"{len(pipeline.stages)} sort", stage.after, queries=stage.queries
        )
        stage.after = [(sort, 0)]
        pipeline.stages.append(sort)
    for stage in pipeline.stages:
        if isinstance(stage.operator, Input):
            stage.operator.grid = Grid()
    return pipeline


def compared(links: dict[str, pa.Table], query: MakePlan, lags: dict[str, int]) -> tuple[Held, Held]:
    """In order, then out of order, when some links lag by so many seconds. Their answers must be as many."""
    streams = {name: wr.stream(link, time="ts", progress=wr.ordered(), name=name) for name, link in links.items()}
    plan = query(streams)
    arrivals = {name: (link, units(link) + lags.get(name, 0) * 1_000_000) for name, link in links.items()}
    merge = weighed(merging(plan), skewed(arrivals, STRETCH))
    meld = weighed(out_of_order(plan), skewed(arrivals, STRETCH))
    if merge.results != meld.results:
        raise SystemExit(f"the answers differ: {merge.results} and {meld.results}")
    return merge, meld


def report(title: str, axis: str, found: dict[int, tuple[Held, Held]]) -> Panel:
    rows = [
        [f"{lag} s", f"{amount(merge.peak)}B", f"{amount(meld.peak)}B", f"{merge.peak / meld.peak:.2f}",
         duration(merge.seconds), duration(meld.seconds)]
        for lag, (merge, meld) in found.items()
    ]  # fmt: skip
    table(title, [axis, "in order", "out of order", "ratio", "time in order", "time out of order"], rows)
    lines = {
        "in order (Merge)": [(float(lag), merge.peak / 1e6) for lag, (merge, _) in found.items()],
        "out of order (Meld)": [(float(lag), meld.peak / 1e6) for lag, (_, meld) in found.items()],
    }
    return Panel(title, axis, "peak state, MB", lines)
