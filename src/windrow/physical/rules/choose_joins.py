"""Rule: how the partners of each join's rows are found."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.errors import UnsupportedError
from windrow.physical import nodes
from windrow.physical.how import How
from windrow.plan.checks.joins import conditions
from windrow.plan.checks.nodes import shape_of
from windrow.plan.conditions import BandCondition, Conditions
from windrow.plan.nodes import Join, JoinStrategy, JoinTime
from windrow.plan.types.kinds import Shape
from windrow.semantics.joins import RIGHT, AsOf, LastRows

_EVERY_PAIR = "every pair of rows in the window is tried"


def choose_joins(plans: nodes.Plans, how: How) -> nodes.Plans:
    """Choose how the partners of every join's rows are found."""

    def chosen(_: nodes.Physical, node: nodes.Physical) -> nodes.Physical:
        if isinstance(node, nodes.Undecided) and isinstance(node.asked, Join):
            return choose_join(node.asked, node.inputs, how.threads)
        return node

    return nodes.rewrite(plans, chosen)


def choose_join(node: Join, inputs: nodes.Plans = (), threads: int = 1) -> nodes.PhysicalJoin:
    """The way that the node asks for, checked, or the planner's own."""
    found = looked_up(node)
    _refuse_impossible(node, found)
    looks_up, reasons = bool(found.equalities or found.bands), tuple(_looked_up(found))
    if node.strategy is not JoinStrategy.AUTO:
        reasons = (f"asked for: {node.strategy.value}", *reasons)
    if isinstance(node.window, AsOf):
        return nodes.AsOfJoin(node, inputs, reasons, found)
    if node.strategy is JoinStrategy.SCAN:
        return nodes.ScanJoin(node, inputs, (reasons[0], _EVERY_PAIR), Conditions(rest=node.on), threads=threads)
    if node.strategy is JoinStrategy.HANDSHAKE:
        return nodes.Handshake(node, inputs, reasons, found, threads=threads, looks_up=looks_up)
    if node.strategy is JoinStrategy.OPIB:
        return nodes.InOrderJoin(node, inputs, reasons, found, threads=threads)
    if looks_up:
        return nodes.IndexJoin(node, inputs, reasons, found, threads=threads)
    why = f"the predicate has neither an equality nor a band to look up: {_EVERY_PAIR}"
    return nodes.ScanJoin(node, inputs, (why,), found, threads=threads)


def looked_up(node: Join) -> Conditions:
    """What partners could be looked up by, whichever way is chosen."""
    return conditions(node, shapes_below(node))


def shapes_below(node: Join) -> tuple[Shape, Shape]:
    return shape_of(node.left), shape_of(node.right)


def _looked_up(found: Conditions) -> Iterator[str]:
    if found.equalities:
        yield "looked up by hash: " + ", ".join(f"{e.left} = {e.right}" for e in found.equalities)
    if found.bands:
        yield "looked up by cells as wide as the band: " + ", ".join(map(_band_text, found.bands))
    if found.rest is not None and (found.equalities or found.bands):
        yield f"tried on what was found: {found.rest}"


def _band_text(band: BandCondition) -> str:
    value, center = (band.left, band.right) if band.around == RIGHT else (band.right, band.left)
    return f"{value} from {center} {band.low:+} to {center} {band.high:+}"


def _refuse_impossible(node: Join, found: Conditions) -> None:
    if isinstance(node.window, AsOf) and (found.bands or found.rest is not None):
        raise UnsupportedError(
            "must be equalities besides the comparison of times in an as-of join",
            parameter="on",
            value=str(node.on),
            hint="filter the sides first, in subqueries, or use a window join",
        )
    for rule, hint in _why_impossible(node, found):
        raise UnsupportedError(rule, parameter="strategy", value=node.strategy.value, hint=hint)


def _why_impossible(node: Join, found: Conditions) -> Iterator[tuple[str, str]]:
    """Rules that the strategy that was asked for breaks, each with a hint."""
    strategy, leave_out = node.strategy, "leave the strategy out"
    is_as_of, is_last_rows = isinstance(node.window, AsOf), isinstance(node.window, LastRows)
    if strategy is JoinStrategy.INDEX and not (found.equalities or found.bands or is_as_of):
        yield "needs an equality or a band between the sides", leave_out
    if strategy is JoinStrategy.OPIB and (RIGHT in node.kind.outer_sides or node.time is not JoinTime.LEFT):
        rule = "gives results in order of the left time, which not all of these have"
        yield rule, f"{leave_out}, and ask for ORDERED OUTPUT"
    if strategy in (JoinStrategy.HANDSHAKE, JoinStrategy.OPIB) and (is_as_of or is_last_rows):
        yield f"must be auto for {'an as-of join' if is_as_of else 'windows of rows'}", leave_out
    if strategy is JoinStrategy.SCAN and is_as_of:
        yield "must be auto for an as-of join", leave_out
