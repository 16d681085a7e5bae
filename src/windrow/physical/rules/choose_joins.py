"""Rule: how the partners of each join's rows are found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from windrow.errors import UnsupportedError
from windrow.physical.how import How
from windrow.physical.nodes import (
    AsOfJoin,
    Handshake,
    IndexJoin,
    InOrderJoin,
    Physical,
    PhysicalJoin,
    Plans,
    ScanJoin,
    Undecided,
    rewrite,
)
from windrow.plan import nodes as logical
from windrow.plan.checks.joins import conditions
from windrow.plan.checks.nodes import shape_of
from windrow.plan.conditions import BandCondition, Conditions
from windrow.plan.nodes import Join, JoinStrategy, JoinTime
from windrow.plan.types.schema import Shape
from windrow.semantics.joins import RIGHT, AsOf, LastRows

_KINDS: dict[JoinStrategy, type[PhysicalJoin]] = {
    JoinStrategy.INDEX: IndexJoin,
    JoinStrategy.SCAN: ScanJoin,
    JoinStrategy.OPIB: InOrderJoin,
}
_EVERY_PAIR = "every pair of rows in the window is tried"


def choose_joins(plans: Plans, how: How) -> Plans:
    """Choose the way of every join."""
    return rewrite(plans, lambda _, node: _chosen(node, how) if isinstance(node, Undecided) else node)


def _chosen(node: Physical, how: How) -> Physical:
    asked = node.asked
    if not isinstance(asked, logical.Join):
        return node
    choice = choose_join(asked)
    decided = asked, node.inputs, choice.reasons, choice.conditions
    if isinstance(asked.window, AsOf):
        return AsOfJoin(*decided)
    if choice.strategy is JoinStrategy.HANDSHAKE:
        looks_up = bool(choice.conditions.equalities or choice.conditions.bands)
        return Handshake(*decided, threads=how.threads, looks_up=looks_up)
    return _KINDS[choice.strategy](*decided, threads=how.threads)


@dataclass(frozen=True)
class JoinChoice:
    """The way, what it looks up, and the reasons."""

    strategy: JoinStrategy
    conditions: Conditions
    reasons: tuple[str, ...]


def choose_join(node: Join) -> JoinChoice:
    """The way that the node asks for, checked, or the planner's own."""
    found = looked_up(node)
    refuse_impossible_join(node, found)
    if node.strategy is JoinStrategy.SCAN:
        return JoinChoice(JoinStrategy.SCAN, Conditions(rest=node.on), ("asked for: scan", _EVERY_PAIR))
    if node.strategy is not JoinStrategy.AUTO:
        return JoinChoice(node.strategy, found, (f"asked for: {node.strategy.value}", *_looked_up(found)))
    if found.equalities or found.bands or isinstance(node.window, AsOf):
        return JoinChoice(JoinStrategy.INDEX, found, tuple(_looked_up(found)))
    why = f"the predicate has neither an equality nor a band to look up: {_EVERY_PAIR}"
    return JoinChoice(JoinStrategy.SCAN, found, (why,))


def looked_up(node: Join) -> Conditions:
    """What partners could be looked up by, whichever way is chosen."""
    return conditions(node, shapes_below(node))


def shapes_below(node: Join) -> tuple[Shape, Shape]:
    return shape_of(node.left), shape_of(node.right)


def _looked_up(found: Conditions) -> Iterator[str]:
    if found.equalities:
        yield "looked up by hash: " + ", ".join(f"{e.left} = {e.right}" for e in found.equalities)
    if found.bands:
        yield "looked up by cells as wide as the band: " + ", ".join(map(describe_band, found.bands))
    if found.rest is not None and (found.equalities or found.bands):
        yield f"tried on what was found: {found.rest}"


def describe_band(band: BandCondition) -> str:
    value, center = (band.left, band.right) if band.around == RIGHT else (band.right, band.left)
    return f"{value} from {center} {band.low:+} to {center} {band.high:+}"


def refuse_impossible_join(node: Join, found: Conditions) -> None:
    """Refuse a strategy that cannot answer the join."""
    strategy = node.strategy
    if strategy is JoinStrategy.INDEX and not (found.equalities or found.bands or isinstance(node.window, AsOf)):
        raise UnsupportedError(
            "needs an equality or a band between the sides",
            parameter="strategy",
            value=strategy.value,
            hint="leave the strategy out",
        )
    if isinstance(node.window, AsOf) and (found.bands or found.rest is not None):
        raise UnsupportedError(
            "must be equalities besides the comparison of times in an as-of join",
            parameter="on",
            value=str(node.on),
            hint="filter the sides first, in subqueries, or use a window join",
        )
    if strategy is JoinStrategy.OPIB and (RIGHT in node.kind.outer_sides or node.time is not JoinTime.LEFT):
        raise UnsupportedError(
            "gives results in order of the left time, which not all of these have",
            parameter="strategy",
            value=strategy.value,
            hint="leave the strategy out, and ask for ORDERED OUTPUT",
        )
    possible = {JoinStrategy.AUTO, JoinStrategy.INDEX}
    if isinstance(node.window, LastRows):
        possible.add(JoinStrategy.SCAN)
    if isinstance(node.window, (AsOf, LastRows)) and strategy not in possible:
        what = "an as-of join" if isinstance(node.window, AsOf) else "windows of rows"
        raise UnsupportedError(
            f"must be auto for {what}", parameter="strategy", value=strategy.value, hint="leave the strategy out"
        )
