"""What lies above the circuit in a query, done in software: HAVING, projections, order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from windrow.operators.base import Batch
from windrow.pipeline.build import build
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Node, Stream, map_inputs
from windrow.semantics.progress.policies import END, Punctuation

NAME = "circuit"


def finish(bottom: Node, above: Sequence[Node], batch: pa.RecordBatch, give: Callable[[pa.RecordBatch], None]) -> int:
    """Give the answer of a query from the results of its circuit, which computed `bottom`; how many rows it has."""
    if not above:
        if len(batch):
            give(batch)
        return len(batch)
    shape = shape_of(bottom)
    assert shape.time is not None
    plan: Node = Stream(NAME, shape.schema, shape.time)
    for node in above:
        below = plan
        plan = map_inputs(node, lambda _, below=below: below)  # type: ignore[misc]
    pipeline = build(plan)
    (end,) = pipeline.ends
    end.on_result = give
    pipeline.push(NAME, Batch.unread(batch))
    pipeline.push(NAME, Punctuation(END))
    pipeline.resume()
    return end.results
