"""Values of windows: added up, and forgotten with the windows that held them."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.engines.local import LocalOptions
from windrow.engines.local.run import Runner
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.state.groups import COMPACT_ABOVE
from windrow.operators.state.values.multisets import Multiset, total


@pytest.mark.parametrize("number", [0, 1, 2, 3, 8, 13])
def test_the_total_of_multisets(number: int) -> None:
    chance = random.Random(number)
    rows = [[(chance.randrange(3), chance.randrange(5)) for _ in range(chance.randrange(9))] for _ in range(number)]
    whole = total(
        Multiset.of(np.array([c for c, _ in part], np.int32), np.array([k for _, k in part], np.int64)) for part in rows
    )
    expected = sorted(Counter(row for part in rows for row in part).items())
    assert expected == [
        ((c, k), n) for c, k, n in zip(whole.codes.tolist(), whole.keys.tolist(), whole.counts.tolist(), strict=True)
    ]


SIZE = 6 * COMPACT_ABOVE
ASKED = {"all": wr.collect("k"), "usual": wr.mode("k"), "last": wr.last("k"), "least": wr.min("k")}
WINDOWS: dict[str, tuple[dict[str, Any], str]] = {
    "panes": ({"range": 100, "slide": 50}, "panes"),
    "wid": ({"range": 100, "slide": 50}, "wid"),
    "buffer": ({"range": 100, "slide": 50}, "buffer"),
    "session": ({"gap": 2}, "auto"),
}


@pytest.mark.parametrize("emit", ["nonempty", "empty"])
@pytest.mark.parametrize("window", WINDOWS)
def test_values_are_forgotten_with_their_windows(window: str, emit: str) -> None:
    times = np.arange(SIZE) // 10 * 15 + np.arange(SIZE) % 10
    texts: Any = pa.array(np.arange(SIZE) * 7919 % SIZE).cast(pa.string())
    columns: dict[str, Any] = {"t": times, "k": texts}
    stream = wr.stream(pa.table(columns), time="t", progress=wr.ordered())
    spec, strategy = WINDOWS[window]
    query = stream.window(**spec).agg(**ASKED).emit(emit).strategy(strategy)
    runner = Runner(query.plan, query.sources, LocalOptions(batch_rows=1000))
    found: list[dict[str, Any]] = []
    runner.deliver(lambda batch: found.extend(batch.to_pylist()), lambda _: None)
    runner.run()
    low, high = ("window_start", "window_end")
    listed = texts.to_pylist()
    for row in found[:: len(found) // 50]:
        inside = listed[int(np.searchsorted(times, row[low])) : int(np.searchsorted(times, row[high]))]
        expected = {"all": inside, "usual": min(inside), "last": inside[-1], "least": min(inside)}
        assert expected == {name: row[name] for name in ASKED}
    operator: Any = next(s.operator for s in runner.pipeline.stages if isinstance(s.operator, WindowAggregateOperator))
    assert all(values.known.count < 2 * COMPACT_ABOVE for values in operator.grouping.plan.values.values())
