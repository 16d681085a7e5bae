"""A circuit in a few lines: what it does, how wide it is, how many modules and how much memory it has."""

from __future__ import annotations

from windrow.hardware.design import AggregateDesign, BitLayout, CircuitAlgorithm, Field, JoinDesign, WindowQuery
from windrow.hardware.planning.joins import JoinPlan
from windrow.hardware.planning.plan import AggregatePlan, CircuitPlan
from windrow.semantics.scalars.amounts import render


def summary(plan: CircuitPlan) -> list[str]:
    """Lines of a name and what there is to say of it."""
    lines = _of_join(plan.design) if isinstance(plan, JoinPlan) else _of_aggregates(plan)
    return [f"{name:<11}{text}" for name, text in lines]


def _of_join(design: JoinDesign) -> list[tuple[str, str]]:
    rows = -(-design.left_rows // design.cores), -(-design.right_rows // design.cores)
    bits = design.cores * (rows[0] * design.left.bits + rows[1] * design.right.bits)
    return [
        ("circuit", f"handshake join, {design.variant.value}: {design.cores} cores of {rows[0]} and {rows[1]} rows"),
        ("windows", f"the last {design.left_rows:,} and {design.right_rows:,} rows, by arrival"),
        ("left", _row(design.left)),
        ("right", _row(design.right)),
        ("predicate", "every pair" if design.predicate is None else str(design.predicate)),
        ("memory", f"{bits:,} bits of rows, {design.result_depth} results a core"),
    ]


def _of_aggregates(plan: AggregatePlan) -> list[tuple[str, str]]:
    design, clock = plan.design, plan.clock
    lines = [
        ("circuit", f"{_algorithm(design)}, {design.variant.value}"),
        ("time", f"{clock.width} bits in steps of {render(clock.unit, clock.domain)}, from {plan.stream.time}"),
        ("row", _row(design.layout)),
    ]
    for number, query in enumerate(design.queries):
        if len(design.queries) > 1:
            lines.append((f"query {number}", ""))
        lines += _of_query(design, query)
    return lines


def _algorithm(design: AggregateDesign) -> str:
    if design.algorithm is CircuitAlgorithm.WID:
        return "Window-ID, a module for each open window"
    return f"panes, windows put together {design.window_level.value}ly".replace("scanly", "by scanning")


def _of_query(design: AggregateDesign, query: WindowQuery) -> list[tuple[str, str]]:
    lines = [("windows", f"range {query.range:,}, slide {query.slide:,}, slack {query.slack:,} of these steps")]
    lines += [("where", str(one)) for one in query.where]
    if query.keys:
        lines.append(("groups", f"{query.groups:,} by {', '.join(query.keys)}"))
    for part in query.parts:
        argument = "*" if part.argument is None else str(part.argument)
        sign = ", with a sign" if part.signed else ""
        lines.append(("keeps", f"{part.function.value}({argument}) in {part.width} bits{sign}"))
    modules, state = design.modules(query), query.results.bits + 1
    what = "open windows" if design.algorithm is CircuitAlgorithm.WID else "slides with open panes"
    lines.append(("modules", f"{modules:,} ({what}) of {state} bits a group"))
    if design.algorithm is CircuitAlgorithm.PANES:
        panes = query.range // query.pane
        lines.append(("memory", f"{panes:,} panes a window, {panes * query.groups * state:,} bits at least"))
    else:
        lines.append(("memory", f"{modules * query.groups * state:,} bits of state"))
    return lines


def _row(layout: BitLayout) -> str:
    named = ", ".join(f"{field.name} {_width(field)}" for field in layout.fields)
    return f"{layout.bits} bits: {named}" if layout.fields else "nothing but its time"


def _width(field: Field) -> str:
    return f"{field.width}{'+1' if field.nullable else ''}"
