"""Values that have come and are not summed up yet: rows (time or pane, group, key)."""

from __future__ import annotations

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.operators.state.groups import Codes
from windrow.operators.store.row_block import RowBlock
from windrow.operators.store.row_store import RowStore


def value_rows(places: Integers, codes: Codes, keys: Integers) -> RowBlock:
    return RowBlock({"place": places, "code": codes, "key": keys})


class ValueLog(RowStore):
    """The values of one argument, in the order in which they came."""

    def __init__(self) -> None:
        super().__init__(value_rows(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)))

    def keys_in_use(self) -> Integers:
        return self.column("key")

    def renumber(self, mapping: Integers) -> None:
        self.remap("key", mapping)
