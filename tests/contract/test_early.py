"""Early results on every engine: what is given less what is taken back is the answer."""

from __future__ import annotations

from dataclasses import replace

import windrow as wr
from tests.contract.engines import Engine, plain, rounded_names, same_on_connect
from tests.contract.streams import ALL, BOUNDED, SCHEMA, SIZE, punctuated
from tests.engines.local.answers.test_early import replayed, told
from windrow.plan.nodes import WindowAggregate


@same_on_connect
def test_early_results_are_taken_back(engine: Engine) -> None:
    """Of partials and of rows."""
    elements = punctuated(21, 0, batches=5)
    stream = wr.stream(elements, time="ts", schema=SCHEMA, progress=wr.punctuated(), name="s")
    windows = stream.group_by("k").window(range=60, slide=20)
    queries = [windows.agg(**spec).early(25) for spec in (BOUNDED, ALL)]
    for query, found in zip(queries, engine.run_each(queries, SIZE), strict=True):
        assert isinstance(query.plan, WindowAggregate)
        expected = engine.expected(replace(query.plan, early=None), {"s": elements}, SIZE)
        results = found.table.to_pylist()
        rounded = rounded_names(query.plan)
        assert plain(expected.results, rounded) == plain(told(results, "final"), rounded)
        assert told(results, "early")
        replayed(results)
