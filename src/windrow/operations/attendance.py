"""Attendance on a run: what its thread publishes is put on the board, told as events, and served."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any

from windrow.engines.run import Requests, Stopped
from windrow.errors import ConfigurationError
from windrow.events import tell
from windrow.operations.board import STALLED_AFTER, Board, RunFacts
from windrow.operations.narrator import Narrator
from windrow.pipeline.metrics import Metrics
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Node, Stream, walk
from windrow.semantics.scalars.amounts import Amount, Domain

if TYPE_CHECKING:
    from windrow.operations.endpoint import MetricsEndpoint


@dataclass
class Attendance:
    """Entered and left by the thread that runs, which also calls `on_progress` and `on_each`.

    Where the story is `told_apart`, another thread calls `look`; else it is told as progress is reported.
    """

    board: Board
    narrator: Narrator
    requests: Requests
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What is told as the run begins."""
    told_apart: bool = False
    endpoint: MetricsEndpoint | None = None

    def on_progress(self, metrics: Metrics) -> None:
        self.board.publish(metrics)
        if not self.told_apart:
            self.narrator.look(metrics)

    def on_each(self, query: int, metrics: Metrics) -> None:
        self.board.publish_each(query, metrics)

    def look(self) -> None:
        """Tell what is new, from a thread of the caller's."""
        self.narrator.look(self.board.metrics)

    def serve(self, host: str, port: int) -> str:
        """Answer over HTTP until `close`; where."""
        from windrow.operations.endpoint import MetricsEndpoint

        self.endpoint = MetricsEndpoint(self.board, host, port)
        tell("metrics", f"metrics are at {self.endpoint.url}/metrics", url=self.endpoint.url)
        return self.endpoint.url

    @contextmanager
    def serving(self, host: str, port: int | None) -> Iterator[tuple[str, Callable[[], None]] | None]:
        """The address, and how to end it, where a port is asked for; ended here if the block breaks off."""
        if port is None:
            yield None
            return
        url = self.serve(host, port)
        try:
            yield url, self.close
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        endpoint, self.endpoint = self.endpoint, None
        if endpoint is not None:
            endpoint.close()

    def __enter__(self) -> Attendance:
        self.narrator.begin(self.facts)
        return self

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if isinstance(error, Exception) and not isinstance(error, Stopped):
            lines = str(error).strip().splitlines() or [type(error).__name__]
            self.board.failure = lines[0]
        self.board.has_ended = True
        is_told = not isinstance(error, Stopped)
        if is_told:
            self.narrator.end(self.board.metrics, error, left=self.requests.left)


def attend(
    plans: Sequence[Node],
    requests: Requests,
    *,
    engine: str,
    sources: Mapping[str, Any],
    options: Mapping[str, Any],
    stalled_after: float = STALLED_AFTER,
    told_apart: bool = False,
) -> Attendance:
    """Attendance on a run of these plans."""
    domains = {node.name: shape_of(node).domain for plan in plans for node in walk(plan) if isinstance(node, Stream)}
    of_queries = tuple(next(iter(_domains(plan)), Domain.INTEGER) for plan in plans)
    run = RunFacts(engine, of_queries, domains)
    board = Board(run, requests.pulse, stalled_after=stalled_after)
    facts = {
        "engine": engine,
        "queries": len(plans),
        "sources": {name: source.describe() for name, source in sources.items()},
        "options": {name: str(value) for name, value in options.items() if value is not None},
    }
    return Attendance(board, Narrator(of_queries[0], requests.pulse), requests, facts, told_apart)


def _domains(plan: Node) -> list[Domain]:
    return [shape_of(node).domain for node in walk(plan) if isinstance(node, Stream)]


def seconds_of(value: str | float | timedelta, parameter: str) -> float:
    """A length of time in seconds, as users write it.

    >>> seconds_of("5 s", "restart_delay"), seconds_of("2 min", "stalled_after")
    (5.0, 120.0)
    """
    amount = Amount.of(value, parameter)
    if not amount.is_time or amount.number <= 0:
        hint = "write it like '5 s'"
        raise ConfigurationError("must be a length of time", parameter=parameter, value=str(value), hint=hint)
    return amount.resolve(Domain.TIME, parameter) / 1e6
