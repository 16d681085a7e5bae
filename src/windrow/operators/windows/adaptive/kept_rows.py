"""Rows kept as they came, in packed columns: pane, group code, and of each argument only what cannot be derived."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.state.columns.base import Lifted
from windrow.operators.state.groups import Codes
from windrow.operators.state.keys import NO_VALIDITY, keys_of_numbers
from windrow.operators.store.packed import Packed
from windrow.operators.store.row_block import Chosen, RowBlock
from windrow.operators.store.row_store import RowStore, Test
from windrow.operators.windows.base import Plan
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.semantics.scalars.expressions import Expression


class RowShape:
    """Which columns a kept row has: pane, code, the time where an aggregate asks for it, then those of arguments.

    An argument is kept once, as its number where something adds it up, else as its order key, else not at all; of
    a sketch the register it goes into.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
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
        names = ["place", "code", *(["time"] if self.timed else [])]
        names += [*self.names.values(), *self.valid.values(), *self.sketched.values(), *self.values.values()]
        self.nothing = RowBlock({name: Packed.constant(0, 0) for name in names})

    def pack(self, panes: Integers, rows: GroupedRows) -> RowBlock:
        """Rows as packed columns; one pane stands for all rows."""
        pane = Packed.of(panes) if len(panes) == len(rows) else Packed.constant(int(panes[0]), len(rows))
        columns = {"place": pane, "code": Packed.of(rows.group_codes())}
        columns |= {"time": Packed.of(rows.times)} if self.timed else {}
        columns |= {name: Packed.of(self._kept(e, rows)) for e, name in self.names.items()}
        all_valid = Packed.constant(1, len(rows))
        validity = {name: rows.lifted[e].valid for e, name in self.valid.items()}
        columns |= {name: Packed.of(valid) if len(valid) else all_valid for name, valid in validity.items()}
        columns |= {name: Packed.of(rows.lifted[e].marks[sketch]) for (e, sketch), name in self.sketched.items()}
        return RowBlock(columns | {name: Packed.of(rows.keys[p]) for p, name in self.values.items()})

    def _kept(self, expression: Expression, rows: GroupedRows) -> Integers:
        lifted = rows.lifted[expression]
        if expression not in self.numbers:
            direct = (rows.keys[p] for p in self.direct if p.argument == expression)
            return lifted.keys if len(lifted.keys) else next(direct)
        if "numbers" in self.arguments[expression].forms:
            return lifted.numbers
        return next(n.view(np.int64) for p, n in rows.numbers.items() if p.argument == expression)

    def unpack(self, kept: RowBlock, starts: Integers) -> GroupedRows:
        """The rows again; `starts` stand for their times where no aggregate asks for the times themselves."""
        lifted = self.lift(kept, slice(None))
        rows = GroupedRows(kept["time"] if self.timed else starts, kept["code"].astype(np.int32), lifted)
        rows.keys = {p: lifted[p.argument].keys for p in self.direct}
        rows.keys.update({p: kept[name] for p, name in self.values.items()})
        for part in self.plan.custom:
            if part.argument is not None:
                numbers = lifted[part.argument].numbers
                rows.numbers[part] = numbers.view(np.float64) if self.arguments[part.argument].is_float else numbers
        return rows

    def lift(self, kept: RowBlock, rows: Chosen) -> dict[Expression, Lifted]:
        times = kept.part("time", rows) if self.timed else np.empty(0, np.int64)
        found = {}
        for expression in self.arguments:
            valid = _read_validity(kept, self.valid[expression], rows)
            name = self.names.get(expression)
            numbers = None if name is None else kept.part(name, rows)
            found[expression] = Lifted(*self._values(expression, numbers), valid, times)
        for (expression, sketch), name in self.sketched.items():
            found[expression].marks[sketch] = kept.part(name, rows).astype(np.int32)
        return found

    def _values(self, expression: Expression, kept: Integers | None) -> tuple[Integers, Integers]:
        """Numbers and keys of an argument, as far as something asks for them."""
        nothing = np.empty(0, np.int64)
        if kept is None:
            return nothing, nothing
        if expression not in self.numbers:
            return nothing, kept
        return kept, keys_of_numbers(kept, self.arguments[expression].kind) if expression in self.keys else nothing


def _read_validity(kept: RowBlock, name: str, rows: Chosen) -> npt.NDArray[np.uint8]:
    column = kept.columns[name]
    assert isinstance(column, Packed)
    return NO_VALIDITY if len(column.offsets) == 0 and column.base == 1 else column.take(rows).read().astype(np.uint8)


class KeptRows:
    """Rows sorted by pane, and new ones as they came."""

    def __init__(self, shape: RowShape) -> None:
        self.shape = shape
        self.new = RowStore(shape.nothing)
        self.sorted = RowStore(shape.nothing, by="place")
        self.sorted_since = 0
        """Rows sorted since the last `Standings.relieve`."""

    def __len__(self) -> int:
        return len(self.new) + len(self.sorted)

    def take_new(self, chosen: Integers, others: Integers) -> RowBlock:
        """Remove and return the chosen new rows; all others stay."""
        whole = self.new.content()
        self.new.replace(whole.take(others))
        return whole.take(chosen) if len(others) else whole

    def sort(self) -> None:
        self.insert(self.new.content())
        self.new.replace(self.shape.nothing)

    def insert(self, rows: RowBlock) -> None:
        self.sorted_since += len(rows)
        self.sorted.insert(rows)

    def where(self, test: Test) -> RowBlock:
        """Some rows, which stay here too, sorted by pane and group."""
        return RowBlock.joined([self.sorted.where(test), self.new.where(test)]).ordered("place", "code")

    def forget_groups(self, first: Integers) -> None:
        """Panes before `first[code]` are in no open window of the group."""
        for store in (self.new, self.sorted):
            store.drop(lambda rows: rows["place"] < first[rows["code"]])

    def remap(self, name: str, mapping: Codes | Integers) -> None:
        """Codes, or keys of a part, have changed: `mapping[old] = new`."""
        for store in (self.new, self.sorted):
            store.remap(name, mapping)

    def column(self, name: str) -> Integers:
        return np.concatenate([self.sorted.column(name), self.new.column(name)])

    def fill(self, table: pa.Table) -> None:
        """Hold exactly the rows of a table, sorted by pane."""
        self.new.replace(self.shape.nothing)
        self.sorted.replace(self.shape.nothing.like(table).packed())

    def table(self) -> pa.Table:
        return self.where(lambda _: True).table()

    @property
    def nbytes(self) -> int:
        return self.new.nbytes + self.sorted.nbytes
