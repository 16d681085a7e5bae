"""Progress by partition against the oracle: whatever the windows, the cuts, the sources, and where a run breaks off.

partition 1   --10----20----30--------40--
partition 2   ----4---------------5-------       lags: loses nothing, and the others wait for it
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.acceptance import streams
from tests.acceptance.streams import CUTS, outcome
from tests.acceptance.test_batch_cuts import AGGREGATES, WINDOWS, by_definition, check, query
from tests.contract.reference import holds, joined_row
from tests.engines.local.test_checkpoint import interrupted, uninterrupted
from tests.strategies import comparable
from windrow.pipeline.metrics import Metrics
from windrow.plan.nodes import Join
from windrow.semantics.joins import Between, JoinKind, join
from windrow.semantics.progress.partitions import partition_bounds
from windrow.semantics.progress.policies import END, START, Idle, Ordered, Policy, Punctuation, Slack
from windrow.semantics.scalars.amounts import Amount

SCHEMA = streams.SCHEMA.append(pa.field("p", pa.int64()))
Row = dict[str, Any]
POLICIES: dict[str, tuple[Policy, int]] = {
    "slack": (Slack(Amount.of(12), per=("p",)), 12),
    "ordered": (Ordered(per=("p",)), 0),
}


def rows(seed: int, size: int = 120, *, partitions: int | None = None) -> list[Row]:
    """Rows of 1 to 6 partitions that lag behind each other by different times; some appear late, some fall silent."""
    chance = random.Random(seed)
    many = partitions or chance.randrange(1, 7)
    names = [None, *range(1, many)]
    lags = {name: chance.choice((0, 0, 5, 40, 90)) for name in names}
    lives = {name: (chance.choice((0, 0, size // 3)), chance.choice((size, size, size // 2))) for name in names}
    found = []
    first, *_ = made = streams.rows(seed, size, disorder=30)
    for i, row in enumerate(made):
        living = [name for name in names if lives[name][0] <= i < lives[name][1]] or names[:1]
        name = chance.choice(living)
        found.append({**row, "ts": row["ts"] - first["ts"] - lags[name], "p": name})
    return found


def table(given: Sequence[Row]) -> pa.Table:
    return pa.Table.from_pylist(list(given), SCHEMA)


def heard(given: Sequence[Row | Punctuation], slack: int, idle: int | None = None) -> list[Any]:
    """Rows, each after the punctuation that what came before implies; what is said of a partition is not passed on."""
    told = [e if isinstance(e, Punctuation) else (e["p"], e["ts"]) for e in given]
    found: list[Any] = []
    last = START
    for bound, element in zip(partition_bounds(told, slack, idle), given, strict=True):
        if bound > last:
            last = bound
            found.append(Punctuation(bound))
        if not isinstance(element, Punctuation):
            found.append(element)
    return found


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_slowest_partition_says_how_far_a_stream_is(policy: str, window: str) -> None:
    said, slack = POLICIES[policy]
    for seed in range(2):
        for idle in (None, 25):
            given = rows(seed + 10 * len(window))
            asked = query(table(given), said, WINDOWS[window], idle=None if idle is None else Idle(Amount.of(idle)))
            check(by_definition(heard(given, slack, idle), asked), asked, (3, 1 << 17))


def test_a_partition_that_lags_loses_no_row() -> None:
    given = [row for row in rows(4, 300, partitions=6) if row["p"] is not None]
    announced = [Punctuation(START, (p,)) for p in range(1, 6)]
    for policy in (wr.ordered(per="p"), wr.ordered()):
        ordered = {p: iter(sorted(r["ts"] for r in given if r["p"] == p)) for p in range(1, 6)}
        elements = [{**row, "ts": next(ordered[row["p"]])} for row in given]
        data = [*announced, *elements] if policy.per else elements
        asked = wr.stream(iter(data), time="ts", schema=SCHEMA, progress=policy, name="s").window(range=10)
        late = asked.agg(n=wr.count()).late("drop").run().metrics.rows_late
        assert (late == 0) == bool(policy.per)


def said_of_partitions(seed: int) -> list[Any]:
    """Rows with what is said of single partitions among them: they are there, have come so far, have ended."""
    chance, found = random.Random(seed), list[Any]()
    found += [Punctuation(START, (p,)) for p in (None, 1, 2) if chance.random() < 0.5]
    for row in rows(seed, 80, partitions=5):
        found.append(row)
        if chance.random() < 0.15:
            p = chance.choice((None, 1, 2, 3, 4, 9))
            found.append(Punctuation(chance.choice((START, END, row["ts"], row["ts"] + 20)), (p,)))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_what_is_said_of_partitions(seed: int) -> None:
    elements = said_of_partitions(seed)
    asked = query(iter(()), POLICIES["slack"][0], WINDOWS["sliding"], schema=SCHEMA, name="s")
    expected = by_definition(heard(elements, 12), asked)
    for size in CUTS:
        again = query(iter(elements), POLICIES["slack"][0], WINDOWS["sliding"], schema=SCHEMA, name="s")
        found = again.run(batch_rows=size)
        assert comparable(expected.results) == comparable(found.table.to_pylist())
        assert expected.account.late == found.metrics.rows_late


@pytest.mark.parametrize("idle", [None, 15])
@pytest.mark.parametrize("policy", POLICIES)
def test_unions_of_streams_with_partitions(policy: str, idle: int | None) -> None:
    said, slack = POLICIES[policy]
    for seed in range(3):
        given = [rows(seed, 50), rows(seed + 50, 70)]
        first, second = (wr.stream(table(one), time="ts", progress=said, idle=idle) for one in given)
        where = first.union(second).where("x IS NULL OR x <> 5")
        asked = where.group_by("k").window(range=30, slide=10).agg(**AGGREGATES).late("side")
        check(by_definition(melded(given, 10, slack, idle), asked), asked, (3, 1 << 17))


def melded(given: Sequence[Sequence[Row]], pace: int, slack: int, idle: int | None) -> list[Any]:
    """`streams.melded` where each stream has partitions: one has an idle time within each stream, and among them."""
    after = [[*partition_bounds([*((r["p"], r["ts"]) for r in one), (None, 0)], slack, idle)][1:] for one in given]
    ports = [list(zip(one, bounds, strict=True)) for one, bounds in zip(given, after, strict=True)]
    progress, bound = [START] * len(ports), START
    arrived: list[Any] = []
    while any(ports):
        place = min((i for i, port in enumerate(ports) if port), key=lambda i: ports[i][0][0]["ts"] // pace)
        row, progress[place] = ports[place].pop(0)
        arrived.append(row)
        if min(streams.counted(progress, idle)) > bound:
            bound = min(streams.counted(progress, idle))
            arrived.append(Punctuation(bound))
        if not ports[place]:
            progress[place] = END
    return arrived


@pytest.mark.parametrize("seed", range(3))
def test_sides_of_joins(seed: int) -> None:
    """Each side has its own partitions; the rows that are not late meet as if all had come at once."""
    given = [rows(seed, 60), rows(seed + 70, 60)]
    left, right = (wr.stream(table(one), time="ts", progress=wr.slack(3, per="p"), name=n)
                   for one, n in zip(given, "ab", strict=True))  # fmt: skip
    asked = left.join(right, on="a.k = b.k", between=(-9, 9)).late("drop")
    outcomes = [outcome(asked, batch_rows=size) for size in (3, 50, 1 << 17)]
    assert [outcomes[0]] * 3 == outcomes
    left_kept, right_kept = kept = list[Any](), list[Any]()
    for side, one in enumerate(given):
        bound = START
        for element in heard(one, 3):
            if isinstance(element, Punctuation):
                bound = element.value
            elif element["ts"] >= bound:
                kept[side].append((element["ts"], element))
    node = asked.plan
    assert isinstance(node, Join)
    pairs = join(left_kept, right_kept, Between(-9, 9), JoinKind.INNER, holds(node))
    assert len(pairs) > 10
    assert comparable(joined_row(node, pair) for pair in pairs) == outcomes[0]["results"]
    assert outcomes[0]["metrics"]["rows_late"] == sum(map(len, given)) - sum(map(len, kept)) > 0


@pytest.mark.parametrize("settings", [{}, {"idle": 20}, {"lead": 30}])
def test_a_run_that_breaks_off_goes_on_with_every_partition_where_it_was(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    idle, lead = settings.get("idle"), settings.get("lead")
    asked = query(table(rows(3, 100, partitions=5)), wr.slack(4, per="p", lead=lead), WINDOWS["sliding"], idle=idle)
    expected = uninterrupted(asked, 20)
    assert expected[2]["rows_late"] > 0
    assert expected == interrupted(asked, 20, tmp_path / "kept", [2, 1])


def test_how_a_run_tells_of_its_partitions() -> None:
    found: list[Metrics] = []
    data = [{"ts": t, "p": p} for t, p in ((5, 1), (6, 2), (90, 1), (91, 3), (7, 2))]
    schema = pa.schema({"ts": pa.int64(), "p": pa.int64()})
    asked = wr.stream(data, time="ts", schema=schema, progress=wr.ordered(per="p"), name="s").window(range=10)
    asked.agg(n=wr.count()).late("drop").run(batch_rows=1, on_progress=found.append)
    source = found[-1].sources["s"]
    assert (3, None, None) == (source.partitions, source.held_back_by, found[-1].held_back_by)
    assert replace(found[-1]) == type(found[-1]).from_dict(found[-1].to_dict())
