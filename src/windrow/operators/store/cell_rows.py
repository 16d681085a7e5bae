"""Rows that are cells of their own: place, group and state of each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Layout, Table
from windrow.operators.store.row_block import RowBlock


def cell_rows(places: Integers, codes: Codes, state: Table) -> RowBlock:
    return RowBlock({"place": places, "code": codes, "add": state.adds, "max": state.maxs, "pair": state.pairs})


def no_cell_rows(layout: Layout) -> RowBlock:
    return cell_rows(np.empty(0, np.int64), np.empty(0, np.int32), layout.empty(0))


def state_of(rows: RowBlock) -> Table:
    return Table(rows["add"], rows["max"], rows["pair"])


def converting(convert: Callable[[Table], Table]) -> Callable[[RowBlock], RowBlock]:
    """What does to rows what a conversion does to their state."""

    def converted(rows: RowBlock) -> RowBlock:
        state = convert(state_of(rows))
        return rows.having({"add": state.adds, "max": state.maxs, "pair": state.pairs})

    return converted
