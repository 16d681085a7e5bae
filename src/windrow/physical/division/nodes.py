"""A plan in two levels: what is done where rows are read, what is sent to which shards, and what runs there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from windrow.aggregates import UserAggregate
from windrow.physical.division.join_routing import Copies
from windrow.physical.nodes import Answer, Physical, SharedPanes
from windrow.plan.nodes import Distinct, Join, Node, Stream, WindowAggregate
from windrow.semantics.scalars.expressions import Expression

Head: TypeAlias = WindowAggregate | Distinct | Join
"""The operators with state."""
Route: TypeAlias = tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class Exchange(Physical):
    """One stream on its way to the shards; `asked` is the part without state that is done before it is sent."""

    stream: Stream
    path: tuple[Node, ...] = ()
    """The nodes above the stream that remember nothing, bottom up."""
    route: Route = ()
    """What a row is routed by, over the columns at the end of the path."""
    key_route: Route = ()
    """The same over the keys of `merging`."""
    head: Head | None = None
    """The operator with state that takes the rows next; None when a union with other state comes first."""
    merging: WindowAggregate | None = None
    """The head, where rows are aggregated into its panes before they are sent."""
    shared: SharedPanes | None = None
    """The panes whose cells are sent in place of its own: the same object for all that share them."""
    copies: Copies | None = None
    """Where rows go instead of one shard by the route."""


@dataclass(frozen=True)
class Divided(Physical):
    """The root of a query whose work is divided among shards; `asked` is its whole plan over pruned streams."""

    exchanges: tuple[Exchange, ...] = ()
    one_shard: str | None = None
    """Why what runs in the shards cannot be divided, when it cannot."""
    in_order: bool = False
    """Whether the order in which rows came matters: windows count them."""
    own: tuple[UserAggregate, ...] = field(default=(), compare=False, repr=False)
    """The user's own aggregates, which the workers do not know by name."""

    @property
    def high(self) -> Physical:
        """What each shard runs: the plan over streams of what is sent to it."""
        (answer,) = self.inputs
        assert isinstance(answer, Answer)
        return answer
