"""The answer of a whole plan by definition: windows by the oracle, everything else row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from tests.contract.hearing import Given, Heard, Row
from windrow.aggregates.kinds.base import value_type
from windrow.operators.late.judging import COLUMNS
from windrow.plan.checks.nodes import shape_of
from windrow.plan.checks.windows import within_of
from windrow.plan.nodes import (
    AggregateCall,
    Distinct,
    Filter,
    Join,
    JoinTime,
    Late,
    Node,
    OrderedOutput,
    Project,
    Stream,
    Union,
    WindowAggregate,
    inputs_of,
    walk,
)
from windrow.semantics.joins import LEFT, RIGHT, LastRows, Pair, Timed, join
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import START, Punctuation
from windrow.semantics.scalars.evaluate import evaluate
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.scalars.moments import value_of
from windrow.semantics.windows.kinds import Session, Sliding, Window

Place = tuple[int, Row]
"""When a row came, and the row."""


@dataclass
class Expected:
    """What a run must give."""

    results: list[Row] = field(default_factory=list)
    late: list[Row] = field(default_factory=list)
    rows_in: int = 0
    rows_late: int = 0
    rows_filtered: int = 0


class Reference:
    """Computes a plan over streams as an engine hears them."""

    def __init__(self, streams: Mapping[str, Given], hear: Callable[[Sequence[Given]], Heard]) -> None:
        self.streams = streams
        self.hear = hear
        self.found = Expected()

    def answer(self, plan: Node) -> Expected:
        self.found.results = [row for _, row in self._rows(plan, None)]
        self.found.rows_in = sum(len(self.streams[node.name].rows) for node in walk(plan) if isinstance(node, Stream))
        return self.found

    def _rows(self, node: Node, heard: Heard | None) -> list[Place]:
        if isinstance(node, WindowAggregate):
            return list(enumerate(self._windows(node)))
        if isinstance(node, Join):
            return list(enumerate(self._joined(node)))
        if isinstance(node, Stream):
            return self._stream(node, heard)
        if isinstance(node, Union):
            return sorted((place for child in node.inputs for place in self._rows(child, heard)), key=lambda p: p[0])
        rows = self._rows(node.input, heard)
        if isinstance(node, OrderedOutput):
            return rows
        if isinstance(node, Filter):
            return self._filtered(node, rows)
        if isinstance(node, Project):
            return [(at, {name: evaluate(made, row) for name, made in node.columns}) for at, row in rows]
        assert isinstance(node, Distinct)
        return list({repr(row): (at, row) for at, row in reversed(rows)}.values())

    def _stream(self, node: Stream, heard: Heard | None) -> list[Place]:
        if heard is None:
            return list(enumerate(self.streams[node.name].rows))
        return [(at, part[1]) for at, part in enumerate(heard) if isinstance(part, tuple) and part[0] == node.name]

    def _filtered(self, node: Filter, rows: list[Place]) -> list[Place]:
        kept = [(at, row) for at, row in rows if evaluate(node.predicate, row) is True]
        if not has_state(node):
            self.found.rows_filtered += len(rows) - len(kept)
        return kept

    def _heard(self, node: Node) -> list[Any]:
        """The rows of a part, with the promises of its streams. Results of inner windows and joins are never late."""
        if has_state(node):
            return [row for _, row in self._rows(node, None)]
        names = dict.fromkeys(below.name for below in walk(node) if isinstance(below, Stream))
        heard = self.hear([self.streams[name] for name in names])
        marks = [(at, part) for at, part in enumerate(heard) if isinstance(part, Punctuation)]
        elements = sorted([*self._rows(node, heard), *marks], key=lambda place: place[0])
        return [element for _, element in elements]

    def _joined(self, node: Join) -> list[Row]:
        assert not isinstance(node.window, LastRows)
        left, right = (self._in_time(node, side) for side in (LEFT, RIGHT))
        return [joined_row(node, pair) for pair in join(left, right, node.window, node.kind, holds(node))]

    def _in_time(self, node: Join, side: int) -> list[Timed]:
        """The rows of one side that are not below what it promised before."""
        child = inputs_of(node)[side]
        time, bound = str(shape_of(child).time), START
        kept: list[Timed] = []
        for element in self._heard(child):
            if isinstance(element, Punctuation):
                bound = max(bound, element.value if element.group is None else START)
            elif value_of(element, time) >= bound:
                kept.append((value_of(element, time), element))
            else:
                self.found.rows_late += 1
                if node.late is not Late.DROP:
                    self.found.late.append(missed_row(node, side, element, bound - value_of(element, time)))
        return kept

    def _windows(self, node: WindowAggregate) -> list[Row]:
        found = self._oracle(node, self._heard(node.input))
        if has_state(node.input):
            return found.results
        self.found.rows_late += found.account.late
        if node.late is not Late.DROP:
            self.found.late += [late_row(node, *missed) for missed in found.missed]
        return found.results

    def _oracle(self, node: WindowAggregate, elements: Iterable[Any]) -> oracle.OracleAnswer:
        within = within_of(node, shape_of(node.input).domain) if node.late is Late.REVISE else None
        return oracle.answer(
            elements,
            node.window,
            keys=node.keys,
            aggregates=kept(node),
            emit=node.emit,
            late=node.late.value,
            lateness=node.lateness.value,
            within=within,
        )


def kept(node: WindowAggregate) -> list[AggregateCall]:
    """The aggregates of a window over what is kept of its columns, of which some are rounded."""
    schema = shape_of(node.input).schema
    kinds = {name: str(value_type(schema.field(name).type)) for name, _ in node.compression.within}
    kept = {
        Column(name): Call("within", (Column(name), Literal(bound), Literal(kinds[name])))
        for name, bound in node.compression.within
    }
    return [replace(one, argument=kept.get(cast(Column, one.argument), one.argument)) for one in node.aggregates]


def has_state(node: Node) -> bool:
    return any(isinstance(below, (WindowAggregate, Join)) for below in walk(node))


def holds(node: Join) -> Callable[[Row, Row], bool | None]:
    def is_true(left: Row, right: Row) -> bool | None:
        row = {column.name: (left, right)[column.side][column.source] for column in node.names}
        return True if node.on is None else evaluate(node.on, row)

    return is_true


def joined_row(node: Join, pair: Pair) -> Row:
    """A pair as a row of the answer."""
    values = {c.name: None if (row := pair[c.side]) is None else row[c.source] for c in node.columns}
    extreme = {JoinTime.EARLIER: min, JoinTime.LATER: max}.get(node.time)
    if extreme is None:
        return values
    times = [str(shape_of(child).time) for child in (node.left, node.right)]
    return {**values, node.time.value: extreme(row[t] for row, t in zip(pair, times, strict=True) if row is not None)}


def missed_row(node: Join, side: int, row: Mapping[str, Any], late_by: int) -> Row:
    """A late row of one side of a join, under the names of the join."""
    return {**{c.name: row[c.source] if c.side == side else None for c in node.names}, COLUMNS[0]: late_by}


def late_row(node: WindowAggregate, row: Mapping[str, Any], late_by: int, missed: list[Any]) -> Row:
    """A row of the side output: what came, then what it missed.

    How late is told from the end of the last closed window. Only the row counts where what it missed is not settled
    as it comes: landmark windows have no last one.
    """
    given = {name: row[name] for name in shape_of(node.input).schema.names}
    if not isinstance(node.window, (Sliding, Session)):
        return given
    time = value_of(row, node.window.attribute)
    told = (boundary(node.window, time + late_by) - time, len(missed), missed[0][0], missed[-1][1])
    return {**given, **dict(zip(COLUMNS, told, strict=False))}


def boundary(window: Window, bound: int) -> int:
    """The end of the last window that is closed at a bound."""
    if isinstance(window, Sliding):
        return window.origin + (bound - window.origin) // window.slide * window.slide
    return bound
