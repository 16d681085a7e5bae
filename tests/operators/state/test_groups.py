"""Many groups, groups that come and go, and keys that keep their codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from windrow.engines.local import LocalOptions
from windrow.engines.local.run import Runner
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.state.groups import COMPACT_ABOVE, Groups


def by_polars(data: pa.Table, range_: int, slide: int, keys: list[str]) -> pl.DataFrame:
    """Every row once for each of its windows, then grouped."""
    first = pl.col("t") // slide + 1
    rows = pl.concat(pl.DataFrame(data).with_columns(window_end=(first + i) * slide) for i in range(range_ // slide))
    found = rows.group_by("window_end", *keys).agg(
        n=pl.len().cast(pl.Int64), total=pl.col("x").sum(), most=pl.col("x").max(), middle=pl.col("x").median()
    )
    return found.sort("window_end", *keys, nulls_last=True)


def asked(data: pa.Table, range_: int, slide: int, keys: list[str], *, slack: int) -> wr.Query:
    stream = wr.stream(data, time="t", progress=wr.slack(slack)).group_by(*keys).window(range=range_, slide=slide)
    return stream.agg(n=wr.count(), total=wr.sum("x"), most=wr.max("x"), middle=wr.median("x"))


def check(data: pa.Table, range_: int, slide: int, keys: list[str], *, slack: int, strategy: str, rows: int) -> None:
    result = asked(data, range_, slide, keys, slack=slack).strategy(strategy).run(batch_rows=rows)
    assert 0 == result.metrics.rows_late
    expected = by_polars(data, range_, slide, keys)
    found = pl.DataFrame(result.table).select(expected.columns).sort("window_end", *keys, nulls_last=True)
    assert expected.equals(found)


def moving(size: int, *, groups: int, wide: int) -> pa.Table:
    """Keys that change over time: each but NULL is there for a while and never comes back; rows are at most 50 late."""
    random = np.random.default_rng(3)
    times = np.arange(size) // 20 - random.integers(0, 50, size)
    number = (np.arange(size) * groups // size) + random.integers(0, wide, size)
    texts = np.char.add("key-", number.astype(str)).tolist()
    keys = [None if n % 97 == 60 and n % 3000 > 1500 else text for n, text in zip(number.tolist(), texts, strict=True)]
    columns: dict[str, Any] = {"t": times, "g": number, "x": random.integers(-99, 99, size)}
    return pa.table({**columns, "k": pa.array(keys, pa.string())})


@pytest.mark.parametrize("strategy", ["panes", "wid", "buffer"])
@pytest.mark.parametrize("keys", [["k"], ["g"], ["k", "g"]], ids="-".join)
def test_groups_that_come_and_go(keys: list[str], strategy: str) -> None:
    data = moving(60_000, groups=5 * COMPACT_ABOVE, wide=40)
    check(data, 200, 100, keys, slack=50, strategy=strategy, rows=5_000)


def test_groups_that_are_forgotten_come_back() -> None:
    data = moving(40_000, groups=3 * COMPACT_ABOVE, wide=40)
    again = data.set_column(0, "t", pa.array(data["t"].to_numpy() + 5_000))
    check(pa.concat_tables([data, again]), 200, 100, ["k"], slack=50, strategy="panes", rows=3_000)


def test_two_hundred_thousand_groups() -> None:
    random = np.random.default_rng(4)
    size = 400_000
    columns: dict[str, Any] = {
        "t": np.arange(size) // 1000,
        "k": pa.array(random.permutation(size) % 200_000).cast(pa.string()),
        "x": random.integers(-99, 99, size),
    }
    check(pa.table(columns), 200, 200, ["k"], slack=0, strategy="auto", rows=1 << 16)


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["b", None, "a"]),
        pa.array([3, 1, None, 2]),
        pa.array([True, None, False]),
        pa.array([None, "x"]),
        pa.array([None, None], pa.int64()),
    ],
)
def test_codes_go_by_first_sight_nulls_too(array: Any) -> None:
    groups = Groups([array.type])
    codes = groups.encode([array])
    again = Groups([array.type])
    again.encode(groups.decode(np.arange(groups.count, dtype=np.int32)))
    assert list(dict.fromkeys(codes.tolist())) == list(range(groups.count))
    assert codes.tolist() == again.encode([array]).tolist()


def test_entries_of_a_dictionary_that_cannot_occur_are_no_groups() -> None:
    dictionary = pa.array([f"key-{i}" for i in range(3 * COMPACT_ABOVE)])
    indices: Any = pa.array([7, None, 9, 7], pa.int32())
    groups = Groups([pa.string()])
    codes = groups.encode([pa.DictionaryArray.from_arrays(indices, dictionary)])
    assert [0, 1, 2, 0] == codes.tolist()
    assert ["key-7", None, "key-9"] == groups.decode(np.arange(groups.count, dtype=np.int32))[0].to_pylist()


def test_keys_in_use_are_looked_for_only_when_they_may_have_doubled() -> None:
    groups, looked = Groups([pa.int64()]), 0

    def all_of_them() -> Any:
        nonlocal looked
        looked += 1
        return np.arange(groups.count, dtype=np.int32)

    for i in range(4 * COMPACT_ABOVE):
        groups.encode([pa.array([i])])
        assert None is groups.compacted(all_of_them)
    assert 3 == looked


def test_corrected_groups_are_forgotten_and_keep_their_numbers() -> None:
    """Every group comes once, is corrected twice while it may be, and is then over."""
    number = np.arange(6 * COMPACT_ABOVE)
    times = np.stack([number, number - 60, number - 120], axis=1).ravel()
    texts = pa.array(np.stack([number, number - 60, number - 120], axis=1).ravel()).cast(pa.string())
    columns: dict[str, Any] = {"t": times, "k": texts}
    stream = wr.stream(pa.table(columns), time="t", progress=wr.ordered()).group_by("k")
    query = stream.window(range=20).agg(n=wr.count(), all=wr.collect("k")).late("revise", within=200)
    runner = Runner(query.plan, query.sources, LocalOptions(batch_rows=500))
    found: list[dict[str, Any]] = []
    runner.deliver(lambda batch: found.extend(batch.to_pylist()), lambda _: None)
    runner.run()
    revisions: dict[str, list[tuple[int, int]]] = {}
    for row in found:
        assert [row["k"]] * row["n"] == row["all"]
        revisions.setdefault(row["k"], []).append((row["revision"], row["n"]))
    settled = [revisions[str(i)] for i in range(200, 6 * COMPACT_ABOVE - 200)]
    assert [[(0, 1), (1, 2), (2, 3)]] * len(settled) == settled
    operator: Any = next(s.operator for s in runner.pipeline.stages if isinstance(s.operator, WindowAggregateOperator))
    assert operator.grouping.groups.count < 2 * COMPACT_ABOVE
