"""The map of a circuit as JSON: where every value lies, what times mean, what is counted and what can be set."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from amaranth.lib import wiring

from windrow.hardware.circuits.configuration import registers_of
from windrow.hardware.design import COUNTERS, BitLayout, Field
from windrow.hardware.planning.columns import CircuitColumn
from windrow.hardware.planning.joins import JoinPlan
from windrow.hardware.planning.plan import AggregatePlan, CircuitPlan
from windrow.hardware.planning.windows import ResultColumns
from windrow.hardware.verilog import CLOCK, RESET, ports_of
from windrow.hardware.wire import RecordLayout
from windrow.semantics.scalars.amounts import Domain, render

VERSION = 1


def map_text(plan: CircuitPlan, circuit: wiring.Component, module: str) -> str:
    return json.dumps(circuit_map(plan, circuit, module), indent=2, default=str) + "\n"


def circuit_map(plan: CircuitPlan, circuit: wiring.Component, module: str) -> dict[str, Any]:
    """Everything that one who feeds a circuit, or reads from it, must know. Bits count from the lowest, which is 0."""
    ports = ports_of(circuit).values()
    return {
        "map": VERSION,
        "module": module,
        "clock": CLOCK,
        "reset": RESET,
        "ports": {
            port.name: {
                "bits": port.bits,
                "direction": "in" if port.is_input else "out",
                "members": {name: [low, bits] for name, low, bits in port.members},
            }
            for port in ports
        },
        **(_join(plan) if isinstance(plan, JoinPlan) else _aggregate(plan)),
    }


def _join(plan: JoinPlan) -> dict[str, Any]:
    design = plan.design
    return {
        "join": {
            "cores": design.cores,
            "rows": [design.left_rows, design.right_rows],
            "predicate": None if design.predicate is None else str(design.predicate),
            "left": _columns(plan.columns[0].values(), design.left),
            "right": _columns(plan.columns[1].values(), design.right),
        },
        "counters": ["lost"],
    }


def _aggregate(plan: AggregatePlan) -> dict[str, Any]:
    design, clock = plan.design, plan.clock
    named = {column.name: column for column in plan.columns.values()}
    return {
        "time": {
            "column": plan.stream.time,
            "bits": clock.width,
            "unit": clock.unit,
            "unit_of": "microseconds since 1970" if clock.domain is Domain.TIME else "the column's own",
            "unit_text": render(clock.unit, clock.domain),
            "origin": clock.origin,
            "cycle": clock.cycle,
            "zero": "a time at which windows end (origin + k * cycle), not above the first promise; times wrap around",
        },
        "row": {"bits": design.layout.bits, "columns": _columns(named.values(), design.layout)},
        "queries": [_query(reading, number, plan) for number, reading in enumerate(plan.queries)],
        "counters": list(COUNTERS),
        "registers": [
            {
                "address": one.address,
                "query": one.query,
                "name": one.name,
                "bits": one.width,
                "signed": one.signed,
                "value": one.value,
            }
            for one in (registers_of(design) if design.configurable else ())
        ],
        "frames": {
            layout.kind: {
                "schema_id": layout.schema_id,
                "bytes": layout.size,
                "control": list(layout.control),
                "fields": {name: list(place) for name, place in layout.places.items()},
            }
            for layout in (RecordLayout.of_elements(design), RecordLayout.of_results(design))
        },
    }


def _columns(columns: Iterable[CircuitColumn], layout: BitLayout) -> list[dict[str, Any]]:
    return [
        {
            **_field(one.field, layout),
            "type": str(one.kind),
            **({"dictionary": list(one.dictionary)} if one.dictionary is not None else {}),
        }
        for one in columns
    ]


def _field(field: Field, layout: BitLayout) -> dict[str, Any]:
    low = layout.offsets[field.name]
    null = {"null_bit": low + field.width} if field.nullable else {}
    return {"name": field.name, "low": low, "bits": field.width, "signed": field.signed, **null}


def _query(reading: ResultColumns, number: int, plan: AggregatePlan) -> dict[str, Any]:
    query, keys = plan.design.queries[number], plan.design.key_layouts[number]
    columns = {column.name: column for _, column in reading.keys}
    parts = zip(query.parts, query.results.fields, strict=True)
    return {
        "range": query.range,
        "slide": query.slide,
        "slack": query.slack,
        "groups": query.groups,
        "where": [str(one) for one in query.where],
        "keys": _columns((columns[field.name] for field in keys.fields), keys),
        "parts": [
            {**_field(field, query.results), "function": part.function.value, "argument": str(part.argument or "*")}
            for part, field in parts
        ],
        "answers": [
            {"name": one.name, "function": one.function, "parts": list(one.parts), "type": str(one.kind)}
            for one in reading.answers
        ],
    }
