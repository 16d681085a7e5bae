"""Results straight to sinks, as windows close; what a run that fails leaves behind is up to its sinks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
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
from windrow.sinks.base import Sink
from windrow.sinks.terminal import LIMIT

if TYPE_CHECKING:
    from windrow.pipeline.metrics import Metrics
    from windrow.sources.base import Source

OnBatch: TypeAlias = "Callable[[pa.RecordBatch], None]"


class LateSink(Sink):
    """A sink that takes its columns from the first late rows; when there are none, the file has the columns alone."""

    def __init__(self, target: str | Path, columns: pa.Schema) -> None:
        self.target = target
        self.columns = columns
        self.sink: Sink | None = None
        self._open(columns).abort()  # a file that cannot be written is found out now, not after the run

    def _open(self, columns: pa.Schema) -> Sink:
        try:
            return open_sink(self.target, columns)
        except ConfigurationError as error:
            error.parameter = "late"
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


@contextmanager
def open_outputs(
    plan: Node, target: str | Path, late: str | Path | None = None, limit: int | None = None, *, live: bool = False
) -> Iterator[tuple[OnBatch, OnBatch | None]]:
    """Where results and late rows go; final at the end of the block.

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
        side = None if late is None else stack.enter_context(LateSink(late, late_columns(plan)))
        yield sink.write, None if side is None else side.write


def write_results(
    plan: Node, sources: Mapping[str, Source], target: str | Path, late: str | Path | None = None, **options: Any
) -> Metrics:
    """Run a plan into a sink, and its late rows into another."""
    named: tuple[tuple[str, Any], ...] = (("output", target), ("late", "-" if late is None else late))
    for parameter, path in named:
        if not isinstance(path, (str, Path)) or not str(path):
            value = "an empty text" if path == "" else path
            raise ConfigurationError("must be a path", parameter=parameter, value=value)
    refuse_overwriting(sources.items(), options, output=target, late=late)
    live = any(source.is_live for source in sources.values())
    with open_outputs(plan, target, late, live=live) as (on_result, on_late):
        run = begin([plan], [sources], untagged, into=Receiver.of_one(on_result, on_late), **options)
    return run.wait()
