"""Connected operators: rows of sources go in, the answers of one or several queries come out.

The stages are a graph: what several queries have in common is there once and hands its output to each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from windrow.errors import InternalError
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.base import Batch, EarlyRows, Element, GroupPunctuations, LateRows, Operator
from windrow.operators.panes.partials import Partials
from windrow.operators.panes.shared import SharedCells
from windrow.operators.rowwise.meld import MeldOperator
from windrow.semantics.progress.policies import Punctuation

Deliver: TypeAlias = Callable[[pa.RecordBatch], None]


@runtime_checkable
class Bounded(Protocol):
    """An operator that knows what each of its inputs promised."""

    bounds: list[int]


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
        elif isinstance(element, Batch):
            self._give(element.compact().data)

    def _give(self, data: pa.RecordBatch) -> None:
        self.results += len(data)
        if len(data):
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

    @property
    def on_result(self) -> Deliver:
        """Of the one query there is, or of the first."""
        return self.ends[0].on_result

    @on_result.setter
    def on_result(self, deliver: Deliver) -> None:
        self.ends[0].on_result = deliver

    @property
    def on_late(self) -> Deliver:
        return self.ends[0].on_late

    @on_late.setter
    def on_late(self, deliver: Deliver) -> None:
        self.ends[0].on_late = deliver

    def push(self, source: str, element: Batch | Punctuation) -> None:
        """An element of a source into all places where it is read.

        What these make of it goes on side by side, piece by piece: where a stream is united with itself, what is late
        must not depend on how many rows came at once.
        """
        stages = self.inputs[source]
        for pieces in zip_longest(*(_taken(stage.operator, element, 0) for stage in stages)):
            for stage, piece in zip(stages, pieces, strict=True):
                self._hand_on(stage, () if piece is None else (piece,))

    def feed(self, stage: Stage, element: Element, port: int = 0) -> None:
        """An element into a stage, and all that comes of it through the stages above."""
        self._hand_on(stage, _taken(stage.operator, element, port))

    def merge(self, stage: Stage, partials: Partials | SharedCells) -> None:
        """Pane partials of rows that would have come in at this stage."""
        stage.operator.counters.rows_in += partials.rows
        for window, operator in self.windows_above(stage):
            self._hand_on(window, operator.merge(partials))

    def speak(self, window: Stage) -> None:
        """Early results of a window aggregate."""
        assert isinstance(window.operator, WindowAggregateOperator)
        if window.operator.early is not None:
            self._hand_on(window, window.operator.early.speak())

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

    def pass_time(self) -> None:
        """Time has passed and nothing came: unions with an idle time by the clock may go on."""
        for stage in self.stages:
            if isinstance(stage.operator, MeldOperator):
                self._hand_on(stage, stage.operator.pass_time())

    def windows_above(self, stage: Stage) -> Iterator[tuple[Stage, WindowAggregateOperator]]:
        """The window aggregates that take the rows of an input; nothing but unions may lie between."""
        for above, _ in stage.after:
            if isinstance(above.operator, MeldOperator):
                yield from self.windows_above(above)
            elif isinstance(above.operator, WindowAggregateOperator):
                yield above, above.operator
            else:
                raise InternalError("must be followed by a window aggregate", parameter=stage.label)

    def join_above(self, stage: Stage) -> tuple[Bounded, int]:
        """The join that takes the rows of an input, with the port there; nothing but unions may lie between."""
        for above, port in stage.after:
            if isinstance(above.operator, MeldOperator):
                return self.join_above(above)
            if isinstance(above.operator, Bounded):
                return above.operator, port
        raise InternalError("must be followed by a join", parameter=stage.label)

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
