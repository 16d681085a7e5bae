"""Several queries at once: what they share is read and computed once, and each gives its own answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from windrow.errors import QueryError
from windrow.plan.nodes import Node
from windrow.query.explaining import explain_on
from windrow.query.fluent import Query
from windrow.query.late_rows import warn_of_lost_rows
from windrow.query.outputs import refuse_overwriting
from windrow.query.running import OnBatch, OnProgress, Result, engine_of, execute_together, gathered

if TYPE_CHECKING:
    from windrow.pipeline.metrics import Metrics
    from windrow.sources.base import Source


@dataclass(frozen=True)
class Results(Sequence[Result]):
    """What queries that ran together gave, each its `Result` in their order.

    `metrics` are of all of them: rows are counted once for each query that took them, and in `sources` as they were
    read.
    """

    each: tuple[Result, ...]
    metrics: Metrics

    @overload
    def __getitem__(self, place: int) -> Result: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, place: int | slice) -> Result | tuple[Result, ...]:
        return self.each[place]

    def __len__(self) -> int:
        return len(self.each)


def run(queries: Sequence[Query], **options: Any) -> Results:
    """Run several queries to their end, over each stream once; options as in `Query.run`.

    Equal parts are computed once, and windows over the same rows with the same keys share panes. Every answer is the
    one that the query gives alone.
    """
    answers: list[list[pa.RecordBatch]] = [[] for _ in queries]
    late: list[list[pa.RecordBatch]] = [[] for _ in queries]
    deliveries = [(one.append, other.append) for one, other in zip(answers, late, strict=True)]
    each, metrics = run_into(queries, deliveries, **options)
    warn_of_lost_rows([query.plan for query in queries], each)
    given = zip(queries, answers, late, each, strict=True)
    made = (gathered(query.plan, table, aside, told) for query, table, aside, told in given)
    return Results(tuple(made), metrics)


def run_into(
    queries: Sequence[Query],
    deliveries: Sequence[tuple[OnBatch, OnBatch | None]],
    *,
    on_progress: OnProgress | None = None,
    engine: str | None = None,
    **options: Any,
) -> tuple[list[Metrics], Metrics]:
    """Run several queries, handing on what each gives as it comes: the metrics of each, and of all."""
    _check(queries)
    engine = engine or _engine_of(queries)
    refuse_overwriting((item for query in queries for item in query.sources.items()), options)
    found: dict[int, Metrics] = {}
    whole: list[Metrics] = []
    for number, (places, sources) in enumerate(companies(queries)):
        each, metrics = execute_together(
            [queries[place].plan for place in places],
            sources,
            [deliveries[place] for place in places],
            on_progress=on_progress,
            engine=engine,
            **_apart(options, number),
        )
        found.update(zip(places, each, strict=True))
        whole.append(metrics)
    total = whole[0]
    for metrics in whole[1:]:
        total = total.plus(metrics)
    return [found[place] for place in range(len(queries))], total


def _apart(options: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The options of the companies one after the other: each has a checkpoint of its own."""
    folder = options.get("checkpoint")
    return {**options, "checkpoint": str(Path(folder) / f"set-{number}")} if folder and number else dict(options)


def companies(queries: Sequence[Query]) -> Iterator[tuple[list[int], Mapping[str, Source]]]:
    """Queries, by their places, for which a name of a stream means the same data; the others have nothing to share."""
    made: list[tuple[list[int], dict[str, Source]]] = []
    for place, query in enumerate(queries):
        fitting = (one for one in made if all(one[1].get(n, s) is s for n, s in query.sources.items()))
        places, sources = next(fitting, (None, None))
        if places is None or sources is None:
            places, sources = [], {}
            made.append((places, sources))
        places.append(place)
        sources.update(query.sources)
    yield from made


def explain(queries: Sequence[Query], engine: str | None = None) -> str:
    """The plan of each query as text, then what they share when they run together, and why not more."""
    _check(queries)
    texts = [explain_on(query.plan, query.sources, engine) for query in queries]
    if len(queries) == 1:
        return texts[0]
    parts = [f"Query {number}\n{text}" for number, text in enumerate(texts, 1)]
    shared = (line for places, _ in companies(queries) for line in _shared(queries, places, engine))
    return "\n\n".join([*parts, "\n".join(["Shared", *(f"- {line}" for line in shared)])])


def _shared(queries: Sequence[Query], places: list[int], engine: str | None) -> Iterator[str]:
    """What these queries share on the engine that they would run on."""
    from windrow.engines.local.passes import passes
    from windrow.physical.explain.sharing import describe

    plans: dict[int, Node] = {place + 1: queries[place].plan for place in places}
    if (engine or _engine_of(queries)) == "spark":
        return describe(plans, [list(plans)], parts=False)
    found = passes(list(plans.values()))
    return describe(plans, [[places[one] + 1 for one in together] for together in found])


def _engine_of(queries: Sequence[Query]) -> str:
    return engine_of({str(id(source)): source for query in queries for source in query.sources.values()})


def _check(queries: Sequence[Any]) -> None:
    wrong = [query for query in queries if not isinstance(query, Query)]
    if not queries or wrong:
        raise QueryError(
            "must be one or more queries",
            parameter="queries",
            value=type(wrong[0]).__name__ if wrong else "none",
            hint="wr.run([first, second]), where each is a Query such as wr.sql(...)",
        )
