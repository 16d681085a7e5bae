"""The door of planning: from the plans of queries to a design and what is needed to feed and to read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from windrow.errors import ConfigurationError, UnsupportedError
from windrow.hardware.design import AggregateDesign, Merge, Variant, WindowLevel
from windrow.hardware.planning.columns import CircuitColumn, circuit_columns, layout_of, string_columns
from windrow.hardware.planning.joins import JoinPlan, JoinRows, join_plan, join_rows
from windrow.hardware.planning.options import CircuitOptions, chosen
from windrow.hardware.planning.times import CircuitClock, check_policy, clock_of
from windrow.hardware.planning.windows import ResultColumns, WindowRows, algorithm_of, window_query, window_rows
from windrow.physical.make import make
from windrow.plan.columns import prune_together
from windrow.plan.nodes import Node, Stream
from windrow.plan.types.kinds import domain_of
from windrow.semantics.joins import LEFT, RIGHT
from windrow.semantics.progress.policies import External, SlackRows
from windrow.semantics.scalars.amounts import Domain, render


@dataclass(frozen=True)
class AggregatePlan:
    """The design of window aggregates over one stream, and what is needed to feed it and to read its results."""

    design: AggregateDesign
    stream: Stream
    clock: CircuitClock
    columns: dict[str, CircuitColumn]
    queries: tuple[ResultColumns, ...]


MOST_MODULES = 1024
CircuitPlan: TypeAlias = AggregatePlan | JoinPlan
Asked: TypeAlias = tuple[WindowRows, ...] | JoinRows


def asked_of(plans: Sequence[Node]) -> Asked:
    """What queries ask of one circuit, before anything is known of its data; refused where no circuit does it."""
    made = [make([plan])[0] for plan in prune_together(plans)]
    joins = [join_rows(plan) for plan in made]
    if joins[0] is not None and len(plans) == 1:
        return joins[0]
    if any(join is not None for join in joins):
        raise UnsupportedError("a circuit is one join, or window aggregates over one stream", hint="synthesise each")
    rows = tuple(map(window_rows, made))
    for one in rows:
        check_policy(one.stream)
    if any(one.stream != rows[0].stream for one in rows):
        names = ", ".join(dict.fromkeys(one.stream.name for one in rows))
        raise UnsupportedError(
            "must be over one stream to share a circuit", parameter="queries", value=names, hint="synthesise each alone"
        )
    return rows


def strings_of(asked: Asked) -> dict[str, list[tuple[str, str]]]:
    """For each stream its columns that need a dictionary, each with its name in the circuit."""
    if isinstance(asked, JoinRows):
        found: dict[str, list[tuple[str, str]]] = {}
        for side in (LEFT, RIGHT):
            stream, sources = asked.streams[side], asked.node.names_of(side)
            columns = {name: sources[name] for name in asked.reads(side)}
            texts = string_columns(stream.schema, columns.values())
            found.setdefault(stream.name, []).extend((c, name) for name, c in columns.items() if c in texts)
        return found
    stream = asked[0].stream
    read = [name for rows in asked for name in rows.reads]
    return {stream.name: [(name, name) for name in dict.fromkeys(string_columns(stream.schema, read))]}


def check_plans(plans: Sequence[Node], options: CircuitOptions) -> CircuitPlan:
    """Refuse what no circuit does, whatever the data is; the plan assumes one string a column and rows in order."""
    asked = asked_of(plans)
    names = [name for columns in strings_of(asked).values() for _, name in columns]
    known = {**dict.fromkeys(names, ("?",)), **options.dictionaries}
    if isinstance(asked, JoinRows) or options.ahead is not None:
        return plan_circuit(plans, replace(options, dictionaries=known))
    stream = asked[0].stream
    is_open = isinstance(stream.policy, (External, SlackRows))
    none = "0 us" if domain_of(stream.schema.field(stream.time).type) is Domain.TIME else 0
    return plan_circuit(plans, replace(options, dictionaries=known, ahead=none if is_open else None))


def plan_circuit(plans: Sequence[Node], options: CircuitOptions = CircuitOptions()) -> CircuitPlan:  # noqa: B008 - frozen
    """The circuit of one query, or of several over one stream; what hardware cannot do is refused with its reason."""
    options.check()
    asked = asked_of(plans)
    if isinstance(asked, JoinRows):
        return join_plan(asked, options)
    stream = asked[0].stream
    clock = clock_of(stream, [rows.window for rows in asked], options)
    read = {name for rows in asked for name in rows.reads}
    columns = circuit_columns(stream.schema, read, options)
    options.check_names([*columns, *(call.name for rows in asked for call in rows.calls)])
    made = [window_query(rows, columns, clock, options) for rows in asked]
    design = AggregateDesign(
        layout=layout_of(columns.values()),
        queries=tuple(query for query, _ in made),
        time_width=options.time_width,
        algorithm=algorithm_of(asked[0], options),
        variant=chosen(Variant, options.variant, "variant"),
        merge=chosen(Merge, options.merge, "merge"),
        window_level=chosen(WindowLevel, options.window_level, "window_level"),
        configurable=options.configurable,
    )
    _check_size(design, clock)
    return AggregatePlan(design, stream, clock, columns, tuple(found for _, found in made))


def _check_size(design: AggregateDesign, clock: CircuitClock) -> None:
    most = max(map(design.modules, design.queries))
    if most > MOST_MODULES:
        raise ConfigurationError(
            f"would take {most:,} modules, and a chip has room for some {MOST_MODULES:,} at most",
            parameter="circuit",
            hint=f"use panes, or less slack: rows may be {render(clock.ahead, clock.domain)} ahead of the last promise",
        )
