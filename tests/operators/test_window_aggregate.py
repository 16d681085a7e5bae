"""What a window operator promises of its results."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.semantics.progress import External, Punctuation

LATE_AFTER_A_LULL: list[Any] = [{"t": 5}, Punctuation(100), {"t": 47}, Punctuation(200), {"t": 250}]
NOTHING_IN_TIME: list[Any] = [Punctuation(100), {"t": 47}, Punctuation(200), {"t": 33}, {"t": 250}]


@pytest.mark.parametrize("strategy", ["panes", "buffer"])
@pytest.mark.parametrize("elements", [LATE_AFTER_A_LULL, NOTHING_IN_TIME], ids=["lull", "nothing in time"])
def test_no_landmark_result_comes_below_the_promise(elements: list[Any], strategy: str) -> None:
    """A late row asks for windows that no row asked for before: after 5 and punctuation 100, 47 asks for 20 to 50."""

    def landmarks() -> wr.Query:
        stream = wr.stream(list(elements), time="t", progress=External(), schema=pa.schema({"t": pa.int64()}))
        return stream.window(range="unbounded", slide=10).agg(n=wr.count()).strategy(strategy)

    plain: Any = landmarks().run().table
    nested: Any = landmarks().window(range=50).agg(windows=wr.count(), total=wr.sum("n")).run().table
    assert plain.num_rows == sum(nested["windows"].to_pylist())
    assert sum(plain["n"].to_pylist()) == sum(nested["total"].to_pylist())
