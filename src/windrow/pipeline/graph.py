"""Connected operators: rows of sources go in, the answers of one or several queries come out.

The stages are a graph: what several queries have in common is there once and hands its output to each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TypeAlias

import pyarrow as pa

from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.aggregate.partials import Partials, SharedCells
from windrow.operators.base import Batch, EarlyRows, Element, GroupPunctuations, LateRows, Operator
from windrow.operators.input.input import Input
from windrow.operators.rowwise.meld import MeldOperator
from windrow.operators.store.budget import Kept, total
from windrow.pipeline.metrics import SourceMetrics, known
from windrow.semantics.progress.lateness import Account
from windrow.semantics.progress.policies import END, External, Punctuation

Deliver: TypeAlias = Callable[[pa.RecordBatch], None]


@dataclass(eq=False)
class End:
    """Where the answer of one query comes out, and which inputs it reads, left to right."""

    schema: pa.Schema
    entries: list[Stage] = field(default_factory=list)
    on_result: Deliver = lambda _: None
    on_late: Deliver = lambda _: None
    results: int = 0
    early: int = 0
    """Rows that were too far ahead and came here because nothing with state lies between."""
    unasked: list[Stage] = field(default_factory=list)
    """Where late and early rows are lost because nobody said what becomes of them."""

    def take(self, element: Element) -> None:
        """Rows of the answer; of those that are too far ahead, how many."""
        if isinstance(element, EarlyRows):
            self.early += len(element.batch.compact())
        elif isinstance(element, Batch) and len(data := element.compact().data):
            self.results += len(data)
            self.on_result(data)


@dataclass(eq=False)
class Stage:
    """An operator, where its output goes, and for which queries it works."""

    operator: Operator
    label: str
    after: list[tuple[Stage, int]] = field(default_factory=list)
    """The stages above, with the port there."""
    ends: list[End] = field(default_factory=list)
    """The queries whose answer its output is."""
    queries: list[End] = field(default_factory=list)
    """All queries that it has a part in."""


@dataclass
class Pipeline:
    """All stages of some queries. `push` takes elements of a source to the ends."""

    stages: list[Stage] = field(default_factory=list)
    ends: list[End] = field(default_factory=list)
    inputs: dict[str, list[Stage]] = field(default_factory=dict)
    entries: list[Stage] = field(default_factory=list)
    """The stages of `inputs` in the order of the plans' streams, left to right."""

    @property
    def results(self) -> int:
        return sum(end.results for end in self.ends)

    def push(self, source: str, element: Batch | Punctuation) -> None:
        """An element of a source into all places where it is read.

        What these make of it goes on side by side, piece by piece: where a stream is united with itself, what is late
        must not depend on how many rows came at once.
        """
        stages = self.inputs[source]
        if len(stages) == 1:
            self.feed(stages[0], element)
            return
        for pieces in zip_longest(*(_taken(stage.operator, element, 0) for stage in stages)):
            for stage, piece in zip(stages, pieces, strict=True):
                self._hand_on(stage, () if piece is None else (piece,))

    def feed(self, stage: Stage, element: Element, port: int = 0) -> None:
        """An element into a stage, and all that comes of it through the stages above."""
        self._hand_on(stage, _taken(stage.operator, element, port))

    def merge(self, stage: Stage, partials: Partials | SharedCells) -> None:
        """Pane partials of rows that would have come in at this stage."""
        stage.operator.counters.rows_in += partials.rows
        for window, _ in self.takers_of(stage):
            assert isinstance(window.operator, WindowAggregateOperator)
            self._hand_on(window, window.operator.merge(partials))

    def give_early(self, window: Stage) -> None:
        if isinstance(window.operator, WindowAggregateOperator) and window.operator.early is not None:
            self._hand_on(window, window.operator.early.emit())

    def resume(self) -> None:
        """A slice of the answers that wait, of each window aggregate that gives them in slices."""
        for stage in self.stages:
            if isinstance(stage.operator, WindowAggregateOperator) and stage.operator.smoothing is not None:
                self._hand_on(stage, stage.operator.smoothing.resume())

    def go_by(self, clock: Callable[[], float]) -> None:
        """What idle times by the clock are measured by, from now on."""
        for stage in self.stages:
            if isinstance(stage.operator, MeldOperator):
                stage.operator.go_by(clock)
            elif isinstance(stage.operator, Input) and stage.operator.partitions is not None:
                stage.operator.partitions.go_by(clock)

    def pass_time(self) -> None:
        """Time has passed and nothing came: what has an idle time by the clock may go on, streams, then unions.

        A stream goes on because some of its partitions are silent: its unions have heard nothing of it.
        """
        unions = [stage.operator for stage in self.stages if isinstance(stage.operator, MeldOperator)]
        heard = [list(union.last_seen) for union in unions]
        for stage in self.stages:
            if isinstance(stage.operator, Input):
                self._hand_on(stage, stage.operator.pass_time())
        for union, last_seen in zip(unions, heard, strict=True):
            union.last_seen = last_seen
        for stage in self.stages:
            if isinstance(stage.operator, MeldOperator):
                self._hand_on(stage, stage.operator.pass_time())

    def hear(self, stage: Stage) -> None:
        """Something came in at this stage: the unions above know that it is not silent."""
        for above, port in stage.after:
            if isinstance(above.operator, MeldOperator):
                above.operator.hear(port)
                self.hear(above)

    def takers_of(self, stage: Stage) -> Iterator[tuple[Stage, int]]:
        """The stages that take the rows of an input, with the port there: the first that are no unions."""
        for above, port in stage.after:
            if isinstance(above.operator, MeldOperator):
                yield from self.takers_of(above)
            else:
                yield above, port

    def _hand_on(self, stage: Stage, given: Iterable[Element]) -> None:
        for element in given:
            if isinstance(element, LateRows):
                for end in stage.queries:
                    end.on_late(element.data)
                continue
            for above, port in stage.after:
                self.feed(above, element, port)
            for end in stage.ends:
                end.take(element)


