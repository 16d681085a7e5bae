"""Where a reading of a topic is, and as a position from which another goes on.

A position has the next offset of each partition, and where they apply

- `given`: rows below these offsets were given already; what is no row there was not told yet;
- `first`: how many rows of which partition come next, where a run was saved in the middle of a batch;
- `ended`: that the reading came to its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from windrow.errors import SourceError
from windrow.sources.base import Position
from windrow.sources.kafka.address import KafkaAddress


@dataclass
class ReadState:
    """Behind all that was made of messages."""

    offsets: dict[int, int]
    given: dict[int, int] = field(default_factory=dict)
    first: list[list[int]] = field(default_factory=list)
    rows: int = 0
    ended: bool = False

    @staticmethod
    def at(position: Position, name: str, address: KafkaAddress) -> ReadState:
        """As it was when it gave this position; one of other data is refused."""
        if "partitions" not in position:
            raise SourceError(
                "must be the data that was read before",
                parameter=name,
                value=f"{address.shown} in place of {position.get('file', 'another source')}",
                hint="give the run the data it began with, or begin anew in an empty folder",
            )
        offsets, given = ({int(p): o for p, o in position.get(key, {}).items()} for key in ("partitions", "given"))
        first = [list(pair) for pair in position.get("first", [])]
        return ReadState(offsets, given, first, position["rows"], bool(position.get("ended")))

    def position(self) -> Position:
        """As small JSON."""
        found: Position = {"rows": self.rows, "partitions": _listed(self.offsets)}
        if self.given:
            found["given"] = _listed(self.given)
        if self.first:
            found["first"] = [list(pair) for pair in self.first]
        return {**found, "ended": True} if self.ended else found

    def give(self, rows: int, offsets: Mapping[int, int]) -> None:
        """Rows up to these offsets were given; what is none of them comes behind."""
        self.rows += rows
        self.given.update({p: o for p, o in offsets.items() if o > max(self.offsets[p], self.given.get(p, 0))})
        if self.first:
            self.first[0][1] -= rows
            if self.first[0][1] <= 0:
                del self.first[0]

    def move(self, offsets: Mapping[int, int]) -> None:
        """All up to these offsets is done."""
        self.offsets.update({p: max(o, self.offsets[p]) for p, o in offsets.items()})
        self.given = {p: o for p, o in self.given.items() if o > self.offsets[p]}


def _listed(offsets: Mapping[int, int]) -> dict[str, int]:
    return {str(partition): offset for partition, offset in sorted(offsets.items())}
