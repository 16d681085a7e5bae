"""Results straight to sinks, as windows close; what a run that fails leaves behind is up to its sinks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from windrow.engines.run import Receiver, untagged
from windrow.errors import ConfigurationError
from windrow.plan.checks.nodes import gives_early, shape_of
from windrow.plan.nodes import Node
from windrow.query.places import refuse_overwriting
from windrow.query.running import begin
from windrow.sinks import open_sink
from windrow.sinks.base import Saved, Sink
from windrow.sinks.terminal import LIMIT
from windrow.sources.rejects import REJECTS

if TYPE_CHECKING:
    from windrow.pipeline.metrics import Metrics
    from windrow.sources.base import Source

OnBatch: TypeAlias = "Callable[[pa.RecordBatch], None]"
Target: TypeAlias = "str | Path | Callable[[pa.RecordBatch], object]"


class LateSink(Sink):
    """A sink that takes its columns from the first late rows; when there are none, the file has the columns alone."""

    def __init__(self, target: str | Path, columns: pa.Schema, parameter: str = "late") -> None:
        self.target = target
        self.columns = columns
        self.parameter = parameter
        self.sink: Sink | None = None
        opened = self._open(columns)  # a file that cannot be written is found out now, not after the run
        self.holds_back = opened.holds_back
        opened.abort()

    def _open(self, columns: pa.Schema) -> Sink:
        try:
            return open_sink(self.target, columns)
        except ConfigurationError as error:
            error.parameter = self.parameter
            raise

    def write(self, batch: pa.RecordBatch) -> None:
        self.sink = self.sink or self._open(batch.schema)
        self.sink.write(batch)

    def close(self) -> None:
        (self.sink or self._open(self.columns)).close()

    def abort(self) -> None:
        if self.sink is not None:
            self.sink.abort()

    def left(self) -> str | None:
        return None if self.sink is None else self.sink.left()

    def save(self, number: int) -> Saved:
        return Saved() if self.sink is None else self.sink.save(number)

    def settle(self, number: int) -> None:
        if self.sink is not None:
            self.sink.settle(number)

    def go_on(self, number: int, saved: Saved) -> None:
        if saved != Saved():
            self.sink = self.sink or self._open(self.columns)
            self.sink.go_on(number, saved)


@dataclass(frozen=True)
class QueryOutputs:
    """Where everything that one query gives goes, by what it is: `output`, `late` rows, what was `rejected`."""

    sinks: Mapping[str, Sink]

    def of(self, name: str) -> OnBatch | None:
        """Who takes it; None where nobody asked for it."""
        return self.sinks[name].write if name in self.sinks else None


def receiver_of(opened: Sequence[QueryOutputs], *, endless: bool) -> Receiver:
    """Where everything goes that some queries give. Of one over `endless` streams checkpoints are made with that."""
    late = [outputs.sinks["late"] for outputs in opened if "late" in outputs.sinks]
    return Receiver(
        lambda query, batch: opened[query].sinks["output"].write(batch),
        (lambda query, batch: late[query].write(batch)) if late else None,
        on_reject=opened[0].of("rejected"),
        sinks=opened[0].sinks if endless and len(opened) == 1 else {},
    )


@contextmanager
def open_outputs(
    plan: Node,
    target: Target,
    late: str | Path | None = None,
    limit: int | None = None,
    *,
    rejected: str | Path | None = None,
    live: bool = False,
) -> Iterator[QueryOutputs]:
    """Where results, late rows and what is no row go; final at the end of the block.

    A `live` answer may never end: the terminal shows it row by row, and all of it.
    """
    from windrow.operators.late.judging import late_columns

    with ExitStack() as stack:
        sink = stack.enter_context(
            open_sink(
                target,
                shape_of(plan).bounded_answer,
                limit=limit or (None if live else LIMIT),
                early=gives_early(plan),
                live=live,
            )
        )
        sinks = {"output": sink}
        if late is not None:
            sinks["late"] = stack.enter_context(LateSink(late, late_columns(plan)))
        if rejected is not None:
            sinks["rejected"] = stack.enter_context(LateSink(rejected, REJECTS, "rejected"))
        yield QueryOutputs(sinks)


def write_results(
    plan: Node,
    sources: Mapping[str, Source],
    target: Target,
    late: str | Path | None = None,
    rejected: str | Path | None = None,
    **options: Any,
) -> Metrics:
    """Run a plan into a sink, its late rows into another, and what is no row into a third."""
    named: tuple[tuple[str, Any], ...] = (("output", target), ("late", late), ("rejected", rejected))
    for parameter, path in named:
        if (path is None and parameter != "output") or (parameter == "output" and callable(path)):
            continue
        if not isinstance(path, (str, Path)) or not str(path):
            value = "an empty text" if path == "" else path
            raise ConfigurationError("must be a path", parameter=parameter, value=value)
    paths = {parameter: path for parameter, path in named if not callable(path)}
    refuse_overwriting(sources.items(), options, **paths)
    live = any(source.is_live for source in sources.values())
    with open_outputs(plan, target, late, rejected=rejected, live=live) as outputs:
        endless = any(source.is_endless for source in sources.values())
        run = begin([plan], [sources], untagged, into=receiver_of([outputs], endless=endless), **options)
    return run.wait()
