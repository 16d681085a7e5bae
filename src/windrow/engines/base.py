"""What an engine is, which there are, and the one way to run queries: `Engine.start` gives a `Run`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa

from windrow.aggregates.kinds.base import value_type
from windrow.engines.run import Outcome, Receiver, Requests, Run
from windrow.engines.watching import watched
from windrow.errors import ConfigurationError
from windrow.physical.costs import Statistics
from windrow.pipeline.metrics import Metrics
from windrow.plan.checks.nodes import check_supported, shape_of
from windrow.plan.nodes import Node, Stream, walk
from windrow.sinks.base import fitted
from windrow.sources.addresses import own_path
from windrow.sources.live.pushed import PushChannel, PushedSource

if TYPE_CHECKING:
    from windrow.sources.base import Source

Item = TypeVar("Item")
INNER = {"inner": True}
"""Metadata of the fields of options that are no user's to set."""


class Attended(Protocol):
    """Somebody who attends on a run: entered and left by the thread that runs, which reports to it."""

    requests: Requests

    def on_each(self, query: int, metrics: Metrics) -> None:
        """Progress of one of several queries."""

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Engine(ABC):
    """Where queries run."""

    name: str

    @property
    @abstractmethod
    def options(self) -> type[Any]:
        """How to run here: a frozen dataclass with a `checkpoint`, whose `check()` raises what is wrong with it."""

    @abstractmethod
    def run(
        self,
        plans: Sequence[Node],
        sources: Mapping[str, Source],
        receiver: Receiver,
        options: Any,
        requests: Requests,
    ) -> Outcome:
        """Run plans over sources they share in this thread, handing on what they give as it comes."""

    @property
    def option_names(self) -> tuple[str, ...]:
        """What users can set."""
        return tuple(field.name for field in fields(self.options) if not field.metadata.get("inner"))

    def options_of(self, given: Mapping[str, Any]) -> Any:
        """The options that a user gave, by their names; unknown ones and wrong values are refused."""
        for name in given:
            if name not in self.option_names:
                raise ConfigurationError(
                    f"is not an option of a run on the {self.name} engine", parameter=name, allowed=self.option_names
                )
        for field in fields(self.options):
            check_kind(field.name, str(field.type), given.get(field.name))
        if (folder := given.get("checkpoint")) is not None:
            given = {**given, "checkpoint": str(own_path(folder))}
        options = self.options(**given)
        options.check()
        return options

    def start(
        self,
        plans: Sequence[Node],
        sources: Sequence[Mapping[str, Source]],
        options: Any,
        item: Callable[[int, pa.RecordBatch], Item],
        *,
        into: Receiver | None = None,
        follow: bool = False,
        keep_late: bool = True,
        on_progress: Callable[[Metrics], None] | None = None,
        on_end: Callable[[list[Metrics]], None] | None = None,
        attended: Attended | None = None,
    ) -> Run[Item]:
        """Run plans, each over its own sources; what several have in common is read and computed once.

        With `into` they have run when this returns, see `Run`. With `follow`, streams that have no end are followed
        until the run is stopped or closed; without, what is there now is read, and then everything closes.
        Late rows are kept for the reader unless `keep_late` is false. `on_progress` is called by the thread that runs,
        which also enters and leaves `attended`; what is asked of the run is then what that one asks.
        """
        for plan in plans:
            check_supported(plan)
        bound, channels = with_channels([_bound(plan, own) for plan, own in zip(plans, sources, strict=True)])
        requests, on_each = (Requests(), None) if attended is None else (attended.requests, attended.on_each)
        requests.follow = follow

        def work(receiver: Receiver) -> Outcome:
            to = _fitting(replace(_reporting(receiver, on_progress), on_each=on_each), plans)
            try:
                with attended or nullcontext():
                    return self._run_all(plans, bound, to, options, requests, is_watched=into is None)
            finally:
                for channel in channels.values():
                    channel.end()

        return Run(work, requests, item, into=into, keep_late=keep_late, on_end=on_end, channels=channels)

    def _run_all(
        self,
        plans: Sequence[Node],
        sources: Sequence[Mapping[str, Source]],
        receiver: Receiver,
        options: Any,
        requests: Requests,
        *,
        is_watched: bool,
    ) -> Outcome:
        """Sets of plans one after the other; each has a checkpoint of its own."""
        each: dict[int, Metrics] = {}
        done: list[Metrics] = []
        for number, (places, shared) in enumerate(sharing_sets(sources)):
            own = {name: one if requests.follow else one.until_now() for name, one in shared.items()}
            own = {name: watched(one, requests) if is_watched or one.is_endless else one for name, one in own.items()}
            folder = options.checkpoint
            apart = replace(options, checkpoint=str(Path(folder) / f"set-{number}")) if folder and number else options
            to = within(receiver, places, done)
            found, metrics = self.run([plans[place] for place in places], own, to, apart, requests)
            each.update(zip(places, found, strict=True))
            done.append(metrics)
            if requests.left:
                break
        return [each.get(place, Metrics()) for place in range(len(plans))], reduce(Metrics.plus, done)


