"""What is left of the predicate after what workers look up, tried by the workers themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.operators.handshake.kept import HandshakeRows
from windrow.operators.handshake.outlet import Found
from windrow.operators.joins.results import JoinColumns
from windrow.semantics.joins import LEFT, RIGHT


@dataclass(frozen=True)
class PredicateTrial:
    """Pairs of ids in, those for which the predicate holds out. It knows no chain, or the chain would never end."""

    columns: JoinColumns
    kept: tuple[HandshakeRows, HandshakeRows]

    @staticmethod
    def of(columns: JoinColumns, kept: tuple[HandshakeRows, HandshakeRows]) -> PredicateTrial | None:
        """None where nothing is left to try."""
        return None if columns.predicate is None else PredicateTrial(columns, kept)

    def __call__(self, found: Found) -> Found:
        lefts, rights = found
        tried = self.columns.tried
        left, right = self.kept[LEFT].pick(lefts, tried), self.kept[RIGHT].pick(rights, tried)
        holds = self.columns.holds(left, right)
        if holds is None or holds.all():
            return found
        chosen = np.flatnonzero(holds)
        return lefts[chosen], rights[chosen]
