"""What `explain` says of how rows are kept, and of what rounding makes of the answers."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.plan.checks.compression import answer_within, moved_by
from windrow.plan.checks.nodes import aggregates_of, shape_of
from windrow.plan.compression import Compression, CompressionMode, bound_text
from windrow.plan.nodes import Strategy, WindowAggregate
from windrow.plan.types.expressions import column_type
from windrow.semantics.scalars.expressions import Column

_MODES = {
    CompressionMode.OFF: "off: kept rows are held as they came",
    CompressionMode.BLOCKS: "blocks: kept rows are held in compressed blocks, from which they come back exactly",
}


_JOINED = {
    CompressionMode.OFF: "off: rows that wait for partners are held as they came",
    CompressionMode.BLOCKS: "blocks: columns of rows that wait for partners are held in compressed blocks, from which "
    "they come back exactly; what partners are looked up by stays as it is",
}


def keeps_rows(node: WindowAggregate) -> bool:
    """Whether a window keeps rows, and may keep them in blocks."""
    if node.compression.mode is CompressionMode.OFF:
        return False
    is_whole = any(not aggregate.is_bounded_for(kind) for _, aggregate, kind in aggregates_of(node))
    return is_whole or node.strategy is Strategy.BUFFER


def join_details(compression: Compression) -> list[tuple[str, str]]:
    """A mode that was asked for in a join."""
    return [("compress", _JOINED[compression.mode])] if compression.mode in _JOINED else []


def mode_details(compression: Compression) -> list[tuple[str, str]]:
    """A mode that was asked for."""
    return [("compress", _MODES[compression.mode])] if compression.mode in _MODES else []


def compression_details(node: WindowAggregate) -> list[tuple[str, str]]:
    """The mode of a window, then a line for each column with a bound."""
    return [*mode_details(node.compression), *_bounds(node)]


def _bounds(node: WindowAggregate) -> Iterator[tuple[str, str]]:
    schema = shape_of(node.input).schema
    for place, (name, bound) in enumerate(node.compression.within):
        moved = moved_by(bound, column_type(name, schema))
        yield "" if place else "within", f"{name} {bound_text(bound)}: {_answers(node, name, moved)}"


def _answers(node: WindowAggregate, name: str, moved: float) -> str:
    """How near each answer over a column is, those that are alike together."""
    if not moved:
        return "exact, for its values are whole numbers"
    alike: dict[str, list[str]] = {}
    for call in node.aggregates:
        if call.argument == Column(name):
            text = answer_within(call.function, bound_text(moved))
            alike.setdefault("exact" if text is None else f"within {text}", []).append(call.function)
    return "; ".join(f"{', '.join(dict.fromkeys(functions))} {text}" for text, functions in alike.items())
