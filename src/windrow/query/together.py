"""Several queries at once: what they share is read and computed once, and each gives its own answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from windrow.engines.base import home_of, sharing_sets
from windrow.engines.run import Run, tagged
from windrow.errors import QueryError
from windrow.plan.nodes import Node
from windrow.query.fluent import Query
from windrow.query.running import Result, begin, explain_on, gather

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
    return Results(*gather(*_plans_and_sources(queries), **options))


def start(queries: Sequence[Query], **options: Any) -> Run[tuple[int, pa.RecordBatch]]:
    """Start several queries as `Query.start` does one; each result comes with the place of its query, from 0."""
    return begin(*_plans_and_sources(queries), tagged, follow=True, **options)


def explain(queries: Sequence[Query], engine: str | None = None) -> str:
    """The plan of each query as text, then what they share when they run together, and why not more."""
    plans, sources = _plans_and_sources(queries)
    texts = [explain_on(plan, own, engine) for plan, own in zip(plans, sources, strict=True)]
    if len(queries) == 1:
        return texts[0]
    parts = [f"Query {number}\n{text}" for number, text in enumerate(texts, 1)]
    shared = (line for places, _ in sharing_sets(sources) for line in _shared(queries, places, engine))
    return "\n\n".join([*parts, "\n".join(["Shared", *(f"- {line}" for line in shared)])])


def _shared(queries: Sequence[Query], places: list[int], engine: str | None) -> Iterator[str]:
    """What these queries share on the engine that they would run on."""
    from windrow.engines.local.passes import passes
    from windrow.physical.explain.sharing import describe

    plans: dict[int, Node] = {place + 1: queries[place].plan for place in places}
    if (engine or home_of(source for query in queries for source in query.sources.values())) == "spark":
        return describe(plans, [list(plans)], parts=False)
    found = passes(list(plans.values()))
    return describe(plans, [[places[one] + 1 for one in together] for together in found])


def _plans_and_sources(queries: Any) -> tuple[list[Node], list[Mapping[str, Source]]]:
    """Of queries, at least one."""
    wrong = [one for one in queries if not isinstance(one, Query)] if isinstance(queries, Sequence) else [queries]
    if not queries or wrong:
        raise QueryError(
            "must be one or more queries",
            parameter="queries",
            value=type(wrong[0]).__name__ if wrong else "none",
            hint="wr.run([first, second]), where each is a Query such as wr.sql(...)",
        )
    return [query.plan for query in queries], [query.sources for query in queries]
