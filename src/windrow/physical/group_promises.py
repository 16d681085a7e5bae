"""Describe: which promises for single groups a window can use, so that no others are passed on to it."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.plan.nodes import Join, Node, Project, Stream, WindowAggregate
from windrow.plan.tree import inputs_of
from windrow.semantics.progress.policies import External
from windrow.semantics.scalars.expressions import Column, Expression
from windrow.semantics.windows.kinds import Landmark, RowsWindow, Session, SlideByTuple, Sliding

Keys = frozenset[str]


def usable_keys(node: WindowAggregate) -> Keys:
    """The columns by which single groups of a window aggregate can be closed.

    Windows that count rows close for the groups whose rows are counted alone, in order of time.
    """
    window = node.window
    if isinstance(window, SlideByTuple) or (isinstance(window, RowsWindow) and window.order is not None):
        return frozenset(window.partition)
    if not isinstance(window, (Sliding, Landmark, Session)):
        return frozenset()
    return frozenset(e.name for _, e in node.keys if isinstance(e, Column))


def keys_below(node: Project, keys: Keys) -> Keys:
    """The same under the names that the columns have below a projection."""
    return frozenset(e.name for name, e in node.columns if name in keys and isinstance(e, Column))


def renamed_columns(columns: tuple[tuple[str, Expression], ...]) -> dict[str, str]:
    """What each column that is kept as it is is called, the first name where it has several."""
    return {e.name: name for name, e in reversed(columns) if isinstance(e, Column)}


def unused_promises(node: Node, keys: Keys = frozenset()) -> Iterator[Stream]:
    """The streams whose promises for single groups are of no use to the plan above them."""
    if isinstance(node, Stream):
        if isinstance(node.policy, External) and not keys.issuperset(node.policy.per):
            yield node
        return
    if isinstance(node, WindowAggregate):
        keys = usable_keys(node)
    elif isinstance(node, Project):
        keys = keys_below(node, keys)
    elif isinstance(node, Join):
        keys = frozenset()
    for child in inputs_of(node):
        yield from unused_promises(child, keys)
