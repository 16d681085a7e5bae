"""The state of a window operator as Arrow tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from windrow.operators.state.changes import Saved, State
from windrow.operators.state.saving import load_groups, save_groups

if TYPE_CHECKING:
    from windrow.operators.aggregate.frame import WindowAggregateOperator


class HasState(Protocol):
    """Whatever can be written as tables."""

    def state(self) -> State: ...


def save(operator: WindowAggregateOperator) -> dict[str, Saved]:
    """Groups, widths of the state columns, counters, the algorithm's own tables and those of the parts there are."""
    tables = nested(windower=operator.windower, ahead=operator.bounds.ahead, early=operator.early)
    tables["groups"] = save_groups(operator.grouping.groups)
    for i, values in enumerate(operator.grouping.plan.values.values()):
        tables[f"known{i}"] = save_groups(values.known)
    facts: dict[str, Any] = {
        "layout": operator.grouping.plan.layout.to_json(),
        "counters": vars(operator.counters),
        **operator.facts(),
    }
    tables["facts"] = pa.table({"json": [json.dumps(facts)]})
    return tables


def load(operator: WindowAggregateOperator, tables: dict[str, pa.Table]) -> None:
    """Bring an operator back to what `save` wrote."""
    facts: dict[str, Any] = json.loads(tables["facts"]["json"][0].as_py())
    operator.algorithm.take_up(*facts["choice"])
    operator.grouping.plan.layout.from_json(facts["layout"])
    operator.windower.regrow(lambda table: operator.grouping.plan.layout.empty(len(table)))
    vars(operator.counters).update(facts["counters"])
    load_groups(operator.grouping.groups, tables["groups"])
    for i, values in enumerate(operator.grouping.plan.values.values()):
        load_groups(values.known, tables[f"known{i}"])
    operator.windower.restore(under("windower", tables))
    operator.set_facts(facts, under("ahead", tables))
    if operator.early is not None:
        operator.early.restore(under("early", tables))


def nested(**parts: HasState | None) -> dict[str, Saved]:
    """The tables of several parts under their names; those that are not there have none."""
    return {
        f"{name}.{inner}": table
        for name, part in parts.items()
        if part is not None
        for inner, table in part.state().items()
    }


def under(name: str, tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables of one part."""
    return {known.removeprefix(f"{name}."): t for known, t in tables.items() if known.startswith(f"{name}.")}