_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "bool": ((bool,), "must be True or False"),
    "int": ((int,), "must be a whole number of at least 1"),
    "float": ((int, float), "must be a number"),
    "str": ((str, Path), "must be text"),
    "Statistics": ((Statistics,), "must be Statistics(groups=..., rows=...)"),
}
"""What an option takes by the annotation of its field; the checks of the options see to the others."""


def check_kind(name: str, annotation: str, value: Any) -> None:
    """Refuse a value of another type than the option takes."""
    known, rule = _KINDS.get(annotation.removesuffix(" | None"), (None, ""))
    if name == "checkpoint":
        rule = "must be the path of a folder"
    if value is not None and known and (not isinstance(value, known) or value == ""):
        raise ConfigurationError(rule, parameter=name, value="an empty text" if value == "" else value)


def with_channels(
    sources: Sequence[Mapping[str, Source]],
) -> tuple[list[Mapping[str, Source]], dict[str, PushChannel]]:
    """The same sources, those whose rows are pushed with a channel for this run; and the channels by name."""
    made: dict[int, PushedSource] = {}
    for own in sources:
        made |= {id(one): one.for_one_run() for one in own.values() if isinstance(one, PushedSource)}
    if not made:
        return list(sources), {}
    bound: list[Mapping[str, Source]] = [{name: made.get(id(one), one) for name, one in own.items()} for own in sources]
    return bound, {one.name: one.channel for one in made.values() if one.channel is not None}


def sharing_sets(sources: Sequence[Mapping[str, Source]]) -> Iterator[tuple[list[int], Mapping[str, Source]]]:
    """Queries, by their places, for which a name of a stream means the same data; the others have nothing to share."""
    made: list[tuple[list[int], dict[str, Source]]] = []
    for place, own in enumerate(sources):
        fitting = (one for one in made if all(one[1].get(name, s) is s for name, s in own.items()))
        places, shared = next(fitting, (None, None))
        if places is None or shared is None:
            places, shared = [], {}
            made.append((places, shared))
        places.append(place)
        shared.update(own)
    yield from made


def within(receiver: Receiver, places: Sequence[int], done: Sequence[Metrics] = ()) -> Receiver:
    """For some of the queries of a receiver, of which others are done: all are reported by their own places."""
    on_late, on_progress, on_each = receiver.on_late, receiver.on_progress, receiver.on_each
    before = tuple(done)
    return replace(
        receiver,
        on_result=lambda query, batch: receiver.on_result(places[query], batch),
        on_late=on_late and (lambda query, batch: on_late(places[query], batch)),
        on_progress=on_progress and (lambda metrics: on_progress(reduce(Metrics.plus, (*before, metrics)))),
        on_each=on_each and (lambda query, metrics: on_each(places[query], metrics)),
    )


def _fitting(receiver: Receiver, plans: Sequence[Node]) -> Receiver:
    """The same, with exactly the columns of the answers, and plain values in place of dictionaries."""
    schemas = [shape_of(plan).answer for plan in plans]
    on_late = receiver.on_late
    return replace(
        receiver,
        on_result=lambda query, batch: receiver.on_result(query, fitted(batch, schemas[query])),
        on_late=on_late and (lambda query, batch: on_late(query, _decoded(batch))),
    )


def _reporting(receiver: Receiver, on_progress: Callable[[Metrics], None] | None) -> Receiver:
    """The same, and progress is reported to someone else, too."""
    told = [one for one in (receiver.on_progress, on_progress) if one is not None]

    def tell(metrics: Metrics) -> None:
        for one in told:
            one(metrics)

    return replace(receiver, on_progress=tell if told else None)


def _decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    return fitted(batch, pa.schema([(field.name, value_type(field.type)) for field in batch.schema]))


def _bound(plan: Node, sources: Mapping[str, Source]) -> dict[str, Source]:
    names = [node.name for node in walk(plan) if isinstance(node, Stream)]
    for name in names:
        if name not in sources:
            raise ConfigurationError(
                "has no data", parameter=name, hint=f"say FROM 'path' in CREATE STREAM, or give data as {name}=..."
            )
    return {name: sources[name] for name in names}


ENGINES: dict[str, str | Engine] = {
    "local": "windrow.engines.local.run",
    "spark": "windrow.engines.spark.engine",
    "hardware": "windrow.engines.hardware.run",
}
"""The engines by their names; those that were not used yet by the modules that have them as `ENGINE`.

They are loaded on use, because they bring compiled kernels or a JVM with them.
"""


def engine_named(name: str) -> Engine:
    """The engine of a name."""
    check_engine(name)
    found = ENGINES[name]
    if isinstance(found, str):
        found = ENGINES[name] = import_module(found).ENGINE
        assert isinstance(found, Engine)
    return found


def check_engine(name: str) -> None:
    """Refuse an engine there is not; loads none."""
    if name not in ENGINES:
        raise ConfigurationError("must be a known engine", parameter="engine", value=name, allowed=tuple(ENGINES))


def home_of(sources: Iterable[Source]) -> str:
    """The name of the engine where a query runs unless its user says: where its data lives."""
    return "spark" if any(getattr(source, "is_frame", False) for source in sources) else "local"
