"""What rows that are kept would take, by the first rows of the streams: taken in as a run would, and sealed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.operators.base import Batch
from windrow.operators.store.budget import Budget
from windrow.operators.store.row_store import RowStore
from windrow.pipeline.build import build
from windrow.plan.columns import columns_read, prune_together
from windrow.plan.nodes import Node
from windrow.sources.base import Source

FEWEST, SAMPLE = 1 << 12, 1 << 16
"""Rows from which on a sample says something, and how many of each stream are looked at."""


def describe_kept(plan: Node, sources: Mapping[str, Source]) -> list[str]:
    """A line for each column that is kept, with bytes a row; none where few rows are at hand."""
    names = columns_read(plan)
    at_hand = [name in sources and not sources[name].is_live and sources[name].total_rows for name in names]
    if any((rows or 0) < FEWEST for rows in at_hand):
        return []
    pipeline = build(*prune_together([plan]))
    budgets = [budget for stage in pipeline.stages for budget in stage.operator.budgets]
    for budget in budgets:
        budget.share(Budget(1 << 62))  # whatever is sealed stays in memory, and nothing is too small for it
    for name, columns in names.items():
        for batch in _first(sources[name].select(columns)):
            pipeline.push(name, Batch.unread(batch))
    held = [holder for budget in budgets for holder in budget.holders]
    return list(_lines([holder for holder in held if isinstance(holder, RowStore) and len(holder)]))


def _first(source: Source) -> Iterator[pa.RecordBatch]:
    """The first rows, in some batches."""
    left = SAMPLE
    with closing(source.open(batch_rows=FEWEST)) as reader:
        while left > 0 and isinstance(batch := reader.poll(), pa.RecordBatch):
            yield batch
            left -= len(batch)


@dataclass
class _Column:
    """What one column of all stores takes."""

    taken: int = 0
    kinds: Counter[str] = field(default_factory=Counter)


def _lines(stores: list[RowStore]) -> Iterator[str]:
    found: dict[str, _Column] = {}
    rows = 0
    for store in stores:
        titles: Mapping[str, str] = {} if store.sealing is None else store.sealing.titles
        for block in (one for one in store.blocks if one.is_sealed):
            rows += int(block["count"].sum()) if "count" in block else len(block)
            for name, (_, taken) in block.sizes_of_columns():
                column = found.setdefault(titles.get(name, name), _Column())
                column.taken += taken
                column.kinds.update(block.kinds(name))
    if rows < FEWEST // 2:
        return
    for title, column in found.items():
        often = ", ".join(kind for kind, _ in column.kinds.most_common(2))
        yield f"{title}: {column.taken / rows:.2f} bytes a row{often and ' as '}{often}"
    whole = sum(column.taken for column in found.values()) / rows
    yield f"in all {whole:.2f} bytes a row in blocks, exact, where plain numbers would take {_plain(stores)}"


def _plain(stores: list[RowStore]) -> int:
    """Bytes of a row whose numbers are kept as they are; where it is counted, it is not yet."""
    columns = [column for store in stores for name, column in store.nothing.columns.items() if name != "count"]
    return sum(column.itemsize if isinstance(column, np.ndarray) else 8 for column in columns)
