"""The state of a two-level aggregation as Arrow tables: cells by group, wherever they were, and how far stripes are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, tabled
from windrow.errors import ConfigurationError
from windrow.operators.state.cells import Cells
from windrow.operators.state.changes import Saved
from windrow.operators.state.saving import from_table, scalars, table_of
from windrow.operators.windows.two_level.group_slices import ClosingSlices

if TYPE_CHECKING:
    from windrow.operators.windows.two_level.windower import TwoLevel


def save_two_level(level: TwoLevel) -> dict[str, Saved]:
    """Cells go up to their stripes first, which changes no answer."""
    opened, held = level.content()
    closings = np.array([(closing.bound, closing.last_pane) for closing in level.closings], np.int64).reshape(-1, 2)
    return {
        "cells": _saved(opened),
        "held": _saved(held),
        "late": _late(level),
        "stripes": tabled(
            done=np.array([stripe.done for stripe in level.stripes], np.int64),
            next=np.array([stripe.next_window for stripe in level.stripes], np.int64),
        ),
        "closings": tabled(bound=closings[:, 0].copy(), last=closings[:, 1].copy()),
        "facts": scalars(
            first=level.first_pane,
            last=level.last_pane,
            next=level.timeline.next_window,
            asked=level.asked,
            size=level.size,
            collisions=level.low.collisions,
        ),
    }


def _saved(cells: Cells) -> pa.Table:
    order = np.lexsort((cells.codes, cells.panes))
    return table_of(cells.panes[order], cells.codes[order], cells.state.take(order))


def _late(level: TwoLevel) -> pa.Table:
    """Late cells with how many closings they wait for, in the order in which they came to their stripe."""
    waiting = [(turn, cells) for stripe in level.stripes for turn, cells in stripe.late]
    nothing = Cells(np.empty(0, np.int64), np.empty(0, np.int32), level.layout.empty(0))
    cells = Cells.joined([nothing, *(cells for _, cells in waiting)])
    turns = np.repeat(*np.array([(0, 0), *((turn, len(cells)) for turn, cells in waiting)], np.int64).T)
    return table_of(cells.panes, cells.codes, cells.state).append_column("turn", arrow(turns))


def load_two_level(level: TwoLevel, tables: dict[str, pa.Table]) -> None:
    facts = tables["facts"].to_pylist()[0]
    if facts["size"] != level.size:
        raise ConfigurationError(
            "must be as large as in the run that wrote the checkpoint",
            parameter="flush_rows",
            value=level.size,
            allowed=(facts["size"],),
        )
    level.first_pane, level.last_pane, level.asked = facts["first"], facts["last"], facts["asked"]
    level.swept, level.low.collisions = level.asked, facts["collisions"]
    level.timeline.skip_to(facts["next"])
    level.closings = [ClosingSlices(row["bound"], row["last"]) for row in tables["closings"].to_pylist()]
    opened, held = (Cells(*from_table(tables[name], level.layout)) for name in ("cells", "held"))
    stripes = (tables["stripes"][name].combine_chunks().to_numpy() for name in ("done", "next"))
    level.fill(opened, held, *stripes)
    _load_late(level, tables["late"])


def _load_late(level: TwoLevel, table: pa.Table) -> None:
    late, turns = Cells(*from_table(table, level.layout)), table["turn"].combine_chunks().to_numpy()
    for turn in np.unique(turns).tolist():
        for place, cells in level.by_stripe(late.take(turns == turn)):
            level.stripes[place].late.append((turn, cells))
