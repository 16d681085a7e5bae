"""Values that have come and are not summed up yet: rows (time or pane, group, key)."""

from __future__ import annotations

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.store.row_block import RowBlock
from windrow.operators.store.row_store import RowStore


class ValueLog(RowStore):
    """The values of one argument, in the order in which they came."""

    def __init__(self) -> None:
        none = np.empty(0, np.int64)
        super().__init__(RowBlock({"place": none, "code": NO_CODES, "key": none}))

    def add(self, places: Integers, codes: Codes, keys: Integers) -> None:
        self.append(RowBlock({"place": places, "code": codes, "key": keys}))

    def keys_in_use(self) -> Integers:
        return self.column("key")

    def renumber(self, mapping: Integers) -> None:
        self.remap("key", mapping)
