"""The high level inside Spark: a shard whose state is in a map of chunks. A worker keeps the shards it ran last."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from windrow.durable.manifests import damaged
from windrow.engines.spark.session.worker import settle
from windrow.pipeline.graph import state_bytes
from windrow.sharded import chunks
from windrow.sharded.bundle import Bundle, Shards
from windrow.sharded.chunks import Key, Known
from windrow.sharded.shard import Outcome
from windrow.sharded.signature import check_facts
from windrow.sharded.wire import COUNTED, OUTCOMES, opened, seal

if TYPE_CHECKING:
    import pandas
    from pyspark.sql.streaming.stateful_processor import MapState, ValueState

KEPT_BYTES = 512 << 20
"""Of all shards that a worker remembers."""
_kept: OrderedDict[tuple[str, int], tuple[str, Shards, Known]] = OrderedDict()


class SavedShards:
    """The `Shards` of a bundle, with what Spark keeps of the one whose turn it is."""

    def __init__(self, bundle: Bundle, chunks: MapState, facts: ValueState) -> None:
        self.bundle = bundle
        self.chunks = chunks
        self.facts = facts

    def run(self, number: int, bodies: Iterable[pa.Buffer]) -> pandas.DataFrame:
        """One micro-batch of a shard."""
        settle()
        shard, known = self._found(number)
        answer = _frame(shard.run(bodies))
        self._save(shard, known)
        return answer

    def _found(self, number: int) -> tuple[Shards, Known]:
        """The shard as the last micro-batch left it; it is not kept while it changes."""
        saved = self.facts.get()
        if saved is None:
            return Shards(self.bundle, number), {}
        facts: dict[str, Any] = json.loads(opened(bytes(saved[0]), number, f"the state of shard {number}"))
        mark, shard, known = _kept.pop((facts["lineage"], number), ("", None, {}))
        if shard is not None and mark == facts["mark"] and shard.bundle == self.bundle:
            return shard, known
        shard = Shards(self.bundle, number)
        check_facts(facts, shard.facts())
        tables, known = chunks.load((_key(k), bytes(v[0])) for k, v in self.chunks.iterator())
        if facts["chunks"] != chunks.digest(known):
            raise damaged(f"the state of shard {number} is not complete")
        shard.restore(facts, tables)
        shard.lineage = facts["lineage"]
        return shard, known

    def _save(self, shard: Shards, known: Known) -> None:
        mark = uuid4().hex
        now = chunks.save(shard.tables(), known, _MapStore(self.chunks))
        facts = {**shard.facts(), "mark": mark, "lineage": shard.lineage, "chunks": chunks.digest(now)}
        self.facts.update((seal(json.dumps(facts).encode(), shard.number),))
        _kept[shard.lineage, shard.number] = mark, shard, now
        while sum(state_bytes(one.pipeline.stages) for _, kept, _ in _kept.values() for one in kept.each) > KEPT_BYTES:
            _kept.popitem(last=False)


def _key(saved: Any) -> Key:
    name, place, block, patch = saved
    return str(name), int(place), int(block), int(patch)


class _MapStore:
    """Chunks in Spark's map state."""

    def __init__(self, state: MapState) -> None:
        self.state = state

    def __setitem__(self, key: Key, body: bytes) -> None:
        self.state.updateValue(key, (body,))

    def __delitem__(self, key: Key) -> None:
        self.state.removeKey(key)


def _frame(outcomes: Iterable[Outcome]) -> pandas.DataFrame:
    """Outcomes as the frame that Spark asks for; numbers that are missing stay missing."""
    import pandas as pd

    given = [asdict(outcome) for outcome in outcomes]
    columns = {name: [one[name] for one in given] for name in given[0]}
    return pd.DataFrame({n: pd.array(v, "Int64") if n in ("time", *COUNTED) else v for n, v in columns.items()})


def run_whole(bundle: Bundle, number: int, bodies: Iterable[pa.Buffer]) -> pa.RecordBatch:
    """A shard of a static frame: all of its rows at once."""
    given = [asdict(outcome) for outcome in Shards(bundle, number).run(bodies, whole=True)]
    return pa.RecordBatch.from_pylist(given, schema=OUTCOMES)
