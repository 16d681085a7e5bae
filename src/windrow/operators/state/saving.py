"""State as named Arrow tables, and back; where a structure knows what changed of a table, that goes along."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, numbers_of, tabled
from windrow.aggregates.kinds.base import Custom, Integers
from windrow.aggregates.kinds.custom import UserAggregate
from windrow.operators.kernels.panes.sliding import ACTIVE, HEAD, TAIL
from windrow.operators.state.cells import CellTable
from windrow.operators.state.changes import Appended, Chosen, Marks, Saved, Stamped, Tracked
from windrow.operators.state.customs import CustomCells, CustomState, PanedStates
from windrow.operators.state.groups import Codes, Groups
from windrow.operators.state.kinds import ADDS
from windrow.operators.state.layout import Layout, Table
from windrow.operators.state.state_columns import state_columns, state_of
from windrow.operators.state.timeline import Timeline
from windrow.operators.state.values.multisets import Multiset
from windrow.operators.state.values.paned_values import PanedValues
from windrow.operators.state.values.value_rows import ValueRows
from windrow.semantics.progress.policies import START


def table_of(places: Integers, codes: Codes, state: Table) -> pa.Table:
    return pa.table({"place": arrow(places), "code": arrow(codes), **state_columns(state)})


def from_table(table: pa.Table, layout: Layout) -> tuple[Integers, Codes, Table]:
    return numbers_of(table, "place"), codes_of(table), state_of(table, layout.widths)


def codes_of(table: pa.Table) -> Codes:
    return numbers_of(table, "code").astype(np.int32)


def scalars(**values: int) -> pa.Table:
    return pa.table({name: pa.array([value], pa.int64()) for name, value in values.items()})


def scalars_of(table: pa.Table) -> list[int]:
    """What `scalars` was given, in its order."""
    return list(table.to_pylist()[0].values())


def tracked(marks: Marks, places: Integers, codes: Codes, state: Table) -> Tracked:
    """Cells with marks of what changed."""

    def make(chosen: Chosen) -> pa.Table:
        return table_of(places[chosen], codes[chosen], state.take(chosen))

    return Tracked(marks, places, codes, make)


def save_cells(cells: CellTable) -> dict[str, Saved]:
    return {"cells": tracked(cells.marks, *cells.content())}


def load_cells(cells: CellTable, tables: dict[str, pa.Table]) -> None:
    cells.fill(*from_table(tables["cells"], cells.layout))


def save_timeline(timeline: Timeline) -> dict[str, Saved]:
    """What a window holds is made again from its cells, unless it never lets go of any."""
    timeline.forget(at_once=True)
    count, groups = timeline.count, np.arange(len(timeline.running))
    tables: dict[str, Saved] = {
        "timeline": tracked(
            timeline.marks, timeline.panes[:count], timeline.codes[:count], timeline.cells.take(slice(count))
        ),
        "room": scalars(groups=len(groups)),
        **_save_position(timeline),
    }
    if timeline.forever:
        tables["running"] = tracked(timeline.group_marks, groups, groups.astype(np.int32), timeline.running)
    return tables


def _save_position(timeline: Timeline) -> dict[str, Saved]:
    active = timeline.active[: int(timeline.position[ACTIVE])]
    return {
        "active": Stamped(timeline.listing, lambda: tabled(code=active)),
        "position": tabled(value=timeline.position),
    }


def load_timeline(timeline: Timeline, tables: dict[str, pa.Table]) -> None:
    panes, codes, state = from_table(tables["timeline"], timeline.layout)
    order = np.lexsort((codes, panes))
    timeline.append(panes[order], codes[order], state.take(order))
    timeline.reserve_groups(*scalars_of(tables["room"]))
    _load_position(timeline, tables)
    if timeline.forever:
        groups, _, running = from_table(tables["running"], timeline.layout)
        timeline.running = timeline.layout.grown(running.take(np.argsort(groups)), len(timeline.running))
        return
    inside = slice(int(timeline.position[TAIL]), int(timeline.position[HEAD]))
    ADDS.combine(timeline.codes[inside], timeline.cells.adds[inside], timeline.running.adds)


def save_row_timeline(timeline: Timeline) -> dict[str, Saved]:
    """Its cells are single rows, of which several may be of one time and group."""
    timeline.forget(at_once=True)
    count, groups = timeline.count, np.arange(len(timeline.running))
    return {
        "timeline": table_of(timeline.panes[:count], timeline.codes[:count], timeline.cells.take(slice(count))),
        "running": table_of(groups, groups.astype(np.int32), timeline.running),
        **_save_position(timeline),
    }


def load_row_timeline(timeline: Timeline, tables: dict[str, pa.Table]) -> None:
    timeline.append(*from_table(tables["timeline"], timeline.layout))
    _, _, running = from_table(tables["running"], timeline.layout)
    timeline.reserve_groups(len(running))
    timeline.running = timeline.layout.grown(running, len(timeline.running))
    _load_position(timeline, tables)


def _load_position(timeline: Timeline, tables: dict[str, pa.Table]) -> None:
    """The stacks are built anew at the next report."""
    timeline.position[:] = numbers_of(tables["position"], "value")
    active = codes_of(tables["active"])
    timeline.active[: len(active)] = active
    timeline.listed[active] = 1
    timeline.stale = True


def save_multisets(panes: Iterable[tuple[int, Multiset]]) -> pa.Table:
    items = [(START, Multiset.nothing()), *panes]
    return tabled(
        place=np.concatenate([np.full(len(m.codes), p) for p, m in items]),
        code=np.concatenate([m.codes for _, m in items]),
        key=np.concatenate([m.keys for _, m in items]),
        count=np.concatenate([m.counts for _, m in items]),
    )


def load_multisets(table: pa.Table) -> dict[int, Multiset]:
    places, codes = numbers_of(table, "place"), codes_of(table)
    keys, counts = numbers_of(table, "key"), numbers_of(table, "count")
    cuts = np.concatenate([[0], np.flatnonzero(np.diff(places)) + 1, [len(places)]])
    return {int(places[a]): Multiset(codes[a:b], keys[a:b], counts[a:b]) for a, b in pairwise(cuts.tolist()) if b > a}


def save_values(store: PanedValues, name: str) -> dict[str, pa.Table]:
    return {
        f"{name}.open": store.open.table(),
        f"{name}.panes": save_multisets(store.panes.items()),
        f"{name}.window": save_multisets([(0, store.window.now)]),
        f"{name}.inside": scalars(first=store.inside[0], last=store.inside[1]),
    }


def load_values(store: PanedValues, name: str, tables: dict[str, pa.Table]) -> None:
    store.open.fill(tables[f"{name}.open"])
    store.panes = load_multisets(tables[f"{name}.panes"])
    store.window.change(load_multisets(tables[f"{name}.window"]).get(0, Multiset.nothing()), Multiset.nothing())
    first, last = scalars_of(tables[f"{name}.inside"])
    store.inside = first, last


def save_custom(cells: CustomCells) -> pa.Table:
    states = {f"state{j}": column for j, column in enumerate(cells.state.columns)} if len(cells) else {}
    return tabled(place=cells.places, code=cells.codes, **states)


def load_custom(table: pa.Table, part: Custom) -> CustomCells:
    if table.num_rows == 0:
        return CustomCells.nothing(part)
    columns = tuple(numbers_of(table, name) for name in table.column_names[2:])
    codes = codes_of(table)
    assert isinstance(part.aggregate, UserAggregate)
    return CustomCells(numbers_of(table, "place"), codes, CustomState(part.aggregate, columns))


def save_states(store: PanedStates, name: str) -> dict[str, pa.Table]:
    panes = [store.panes[pane] for pane in sorted(store.panes)]
    return {
        f"{name}.open": save_custom(store.open),
        f"{name}.panes": save_custom(reduce(CustomCells.plus, panes, store.nothing)),
        f"{name}.back": save_custom(store.back if store.forever else store.nothing),
    }


def load_states(store: PanedStates, name: str, tables: dict[str, pa.Table]) -> None:
    """Panes inside the window are pushed again by the next slide."""
    store.open, closed, store.back = (
        load_custom(tables[f"{name}.{kept}"], store.part) for kept in ("open", "panes", "back")
    )
    store.file(closed)


def save_rows_kept(kept: ValueRows) -> dict[str, pa.Table]:
    values = {f"values{i}": log.table() for i, log in enumerate(kept.logs.values())}
    return values | {f"custom{i}": save_custom(cells) for i, cells in enumerate(kept.customs.values())}


def load_rows_kept(kept: ValueRows, tables: dict[str, pa.Table]) -> None:
    for i, log in enumerate(kept.logs.values()):
        log.fill(tables[f"values{i}"])
    for i, part in enumerate(kept.customs):
        kept.customs[part] = load_custom(tables[f"custom{i}"], part)


def save_rows(windower: Any) -> dict[str, pa.Table]:
    span = scalars(high=windower.high, low=windower.low, closed=windower.closed)
    return {**save_rows_kept(windower.rows_kept), "span": span}


def load_rows(windower: Any, tables: dict[str, pa.Table]) -> None:
    load_rows_kept(windower.rows_kept, tables)
    windower.high, windower.low, windower.closed = scalars_of(tables["span"])


def save_groups(groups: Groups) -> Appended:
    """The keys of all groups in order of their codes."""

    def make(start: int, end: int) -> pa.Table:
        arrays = groups.keys(start, end)
        return pa.table(arrays, names=[f"key{i}" for i in range(len(arrays))])

    return Appended(groups, groups.count if groups.kinds else 0, make)


def load_groups(groups: Groups, table: pa.Table) -> None:
    if groups.kinds and table.num_rows:
        groups.encode([column.combine_chunks() for column in table.columns])
