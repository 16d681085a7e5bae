"""Rule: equal parts of several queries are executed once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from windrow.physical.how import How
from windrow.physical.nodes import Physical, Plans, Read


def share_parts(plans: Plans, how: How) -> Plans:
    """Make equal parts of different queries the same object; within one query each place has its own.

    Where work is divided, each query has shards of its own.
    """
    if how.divided:
        return plans
    parts = _Parts()
    tops = [parts.place(plan.inputs[0], number) for number, plan in enumerate(plans)]
    made: dict[int, Physical] = {}
    return tuple(replace(plan, inputs=(_frozen(top, made),)) for plan, top in zip(plans, tops, strict=True))


@dataclass(eq=False)
class _Part:
    """A node that some queries share, over parts that they share too."""

    node: Physical
    below: list[_Part] = field(default_factory=list)
    users: list[int] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)

    def is_free(self, query: int) -> bool:
        return query not in self.users and all(part.is_free(query) for part in self.below)


@dataclass
class _Parts:
    found: dict[Physical, list[_Part]] = field(default_factory=dict)

    def place(self, node: Physical, query: int, known: _Part | None = None) -> _Part:
        """The part for a node of a query: where its parent is shared that below it, else one that is free, or new."""
        equal = self.found.setdefault(node, [])
        part = known or next((one for one in equal if one.is_free(query)), None)
        fresh = part is None
        if part is None:
            part = _Part(node)
            equal.append(part)
        part.users.append(query)
        if isinstance(node, Read):
            part.reads.append(node)
        for place, child in enumerate(node.inputs):
            below = self.place(child, query, None if fresh else part.below[place])
            if fresh:
                part.below.append(below)
        return part


def _frozen(part: _Part, made: dict[int, Physical]) -> Physical:
    if id(part) not in made:
        node = replace(part.node, inputs=tuple(_frozen(below, made) for below in part.below))
        made[id(part)] = _read_for_all(node, part.reads) if isinstance(node, Read) else node
    return made[id(part)]


def _read_for_all(node: Read, reads: list[Read]) -> Read:
    """With what all queries use of it; those over several sources come first, for they decide how sources are read."""
    ordered = sorted(reads, key=lambda read: not read.leads)
    return replace(node, grids=tuple(grid for read in ordered for grid in read.grids), leads=ordered[0].leads)
