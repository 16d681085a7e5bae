"""What Python workers of Spark need: kernels that are compiled for what they meet there, and less to collect."""

from __future__ import annotations

import gc
from dataclasses import replace

import pyarrow as pa

from windrow.engines.local.compiling import small_data
from windrow.plan.nodes import Join, Late, Node, WindowAggregate
from windrow.sharded import chunks
from windrow.sharded.bundle import Reading, Shards, bundled
from windrow.sharded.pre_aggregate import bodies_of

_SHARDS = (2, 0)
_settled: list[bool] = []


def compile_two_levels(plan: Node) -> None:
    """Run one small query through both levels, its state through the chunks, as rows and as partials.

    Arrays that came over the wire cannot be written to, and Numba compiles for those anew.
    """
    assert isinstance(plan, (WindowAggregate, Join))
    for asked in (plan, replace(plan, late=Late.DROP)):
        bundle, readings = bundled([asked], _SHARDS)
        shard = Shards(bundle, 0)
        for half in (small_data().slice(0, 32), small_data().slice(32)):
            list(shard.run(body for reading in readings for body in _bodies(reading, half)))
            store: dict[chunks.Key, bytes] = {}
            chunks.save(shard.tables(), {}, store)
            again = Shards(bundle, 0)
            again.restore(shard.facts(), chunks.load(store.items())[0])
            shard = again


def _bodies(reading: Reading, data: pa.Table) -> list[bytes]:
    sent = bodies_of(reading, data.select(reading[0].exchange.stream.schema.names).to_batches())
    return [row["body"] for batch in sent for row in batch.to_pylist()]


def settle() -> None:
    """Take what is loaded by now out of the garbage collector's sight.

    Spark collects garbage after every task; walking all that the imports made took 85 ms each time, and found nothing.
    """
    if not _settled:
        _settled.append(True)
        gc.collect()
        gc.freeze()
