"""Windows that are folded from coded blocks have the answers of those that are computed from their rows."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from windrow.operators.store import sealing
from windrow.operators.windows import buffer, folded_rows
from windrow.operators.windows.folded_rows import FoldedRows

MOST = (1 << 63) - 1
STRANGE = np.array([np.nan, -0.0, 0.0, np.inf, -np.inf, 5e-324, 1e300])
ASKED = {
    "n": wr.count(),
    "s": wr.sum("x"),
    "a": wr.avg("x"),
    "least": wr.min("x"),
    "most": wr.max("x"),
    "m": wr.median("x"),
    "q": wr.quantile("x", 0.9),
    "d": wr.count_distinct("x"),
    "v": wr.variance("x"),
    "l": wr.last("x"),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Rows in disorder with one value, mostly not NULL, and a group that mostly is one."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    size = draw(st.integers(1, 400))
    times = np.arange(size) + random.integers(0, 30, size)
    kind = draw(st.sampled_from(("cents", "counts", "wide", "decimals", "strange", "flags")))
    x: Any = random.integers(-500, 500, size) + np.repeat(random.integers(-9, 9, size) * 1000, 50)[:size]
    if kind == "wide":
        x = random.integers(-MOST // size, MOST // size, size)
    elif kind == "flags":
        x = x.astype(np.uint8).astype(np.uint64)
    elif kind == "counts":
        x = x.astype(np.int32)
    elif kind != "cents":
        x = np.round(x / 100, 2)
    if kind == "strange":
        x[random.integers(0, size, 3)] = random.choice(STRANGE, 3)
    missing = random.random(size) < draw(st.sampled_from((0.0, 0.0, 0.0, 0.01)))
    group = np.arange(size) * draw(st.integers(0, 1)) // 150
    return pa.table({"t": pa.array(times), "x": pa.array(x, mask=missing, from_pandas=False), "g": pa.array(group)})


def answers(table: pa.Table, asked: dict[str, Any], mode: str, *, keys: bool, batch: int, slide: int) -> list[Any]:
    batches = [table.slice(at, batch) for at in range(0, len(table), batch)]
    stream = wr.stream(iter(batches), time="t", progress=wr.slack(30), schema=table.schema)
    grouped = stream.group_by("g") if keys else stream
    query = grouped.window(range=90, slide=slide).strategy("buffer").agg(**asked).compress(mode)
    rows = query.collect().to_pylist()
    return sorted([{name: repr(value) for name, value in row.items()} for row in rows], key=str)


@settings(max_examples=80)
@given(
    tables(),
    st.sets(st.sampled_from(sorted(ASKED)), min_size=1),
    st.booleans(),
    st.sampled_from((7, 64, 200)),
    st.data(),
)
def test_answers_are_those_without_blocks(
    table: pa.Table, names: set[str], keys: bool, batch: int, data: st.DataObject
) -> None:
    asked, slide = {name: ASKED[name] for name in sorted(names)}, data.draw(st.sampled_from((10, 45, 90)))
    expected = answers(table, asked, "off", keys=keys, batch=batch, slide=slide)
    with ExitStack() as stack:
        stack.enter_context(patch.object(sealing, "BLOCK_ROWS", data.draw(st.sampled_from((4, 64)))))
        stack.enter_context(patch.object(folded_rows, "FEWEST", data.draw(st.sampled_from((1, 30)))))
        stack.enter_context(patch.object(buffer, "UNPACKED", data.draw(st.sampled_from((50, 1000)))))
        assert expected == answers(table, asked, "blocks", keys=keys, batch=batch, slide=slide)


@pytest.mark.parametrize("names", [["n", "s", "a", "least", "most", "m"], ["m"], ["least"], ["d"]])
def test_rows_of_one_group_are_not_unpacked(names: list[str]) -> None:
    random = np.random.default_rng(1)
    table = pa.table({"t": pa.array(np.arange(9000)), "x": pa.array(random.integers(0, 900, 9000))})
    stream = wr.stream(table, time="t", progress=wr.slack(0))
    query = stream.window(range=6000, slide=1500).strategy("buffer").agg(**{n: ASKED[n] for n in names})
    expected = query.compress("off").collect()
    with (
        patch.object(buffer.Buffer, "_rows", side_effect=AssertionError),
        patch.object(FoldedRows, "put", autospec=True, side_effect=FoldedRows.put) as put,
    ):
        assert expected == query.compress("blocks").collect()
    assert put.called
