"""The answer of a whole plan by definition: windows by the oracle, everything else row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.contract.hearing import Given, Heard, Row
from windrow.operators.lateness import COLUMNS
from windrow.plan.check import shape_of, walk
from windrow.plan.nodes import (
    Distinct,
    Filter,
    Join,
    Late,
    Node,
    OrderedOutput,
    Project,
    Stream,
    Union,
    WindowAggregate,
)
from windrow.plan.windows import within_of
from windrow.semantics import oracle
from windrow.semantics.moments import value_of
from windrow.semantics.progress import Punctuation
from windrow.semantics.scalar import evaluate
from windrow.semantics.windows import Session, Sliding, Window

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
        if isinstance(node, Stream):
            return self._stream(node, heard)
        if isinstance(node, Union):
            return sorted((place for child in node.inputs for place in self._rows(child, heard)), key=lambda p: p[0])
        assert not isinstance(node, Join)
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
        if not has_windows(node):
            self.found.rows_filtered += len(rows) - len(kept)
        return kept

    def _windows(self, node: WindowAggregate) -> list[Row]:
        if has_windows(node.input):  # results of inner windows are never late
            return self._oracle(node, [row for _, row in self._rows(node.input, None)]).results
        names = dict.fromkeys(below.name for below in walk(node.input) if isinstance(below, Stream))
        heard = self.hear([self.streams[name] for name in names])
        marks = [(at, part) for at, part in enumerate(heard) if isinstance(part, Punctuation)]
        elements = sorted([*self._rows(node.input, heard), *marks], key=lambda place: place[0])
        found = self._oracle(node, [element for _, element in elements])
        self.found.rows_late += found.account.late
        if node.late is not Late.DROP:
            self.found.late += [late_row(node, *missed) for missed in found.missed]
        return found.results

    def _oracle(self, node: WindowAggregate, elements: Iterable[Any]) -> oracle.Answer:
        within = within_of(node, shape_of(node.input).domain) if node.late is Late.REVISE else None
        return oracle.answer(
            elements,
            node.window,
            keys=node.keys,
            aggregates=node.aggregates,
            emit=node.emit,
            late=node.late.value,
            lateness=node.lateness.value,
            within=within,
        )


def has_windows(node: Node) -> bool:
    return any(isinstance(below, WindowAggregate) for below in walk(node))


def late_row(node: WindowAggregate, row: Mapping[str, Any], late_by: int, missed: list[Any]) -> Row:
    """A row of the side output: what came, then what it missed.

    How late is told from the end of the last closed window. Only the row counts where what it missed is not settled
    as it comes: landmark windows have no last one, and under LATE REVISE some windows are corrected.
    """
    given = {name: row[name] for name in shape_of(node.input).schema.names}
    if node.late is Late.REVISE or not isinstance(node.window, (Sliding, Session)):
        return given
    time = value_of(row, node.window.attribute)
    told = (boundary(node.window, time + late_by) - time, len(missed), missed[0][0], missed[-1][1])
    return {**given, **dict(zip(COLUMNS, told, strict=False))}


def boundary(window: Window, bound: int) -> int:
    """The end of the last window that is closed at a bound."""
    if isinstance(window, Sliding):
        return window.origin + (bound - window.origin) // window.slide * window.slide
    return bound
