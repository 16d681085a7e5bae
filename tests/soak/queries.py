"""Queries that are killed on Spark, over seeded streams that give the same answer however they are cut.

Rows of files keep their promises; elements with late rows carry their punctuations where micro-batches end.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

import windrow as wr
from windrow.plan.checks.joins import joined_names, usual_time
from windrow.plan.nodes import Join, Late
from windrow.query.fluent import to_expression
from windrow.semantics.joins import Between, JoinKind, JoinWindow
from windrow.semantics.progress.policies import Punctuation
from windrow.semantics.scalars.expressions import Call, Column

BATCH_ROWS = 150
BATCHES = 12
LARGE_BATCH_ROWS = 50_000
MEMORY = "2 MB"
"""Of kept rows that all shards together have in memory."""
DISORDER = 40
KINDS: dict[str, pa.DataType] = {"ts": pa.int64(), "k": pa.string(), "g": pa.int64(), "x": pa.int64()}
SCHEMA = pa.schema(KINDS)
BAND = "a_x >= b_x - 1 and a_x < b_x + 2"


def rows(seed: int, *, late: float = 0.0) -> list[dict[str, Any]]:
    """Rows up to `DISORDER` behind the latest; a part of them, `late`, far behind it."""
    chance = random.Random(seed)
    found, now = [], 0
    for _ in range(BATCH_ROWS * BATCHES):
        now += chance.choice((0, 0, 1, 3, 30 if chance.random() < 0.05 else 0))
        back = 10 * DISORDER if chance.random() < late else DISORDER
        k, g, x = chance.choice(("a", "b", "c", "d", None)), chance.randrange(20), chance.choice((None, *range(9)))
        found.append({"ts": now - chance.randrange(back + 1), "k": k, "g": g, "x": x})
    return found


def stream(folder: Path, seed: int = 1) -> wr.Query:
    """The rows in a file that is written once."""
    path = folder / f"s{seed}.parquet"
    if not path.exists():
        parquet.write_table(pa.Table.from_pylist(rows(seed), SCHEMA), path)
    return wr.stream(path, time="ts", progress=wr.slack(DISORDER), name=f"s{seed}")


def punctuated(seed: int = 2, ahead: str = "", name: str = "told") -> wr.Query:
    """Elements with late rows; a promise after every `BATCH_ROWS` rows, and further ones for the groups `ahead`."""
    given: list[Any] = []
    for place, row in enumerate(rows(seed, late=0.1), 1):
        given.append(row)
        if place % BATCH_ROWS == 0:
            latest = max(one["ts"] for one in given if isinstance(one, dict))
            given += [Punctuation(latest, (k,)) for k in ahead]
            given.append(Punctuation(latest - DISORDER))
    progress = wr.punctuated(per="k" if ahead else ())
    return wr.stream(given, time="ts", progress=progress, schema=SCHEMA, name=name)


def partials(folder: Path) -> wr.Query:
    spec = {"n": wr.count(), "total": wr.sum("x"), "most": wr.max("x")}
    return stream(folder).where("g <> 3").group_by("k").window(range=60, slide=10).agg(**spec)


def median(folder: Path) -> wr.Query:
    spec = {"middle": wr.median("x"), "all": wr.collect("g")}
    return stream(folder).group_by("k").window(range=60, slide=20).agg(**spec)


def session(folder: Path) -> wr.Query:
    return stream(folder).group_by("k", "g").window(gap=25).agg(n=wr.count(), total=wr.sum("x"))


def landmark(folder: Path) -> wr.Query:
    return stream(folder).group_by("k").window(range="unbounded", slide=50).agg(n=wr.count(), last=wr.last("x"))


def side(_: Path) -> wr.Query:
    return punctuated().group_by("k").window(range=60, slide=20).agg(n=wr.count(), total=wr.sum("x")).late("side")


def revise(_: Path) -> wr.Query:
    spec = {"n": wr.count(), "total": wr.sum("x")}
    return punctuated().group_by("k").window(range=60, slide=20).agg(**spec).late("revise", within=200)


def promises(_: Path) -> wr.Query:
    spec = {"n": wr.count(), "total": wr.sum("x"), "middle": wr.median("x")}
    return punctuated(ahead="ab").group_by("k").window(range=60, slide=20).agg(**spec).late("side")


def early(_: Path) -> wr.Query:
    """Late rows too; which early results are given depends on the micro-batches, what they replay to does not."""
    spec = {"n": wr.count(), "total": wr.sum("x"), "middle": wr.median("x")}
    return punctuated().group_by("k").window(range=60, slide=20).agg(**spec).late("side").early(25)


def union(folder: Path) -> wr.Query:
    both = stream(folder).union(stream(folder, 3))
    return both.group_by("k").window(range=40, slide=10).agg(n=wr.count(), mean=wr.avg("x"))


def distinct(folder: Path) -> wr.Query:
    return stream(folder).select("ts", "k").distinct()


def nested(folder: Path) -> wr.Query:
    inner = stream(folder).group_by("k", "g").window(range=20).agg(n=wr.count())
    return inner.group_by("k").window(range=80, slide=40).agg(most=wr.max("n"), groups=wr.count_distinct("g"))


def joined(left: wr.Query, right: wr.Query, on: str, window: JoinWindow, kind: JoinKind, **others: Any) -> wr.Query:
    """Two streams as the sides `a` and `b`."""
    names = joined_names([left.schema, right.schema], ("a", "b"))
    schema = pa.schema([(column.name, KINDS[column.source]) for column in names])
    node = Join(left.plan, right.plan, kind, window, to_expression(on, schema), names, ("a", "b"), usual_time(kind))
    return wr.Query(replace(node, **others), {**left.sources, **right.sources})


def equality(folder: Path) -> wr.Query:
    return joined(stream(folder), stream(folder, 3), "a_g = b_g and a_k = b_k", Between(-20, 30), JoinKind.FULL)


def band(folder: Path) -> wr.Query:
    return joined(stream(folder), stream(folder, 3), BAND, Between(-5, 5), JoinKind.LEFT)


def missed(_: Path) -> wr.Query:
    sides = punctuated(), punctuated(4, name="too")
    return joined(*sides, "a_x + b_x = 7 and a_g < b_g", Between.of_ranges(6, 9), JoinKind.INNER, late=Late.SIDE)


def counted_pairs(folder: Path) -> wr.Query:
    """A window over a join of rows with windows."""
    totals = stream(folder, 3).group_by("k").window(range=20).agg(n=wr.count()).select("window_end", "k", "n")
    names = joined_names([SCHEMA, totals.schema], ("a", "b"))
    on = Call("=", (Column("a_k"), Column("b_k")))
    rows = stream(folder)
    pairs = Join(rows.plan, totals.plan, JoinKind.INNER, Between(-40, 40), on, names, ("a", "b"))
    both = wr.Query(pairs, {**rows.sources, **totals.sources})
    return both.group_by(k="a_k").window(range=60, slide=20).agg(pairs=wr.count(), most=wr.max("n"))


def spilled(folder: Path) -> wr.Query:
    """More than memory is to hold, of values that nothing makes smaller, in a window that stays open."""
    path = folder / "large.parquet"
    if not path.exists():
        chance, count = np.random.default_rng(5), BATCHES * LARGE_BATCH_ROWS
        columns: dict[str, Any] = {"ts": np.arange(count), "k": chance.integers(0, 5, count), "x": chance.random(count)}
        parquet.write_table(pa.table(columns), path)
    grouped = wr.stream(path, time="ts", progress=wr.slack(DISORDER), name="large").group_by("k")
    return grouped.window(range=BATCHES * LARGE_BATCH_ROWS).agg(m=wr.median("x"), q=wr.quantile("x", 0.9))


def batch_rows(case: Callable[[Path], wr.Query]) -> int:
    """Rows of a micro-batch of a case."""
    return LARGE_BATCH_ROWS if case is spilled else BATCH_ROWS


CASES: tuple[Callable[[Path], wr.Query], ...] = (
    partials,
    median,
    session,
    landmark,
    side,
    revise,
    promises,
    early,
    union,
    distinct,
    nested,
    equality,
    band,
    missed,
    counted_pairs,
    spilled,
)
