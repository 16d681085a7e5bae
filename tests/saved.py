"""State of an operator as plain tables, whatever changed since it was last saved."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.operators.state.changes import Appended, Saved, Stamped, State, Tracked


def whole_tables(state: State) -> dict[str, pa.Table]:
    return {name: whole(saved) for name, saved in state.items()}


def whole(saved: Saved) -> pa.Table:
    match saved:
        case Stamped():
            return saved.make()
        case Appended():
            return saved.make(0, saved.count)
        case Tracked():
            return saved.hold(np.arange(len(saved))).make(slice(None))
    return saved
