"""Select: mark the rows for which a predicate is true. Punctuations pass."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from windrow.operators.base import Batch, Counters, Element
from windrow.operators.evaluate import Predicate
from windrow.semantics.expressions import Expression
from windrow.semantics.progress import Punctuation


class Select:
    """Stateless; rows that do not pass are counted as filtered."""

    def __init__(self, predicate: Expression) -> None:
        self.predicate = Predicate(predicate)
        self.counters = Counters()

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        chosen = self.predicate.mask(batch.data)
        before = len(batch)
        if batch.selected is not None:
            before = int(np.count_nonzero(batch.selected))
            chosen = chosen & batch.selected
        self.counters.rows_in += before
        self.counters.filtered += before - int(np.count_nonzero(chosen))
        yield Batch(batch.data, batch.times, chosen, batch.source)

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        yield punctuation

    def state(self) -> dict[str, pa.Table]:
        return {}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        pass
