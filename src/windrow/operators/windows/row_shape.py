"""Rows kept as they came, in packed columns: place, group code, and of each argument only what cannot be derived."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers, Values
from windrow.operators.compression.coded_column import CodedColumn, Nature
from windrow.operators.state.columns.base import Lifted
from windrow.operators.state.columns.making import ValidColumn
from windrow.operators.state.keys import NO_VALIDITY, from_keys, keys_of_numbers
from windrow.operators.store.packed import Packed
from windrow.operators.store.row_block import Chosen, Column, RowBlock
from windrow.operators.store.row_store import RowStore
from windrow.operators.store.sealing import Sealing
from windrow.operators.windows.base import Plan
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.semantics.scalars.expressions import Expression


class RowShape:
    """Which columns a kept row has: place, code, the time where an aggregate asks for it, then those of arguments.

    An argument is kept once, as its number where something adds it up or it is a float, else as its order key, else
    not at all; of a sketch the register it goes into.
    """

    def __init__(self, plan: Plan, *, by_time: bool = False) -> None:
        """With `by_time` places are the times themselves, else panes."""
        self.plan = plan
        self.by_time = by_time
        self.arguments = plan.layout.arguments
        self.timed = any("times" in argument.forms for argument in self.arguments.values())
        added = {e for e, argument in self.arguments.items() if "numbers" in argument.forms}
        self.numbers = added | {p.argument for p in plan.custom if p.argument is not None}
        self.direct = {p for p, values in plan.values.items() if values.direct}
        keyed = {e for e, argument in self.arguments.items() if "keys" in argument.forms}
        self.keys = keyed | {p.argument for p in self.direct}
        kept = [e for e in self.arguments if e in self.numbers or e in self.keys]
        self.names = {e: f"argument{i}" for i, e in enumerate(kept)}
        self.valid = {e: f"valid{i}" for i, e in enumerate(self.arguments)}
        sketched = [(e, column.sketch) for e, a in self.arguments.items() for column in a.registers]
        self.sketched = {key: f"sketch{i}" for i, key in enumerate(sketched)}
        self.values = {p: f"values{i}" for i, p in enumerate(p for p in plan.values if p not in self.direct)}
        self.folded = frozenset(name for e, name in self.names.items() if by_time and self._folds(e))
        """Columns of which windows are computed as they lie in blocks, see `folded_rows.py`."""
        names = ["place", "code", *(["time"] if self._keeps_time else [])]
        names += [*self.names.values(), *self.valid.values(), *self.sketched.values(), *self.values.values()]
        self.nothing = RowBlock({name: Packed.constant(0, 0) for name in names})

    @property
    def sealing(self) -> Sealing | None:
        """How such rows go into coded blocks."""
        if self.plan.sealing is None:
            return None
        arrange = lambda rows: rows.sorted("place").sorted_by("place")  # noqa: E731
        return self.plan.sealing.having(self._natures, arrange, self._folded_of)

    @property
    def _natures(self) -> dict[str, Nature]:
        return {name: Nature.FLOAT_BITS for e, name in self.names.items() if self.arguments[e].is_float}

    def _folded_of(self, rows: RowBlock) -> frozenset[str]:
        """What is laid out to be folded: only rows of one group are."""
        least, greatest = rows.span("code")
        return self.folded if least == greatest else frozenset()

    def coded(self, name: str, column: Column) -> CodedColumn:
        """A column that is to be folded, in blocks, whether rows are sealed or wait for it."""
        if isinstance(column, CodedColumn):
            return column
        values = column if isinstance(column, np.ndarray) else column.read()
        return CodedColumn.of(values, self._natures.get(name, Nature.INTEGERS), folded=True)

    def _folds(self, expression: Expression) -> bool:
        """Whether something is asked of an argument that is folded."""
        columns = self.arguments[expression].columns.values()
        return any(p.argument == expression for p in self.direct) or any(
            c.folds and not isinstance(c, ValidColumn) for c in columns
        )

    @property
    def _keeps_time(self) -> bool:
        return self.timed and not self.by_time

    def pack(self, places: Integers, rows: GroupedRows) -> RowBlock:
        """Rows as packed columns; one place stands for all rows."""
        place = Packed.of(places) if len(places) == len(rows) else Packed.constant(int(places[0]), len(rows))
        columns = {"place": place, "code": Packed.of(rows.group_codes())}
        columns |= {"time": Packed.of(rows.times)} if self._keeps_time else {}
        columns |= {name: self._packed(e, self._kept(e, rows)) for e, name in self.names.items()}
        all_valid = Packed.constant(1, len(rows))
        validity = {name: rows.lifted[e].valid for e, name in self.valid.items()}
        columns |= {name: Packed.of(valid) if len(valid) else all_valid for name, valid in validity.items()}
        columns |= {name: Packed.of(rows.lifted[e].marks[sketch]) for (e, sketch), name in self.sketched.items()}
        return RowBlock(columns | {name: Packed.of(rows.keys[p]) for p, name in self.values.items()})

    def _packed(self, expression: Expression, kept: Integers) -> Packed:
        return Packed.of_floats(kept) if self.arguments[expression].is_float else Packed.of(kept)

    def _kept(self, expression: Expression, rows: GroupedRows) -> Integers:
        lifted, argument = rows.lifted[expression], self.arguments[expression]
        if "numbers" in argument.forms:
            kept = lifted.numbers
        elif expression in self.numbers:
            kept = next(n.view(np.int64) for p, n in rows.numbers.items() if p.argument == expression)
        else:
            direct = (rows.keys[p] for p in self.direct if p.argument == expression)
            kept = lifted.keys if len(lifted.keys) else next(direct)
            kept = from_keys(kept, argument.kind).view(np.int64) if argument.is_float else kept
        if len(lifted.valid):  # what is in a NULL slot may be anything, and would take what it needs
            kept = np.where(lifted.valid, kept, 0)
        return kept

    def of_table(self, table: pa.Table) -> RowBlock:
        """The rows of a table that was made of such rows."""
        rows = self.nothing.like(table)
        floats = {name: self._packed(e, rows[name]) for e, name in self.names.items()}
        return rows.having(floats).packed()

    def unpack(self, kept: RowBlock, starts: Integers | None = None) -> GroupedRows:
        """The rows again; `starts` stand for their times where these are not kept."""
        lifted = self.lift(kept, slice(None))
        times = kept["place"] if starts is None else kept["time"] if self.timed else starts
        rows = GroupedRows(times, kept["code"].astype(np.int32), lifted)
        rows.keys = {p: lifted[p.argument].keys for p in self.direct}
        rows.keys.update({p: kept[name] for p, name in self.values.items()})
        for part in self.plan.custom:
            if part.argument is not None:
                numbers = lifted[part.argument].numbers
                rows.numbers[part] = numbers.view(np.float64) if self.arguments[part.argument].is_float else numbers
        return rows

    def lift(self, kept: RowBlock, rows: Chosen) -> dict[Expression, Lifted]:
        """What state columns want of some of the rows."""
        times = kept.part("place" if self.by_time else "time", rows) if self.timed else np.empty(0, np.int64)
        found = {}
        for expression in self.arguments:
            valid = _read_validity(kept, self.valid[expression], rows)
            name = self.names.get(expression)
            numbers = None if name is None else kept.part(name, rows)
            found[expression] = Lifted(*self._values(expression, numbers), valid, times)
        for (expression, sketch), name in self.sketched.items():
            found[expression].marks[sketch] = kept.part(name, rows).astype(np.int32)
        return found

    def keys_of(self, expression: Expression, kept: Integers) -> Integers:
        """Order keys of what is kept of an argument; of floats they are kept, or folded, as keys."""
        argument = self.arguments[expression]
        return kept if argument.is_float or expression not in self.numbers else keys_of_numbers(kept, argument.kind)

    def _values(self, expression: Expression, kept: Integers | None) -> tuple[Integers, Integers]:
        """Numbers and keys of an argument, as far as something asks for them."""
        nothing, argument = np.empty(0, np.int64), self.arguments[expression]
        if kept is None:
            return nothing, nothing
        if expression not in self.numbers:
            return nothing, keys_of_numbers(kept, argument.kind) if argument.is_float else kept
        return kept, keys_of_numbers(kept, argument.kind) if expression in self.keys else nothing


def _read_validity(kept: RowBlock, name: str, rows: Chosen) -> npt.NDArray[np.uint8]:
    if len(kept) == 0 or kept.span(name) == (1, 1):
        return NO_VALIDITY
    return kept.part(name, rows).astype(np.uint8)


@dataclass(frozen=True)
class NumberedKeys:
    """The values of one part among kept rows, where these are numbered: what `KeptValues` wants."""

    rows: RowStore
    shape: RowShape
    part: Values

    def keys_in_use(self) -> Integers:
        return self.rows.column(self.shape.values[self.part])

    def renumber(self, mapping: Integers) -> None:
        self.rows.remap(self.shape.values[self.part], mapping)
