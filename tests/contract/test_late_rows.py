"""Rows that were late although nobody chose to lose them, on every engine."""

from __future__ import annotations

import pyarrow as pa
import pytest

import windrow as wr
from tests.contract.engines import Engine, same_on_connect
from windrow.semantics.progress.lateness import Jump

FAR = 1 << 50


@same_on_connect
def test_lost_rows_are_warned_of_and_the_row_that_made_them_late_is_named(engine: Engine) -> None:
    steady = list(range(0, 830, 10))
    times = [*steady[:41], FAR, *steady[41:]]  # the last row of the second micro-batch
    table = pa.table({"t": times, "k": [time % 3 for time in times]})
    stream = wr.stream(table, time="t", progress=wr.slack(5), name="s")
    query = stream.group_by("k").window(range=40, slide=20).agg(n=wr.count())
    with pytest.warns(wr.LateRowsWarning, match=r"\Aquery 1: 42 of 84 rows came too late and are missing") as caught:
        lost, chosen = (one.metrics for one in wr.run([query, query.late("drop")], **engine.options(21)))
    assert 1 == len(caught)
    assert [42, 42, 42, 0] == [lost.rows_late, lost.rows_lost, chosen.rows_late, chosen.rows_lost]
    row, batch = Jump(41, FAR, FAR - steady[40], 42), Jump(1, FAR, FAR - steady[20], 42, "micro-batch")
    expected, named = (row, "Row 42") if engine.spark is None else (batch, "Micro-batch 1")
    assert (expected, FAR - steady[41]) == (lost.sources["s"].jump, lost.sources["s"].behind)
    assert f" {named} of s (time 1,125,899,906,842,624) moved progress " in str(caught[0].message)
