"""What saved state depends on, and the refusal of state that another query or another version wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from windrow.aggregates.kinds.base import value_type
from windrow.errors import ConfigurationError
from windrow.physical.division.join_routing import Divided
from windrow.physical.explain.plans import describe_bounds, describe_join_window, describe_window
from windrow.physical.nodes import DistinctRows, PhysicalJoin, Sort, Window, walk
from windrow.physical.rules.choose_joins import shapes_below
from windrow.plan import nodes as logical
from windrow.plan.checks.joins import schema_of
from windrow.plan.checks.nodes import shape_of
from windrow.plan.checks.windows import value_text
from windrow.plan.compression import CompressionMode
from windrow.plan.nodes import JoinStrategy, Late, Strategy, WindowAggregate, WindowTime
from windrow.plan.rounding import kept_calls
from windrow.plan.types.expressions import type_of
from windrow.semantics.progress.partitions import partitioned_by
from windrow.semantics.scalars.amounts import Domain
from windrow.semantics.scalars.expressions import columns_of
from windrow.semantics.windows.kinds import RowsWindow, SlideByTuple, Sliding
from windrow.sharded.chunks import VERSION


def signature(divided: Divided) -> list[str]:
    """A line for each thing that state depends on: operators with state and streams. Filters, expressions above the
    windows and joins, slack and idle times are not among them, so those may change between two runs.
    """
    lines = [_stream(exchange.stream) for exchange in divided.exchanges]
    for node in walk(divided.high):
        if isinstance(node, Window):
            lines.append(_window(node.asked, node.strategy))
        elif isinstance(node, PhysicalJoin):
            lines.append(_join(node.asked, node.strategy))
        elif isinstance(node, (DistinctRows, Sort)):
            word = "distinct" if isinstance(node, DistinctRows) else "ordered output"
            lines.append(f"{word} " + ", ".join(f"{f.name} {f.type}" for f in shape_of(node.asked).answer))
    return lines


def _stream(stream: logical.Stream) -> str:
    """Its partitions, where each has a bound of its own, are kept by name."""
    per = partitioned_by(stream.policy)
    return f"stream {stream.name}" + (f" per ({', '.join(f'{n} {_kind(stream, n)}' for n in per)})" if per else "")


def _kind(stream: logical.Stream, name: str) -> str:
    return str(value_type(stream.schema.field(name).type))


def _join(node: logical.Join, chosen: JoinStrategy) -> str:
    """With the types of what it compares and the columns that it keeps to give them."""
    both = schema_of(node, shapes_below(node))
    compared = dict.fromkeys(columns_of(node.on) if node.on is not None else ())
    kinds = ", ".join(f"{name} {value_type(both.field(name).type)}" for name in compared)
    given = ", ".join(f"{field.name} {field.type}" for field in shape_of(node).answer)
    way = "" if chosen is JoinStrategy.INDEX or node.on is None else f" strategy {chosen.value}"
    window = describe_join_window(replace(node, aliases=("left", "right")), shapes_below(node)[0].domain)
    asked = f"{node.kind.value} join, {window}, on {node.on} of ({kinds})"
    return f"{asked} giving ({given}) time {node.time.value}{way}{_held(node.compression.mode)}"


def _window(node: WindowAggregate, chosen: Strategy) -> str:
    schema = shape_of(node.input).schema
    keys = ", ".join(f"{expression} {type_of(expression, schema)}" for _, expression in node.keys)
    calls = ", ".join(str(replace(call, name="")) for call in kept_calls(node))
    kinds = ", ".join(str(type_of(c.argument, schema)) for c in node.aggregates if c.argument is not None)
    late = "" if node.late is Late.DROP else f" late {node.late.value}"
    if node.late is Late.SIDE and not isinstance(node.window, SlideByTuple):
        late = ""  # whether late rows are shown changes nothing that is kept
    within = "" if node.within is None else f" within {node.within}"
    time = "" if node.time is WindowTime.END else f" timed by {node.time.value}"
    return (
        f"{_window_words(node)} by ({keys}) of {calls} on ({kinds}) emit {node.emit.value} {node.lateness.value}"
        f"{late}{within}{time} strategy {chosen.value}{_held(node.compression.mode)}"
    )


def _held(mode: CompressionMode) -> str:
    """How rows were asked to be kept."""
    return "" if mode is CompressionMode.AUTO else f" compress {mode.value}"


def _window_words(node: WindowAggregate) -> str:
    """The window as `explain` tells it, and all that its state depends on: panes are numbered from the origin."""
    window = node.window
    domain = Domain.INTEGER if isinstance(window, RowsWindow) else shape_of(node.input).domain
    uneven = isinstance(window, Sliding) and describe_bounds(window, domain)
    counted = f", counted from {value_text(window.origin, domain)}" if uneven and isinstance(window, Sliding) else ""
    return f"{describe_window(window, domain)}{counted}"


def check_facts(saved: dict[str, Any], mine: dict[str, Any]) -> None:
    """Refuse state that this query cannot go on from, and say what differs."""
    for rule, value, hint in _differences(saved, mine):
        raise ConfigurationError(rule, parameter="checkpoint", value=value, hint=hint)


def _differences(saved: dict[str, Any], mine: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    anew = "begin with an empty checkpoint folder"
    if saved.get("version", VERSION) != VERSION:
        hint = f"{anew}, or go on with the Windrow that wrote it"
        yield f"must be of state format {VERSION}", f"format {saved['version']}", hint
    if saved["shards"] != mine["shards"]:
        hint = f"set spark.sql.shuffle.partitions to {saved['shards']}, or {anew}"
        yield f"must have as many shards as this run ({mine['shards']})", f"{saved['shards']} shards", hint
    theirs, ours = saved.get("query", []), mine.get("query", saved.get("query", []))
    for their, our in zip_longest(theirs, ours, fillvalue="nothing more"):
        if their != our:
            rule = f"must be of a query that keeps the same state; this one has {our}"
            yield rule, their, f"{anew}; what may change is listed in docs/spark.md"