def _taken(operator: Operator, element: Element, port: int) -> Iterable[Element]:
    if isinstance(element, Batch):
        return operator.process(element, port)
    if isinstance(element, Punctuation):
        return operator.punctuate(element, port)
    if isinstance(element, GroupPunctuations):
        return operator.punctuate_groups(element, port)
    if isinstance(element, EarlyRows):
        return operator.set_aside(element, port)
    assert isinstance(element, SharedCells)
    assert isinstance(operator, WindowAggregateOperator)
    return operator.merge(element)


# What became of rows, and what is kept


def account_of(end: End, rows: int) -> Account:
    """What became of so many rows of a query's sources; results of inner windows are not counted here."""
    ports = {port for entry in end.entries for port in _first_ports(entry, end)}  # those of a union once
    counters = [stage.operator.counters for stage in {stage for stage, _ in ports}]
    late = sum(stage.operator.late_rows(port) for stage, port in ports)
    filtered = sum(c.filtered for c in counters)
    early = end.early + sum(c.early for c in counters)
    return Account(rows - late - filtered - early, late, filtered, early)


def lost_rows(end: End) -> int:
    """Rows of a query's sources that were late or early where nobody chose what becomes of them."""
    ports = {port for entry in end.entries for port in _first_ports(entry, end) if port[0] in end.unasked}
    late = sum(stage.operator.lost_rows(port) for stage, port in ports)
    early = sum(stage.operator.counters.early for stage in {stage for stage, _ in ports})
    return late + early + end.early


def _first_ports(stage: Stage, end: End) -> Iterator[tuple[Stage, int]]:
    """The stages of a query that rows of a source themselves come to, and where they come in."""
    for above, port in stage.after:
        if end in above.queries:
            yield above, port
            if not above.operator.makes_results:
                yield from _first_ports(above, end)


def progress_of(source: Input) -> SourceMetrics:
    """How far a source is."""
    counted, disorder = source.counters, source.disorder
    kind = "punctuation" if isinstance(source.policy, External) else "row"
    partitions, ended = source.partitions, source.bound == END
    return SourceMetrics(
        counted.rows_in,
        known(source.high),
        known(source.bound),
        ended,
        counted.early,
        disorder.behind,
        disorder.jump(counted.rows_in, source.slack, kind),
        partitions=None if partitions is None else len(partitions),
        held_back_by=None if partitions is None or ended else partitions.held_back_by,
    )


def kept_by(stages: Iterable[Stage]) -> Kept:
    """The rows that are kept in blocks."""
    return total(budget.kept for stage in stages for budget in stage.operator.budgets)


def state_bytes(stages: Iterable[Stage]) -> int:
    return sum(stage.operator.state_bytes for stage in stages)


def waiting_and_evicted(stages: Iterable[Stage]) -> tuple[int, int]:
    """Cells of closed windows not given yet, and cells that others drove out of the low level's table."""
    waiting = [stage.operator.waiting_and_evicted for stage in stages]
    return sum(cells for cells, _ in waiting), sum(driven_out for _, driven_out in waiting)
