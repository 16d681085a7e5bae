"""The walk of a row on Spark, as docs/architecture.md tells it: the very modules, in the very order."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

import windrow as wr
from windrow.sharded.bundle import Shards, bundled
from windrow.sharded.pre_aggregate import bodies_of

ROOT = Path(__file__).resolve().parents[1]


def written_walk() -> list[str]:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    walk = page.partition("<!-- walk of a row on Spark -->")[2].partition("\n## ")[0]
    return re.findall(r"^\d+\. `([\w/]+)\.py`", walk, re.MULTILINE)


def is_set_up(frame: FrameType | None) -> bool:
    """Whether a call is part of making something, before any row comes."""
    return frame is not None and (frame.f_code.co_name in ("__init__", "_begin") or is_set_up(frame.f_back))


def test_the_walk_of_a_row_is_the_one_that_is_written_down() -> None:
    walk = written_walk()
    assert 10 <= len(walk) <= 15
    met: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and not is_set_up(frame):
            met.setdefault(frame.f_globals.get("__name__", "").removeprefix("windrow.").replace(".", "/"))

    rows = pa.table({"ts": range(100), "k": ["a", "b"] * 50, "x": range(100)})
    stream = wr.stream(rows, time="ts", progress=wr.slack(10), name="s").where("x > 10")
    query = stream.group_by("k").window(range=20, slide=10).agg(n=wr.count(), most=wr.max("x"))
    bundle, readings = bundled([query.plan], (0, 1))
    shards = [Shards(bundle, number) for number in (0, 1)]
    sys.setprofile(note)
    try:
        sent = list(bodies_of(readings[0], rows.to_batches(), ends=True))
        for shard in shards:
            mine = (one.filter(pa.array([n == shard.number for n in one["shard"].to_pylist()])) for one in sent)
            list(shard.run([body.as_buffer() for one in mine for body in one["body"]]))
    finally:
        sys.setprofile(None)
    assert walk == [module for module in met if module in walk], list(met)
