"""From the state of closed windows to the rows of the answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import of_type
from windrow.aggregates.kinds.base import Array, Integers, Part
from windrow.operators.state.customs import CustomState
from windrow.operators.state.groups import Codes, Groups
from windrow.operators.state.timeline import Answers
from windrow.operators.state.values.multisets import Multiset
from windrow.operators.windows.base import Closed, Plan


class Lowering:
    """Builds answer batches of one operator: keys, window_start, window_end, aggregates, in the types of `schema`."""

    def __init__(self, plan: Plan, keys: int, schema: pa.Schema) -> None:
        self.plan = plan
        self.bounds = schema.field(keys).type
        self.fields = list(schema)[: keys + 2 + len(plan.layout.calls)]
        self.schema = pa.schema(self.fields)

    def batch(self, closed: Closed, groups: Groups, starts: Integers | None, ends: Integers) -> pa.RecordBatch:
        """`starts` is None for windows without a beginning."""
        answers = closed.answers
        start = pa.nulls(len(answers), self.bounds) if starts is None else of_type(starts, self.bounds)
        arrays = [*groups.decode(answers.codes), start, of_type(ends, self.bounds), *self.aggregates(closed)]
        arrays = [a if a.type == f.type else a.cast(f.type) for a, f in zip(arrays, self.fields, strict=True)]
        return pa.record_batch(arrays, schema=self.schema)

    def aggregates(self, closed: Closed) -> list[Array]:
        layout, size = self.plan.layout, len(closed.answers)
        known: dict[int, Any] = {}  # by identity: equal parts are one object

        def get(part: Part) -> Any:
            if id(part) not in known:
                known[id(part)] = layout.read(part, closed.answers.state)
            return known[id(part)]

        return [
            closed.lowered[place] if place in closed.lowered else layout.lower(place, size, get)
            for place in range(len(layout.calls))
        ]

    def nothing(self, windows: Integers, codes: Codes) -> Closed:
        """Answers of windows without rows."""
        answers = Answers(windows, codes, self.plan.layout.empty(len(windows)))
        none = np.empty(0, np.int32)
        lowered = self.plan.lower(
            codes, answers.state, lambda _: Multiset.nothing(), lambda part: (none, CustomState.nothing(part))
        )
        return Closed(answers, lowered)
