"""Rule: how each window aggregate is computed."""

from __future__ import annotations

from windrow.physical import nodes
from windrow.physical.how import How, When
from windrow.physical.pane_cells import pane_of, why_not_smooth, why_values_kept
from windrow.physical.planner import Choice, choose, is_open
from windrow.plan.checks.nodes import shape_of
from windrow.plan.checks.windows import every_of, within_of
from windrow.plan.nodes import Late, Lateness, Strategy, WindowAggregate
from windrow.semantics.windows.kinds import Landmark, RowsWindow, Session, SlideByTuple, Sliding

_KINDS: dict[Strategy, type[nodes.SlidingWindow]] = {
    Strategy.WID: nodes.EagerWindow,
    Strategy.ADAPTIVE: nodes.AdaptiveWindow,
    Strategy.BUFFER: nodes.KeptRowsWindow,
}
_COSTED = (Strategy.PANES, *_KINDS)
"""The strategies that `costs.py` can tell apart."""


def choose_windows(plans: nodes.Plans, how: How) -> nodes.Plans:
    return nodes.rewrite(plans, lambda _, node: _chosen(node, how) if isinstance(node, nodes.Undecided) else node)


def _chosen(node: nodes.Physical, how: How) -> nodes.Physical:
    asked = node.asked
    if not isinstance(asked, WindowAggregate):
        return node
    choice = choose(asked, how.statistics, how.constants)
    within = within_of(asked, shape_of(asked.input).domain) if asked.late is Late.REVISE else 0
    if isinstance(asked.window, Session):
        return nodes.SessionWindow(asked, node.inputs, choice.reasons, within=within)
    if isinstance(asked.window, SlideByTuple):
        return nodes.PerRowWindow(asked, node.inputs, choice.reasons, together=_takes_bounds(asked, asked.window))
    if isinstance(asked.window, RowsWindow):
        return nodes.LastRowsWindow(asked, node.inputs, choice.reasons)
    return _sliding(asked, asked.window, node.inputs, choice, within, how)


def _sliding(
    asked: WindowAggregate, window: Sliding | Landmark, inputs: nodes.Plans, choice: Choice, within: int, how: How
) -> nodes.SlidingWindow:
    early = every_of(asked, shape_of(asked.input).domain)
    pane, threads = pane_of(window), how.threads
    if how.flush.when is not When.EAGER and why_not_smooth(asked) is None:
        reasons = ("windows are given in slices",)
        return nodes.SmoothedWindow(asked, inputs, reasons, pane=pane, flush=how.flush)
    if how.trial and how.statistics is None and is_open(asked):
        among = (choice.strategy, *(one for one in _COSTED if one is not choice.strategy))
        return nodes.TrialWindow(
            asked, inputs, choice.reasons, early=early, threads=threads, among=among, constants=how.constants
        )
    if choice.strategy is Strategy.PANES:
        return nodes.PanedWindow(asked, inputs, choice.reasons, within=within, early=early, threads=threads, pane=pane)
    kind = _KINDS.get(choice.strategy, nodes.SlidingWindow)
    return kind(asked, inputs, choice.reasons, early=early, threads=threads, strategy=choice.strategy)


def _takes_bounds(asked: WindowAggregate, window: SlideByTuple) -> bool:
    """Whether rows that met different bounds may come in one batch.

    Not where late rows decide which groups answer, where values are looked up among all rows, or where it depends on
    the windows before it whether a late row counts.
    """
    shared = bool(asked.keys) and not window.partition
    judged = asked.lateness is Lateness.CONSISTENT and window.every > 1
    return not (shared or judged or why_values_kept(asked) is not None)
