"""The small queries of `windrow compile` run, and between them call the hot loops of every kind of window."""

from __future__ import annotations

import pytest

from windrow.engines.local.compiling import (
    compile_blocks,
    compile_datagrams,
    compile_for,
    small_joins,
    small_queries,
)
from windrow.operators.kernels import datagrams, hashing, input, searching
from windrow.operators.kernels.compression import columns
from windrow.operators.kernels.joins import index as join_index
from windrow.operators.kernels.joins import scan as join_scan
from windrow.operators.kernels.panes import cells, sliding
from windrow.operators.kernels.planes import different, folding, ranks
from windrow.operators.kernels.rows import multisets, sessions
from windrow.plan.nodes import Node

QUERIES = {**dict(small_queries()), **dict(small_joins())}
CALLED = (
    cells.admit,
    cells.sweep,
    columns.first_damaged,
    columns.read_column,
    columns.take_rows,
    columns.write_column,
    datagrams.bare,
    datagrams.deframe,
    datagrams.gather,
    datagrams.gather_codes,
    datagrams.owners_of,
    different.count_different,
    folding.fold_extremes,
    folding.fold_sums,
    hashing.fold,
    hashing.hash_strings,
    hashing.hash_words,
    hashing.spread,
    input.cut_points,
    input.cut_points_rows,
    join_index.find_offsets,
    join_index.find_ends,
    join_index.find_starts,
    join_index.merge_order,
    join_index.scan,
    join_index.sort_groups,
    join_scan.scan_one,
    multisets.apply_changes,
    multisets.at_ranks,
    ranks.find_ranks,
    searching.find_cells,
    sessions.label_sessions,
    sliding.plan_answers,
    sliding.slide_greatest,
)


@pytest.mark.parametrize("plan", QUERIES.values(), ids=QUERIES)
def test_each_query_runs(plan: Node) -> None:
    compile_for(plan)


def test_all_together_compile_the_kernels_that_queries_wait_for() -> None:
    for plan in QUERIES.values():
        compile_for(plan)
    compile_blocks()
    compile_datagrams()
    assert [] == [kernel.__name__ for kernel in CALLED if not getattr(kernel, "signatures", [])]
