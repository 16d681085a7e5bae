"""From the state of closed windows to the rows of the answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates import lookup
from windrow.aggregates.arrays import of_type
from windrow.aggregates.base import Array, Custom, Integers, Part, Runs, State, Values
from windrow.operators.state.customs import CustomState
from windrow.operators.state.groups import Codes, Groups
from windrow.operators.state.timeline import Answers
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
        layout = self.plan.layout
        known: dict[Part, Any] = {}

        def get(part: Part) -> Any:
            if part not in known:
                known[part] = self._read(part, closed)
            return known[part]

        return [
            lookup(call.function).lower(State(len(closed.answers), get, kind, call.parameters), parts)
            for call, kind, parts in zip(layout.calls, layout.types, layout.parts, strict=True)
        ]

    def _read(self, part: Part, closed: Closed) -> Any:
        if isinstance(part, Values):
            return closed.runs[part]
        if isinstance(part, Custom):
            state, present = closed.custom[part]
            return state.columns, present
        return self.plan.layout.read(part, closed.answers.state)

    def nothing(self, windows: Integers, codes: Codes) -> Closed:
        """Answers of windows without rows."""
        size = len(windows)
        runs = {
            part: Runs(np.zeros(size + 1, np.int64), pa.array([], values.kind), np.empty(0, np.int64))
            for part, values in self.plan.values.items()
        }
        absent = np.zeros(size, np.bool_)
        custom = {part: (CustomState.nothing(part), absent) for part in self.plan.custom}
        return Closed(Answers(windows, codes, self.plan.layout.empty(size)), runs, custom)
