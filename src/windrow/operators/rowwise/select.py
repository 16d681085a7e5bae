"""Select: mark the rows for which a predicate is true. Punctuations pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from windrow.operators.base import Batch, Element, Stateless
from windrow.operators.expressions.predicate import Predicate
from windrow.semantics.scalars.expressions import Expression


class SelectOperator(Stateless):
    """Rows that do not pass are counted as filtered."""

    def __init__(self, predicate: Expression) -> None:
        super().__init__()
        self.predicate = Predicate(predicate)

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        chosen = self.predicate.mask(batch.data, batch.selected)
        before = len(batch) if batch.selected is None else int(np.count_nonzero(batch.selected))
        self.counters.rows_in += before
        self.counters.filtered += before - int(np.count_nonzero(chosen))
        yield replace(batch, selected=chosen)
