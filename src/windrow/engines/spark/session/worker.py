"""What Python workers of Spark need: kernels that are compiled for what they meet there, and less to collect."""

from __future__ import annotations

import gc
from dataclasses import replace

import pyarrow as pa

from windrow.engines.local.compiling import small_data
from windrow.operators.late.judging import late_columns
from windrow.physical.make import make_divided
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Join, Late, Node, WindowAggregate
from windrow.sharded import chunks
from windrow.sharded.bundle import Bundle, Shards
from windrow.sharded.pre_aggregate import PreAggregation, bodies_of
from windrow.sharded.shard import Job

_SHARDS = (2, 0)
_settled: list[bool] = []


def compile_two_levels(plan: Node) -> None:
    """Run one small query through both levels, its state through the chunks, as rows and as partials.

    Arrays that came over the wire cannot be written to, and Numba compiles for those anew.
    """
    assert isinstance(plan, (WindowAggregate, Join))
    for asked in (plan, replace(plan, late=Late.DROP)):
        (divided,), shape = make_divided([asked]), shape_of(asked)
        job = Job(divided, _SHARDS, shape.answer, late_columns(asked), shape.time)
        shard = Shards(Bundle((job,)), 0)
        for half in (small_data().slice(0, 32), small_data().slice(32)):
            list(shard.run(_bodies(job, half)))
            store: dict[chunks.Key, bytes] = {}
            chunks.save(shard.tables(), {}, store)
            again = Shards(Bundle((job,)), 0)
            again.restore(shard.facts(), chunks.load(store.items())[0])
            shard = again


def _bodies(job: Job, data: pa.Table) -> list[bytes]:
    bodies: list[bytes] = []
    for place, exchange in enumerate(job.divided.exchanges):
        batches = data.select(exchange.stream.schema.names).to_batches()
        sent = bodies_of([PreAggregation(exchange, place, job.shards)], batches)
        bodies += [row["body"] for batch in sent for row in batch.to_pylist()]
    return bodies


def settle() -> None:
    """Take what is loaded by now out of the garbage collector's sight.

    Spark collects garbage after every task; walking all that the imports made took 85 ms each time, and found nothing.
    """
    if not _settled:
        _settled.append(True)
        gc.collect()
        gc.freeze()
