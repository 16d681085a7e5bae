"""Kept rows beyond a budget go to the disk, and come back from there as they were or not at all."""

from __future__ import annotations

import errno
import gc
import os
import weakref
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from tests.soak.broken_off import breaking_after
from tests.strategies import comparable
from windrow.cli.progress import closing_line
from windrow.engines.local.options import LocalOptions
from windrow.engines.local.run import Runner
from windrow.errors import ConfigurationError, DataError
from windrow.operators.compression.coded_column import CodedColumn
from windrow.operators.state.values import large_windows
from windrow.operators.state.values.multisets import Multiset
from windrow.operators.state.values.multisets import total as multisets_total
from windrow.operators.store import budget, sealing
from windrow.operators.store.spilled_column import SpilledColumn, SpillFile
from windrow.operators.windows import buffer
from windrow.pipeline import memory as limits
from windrow.query import Query

ROWS = 6_000
CHANCE = np.random.default_rng(3)
TIMES = np.arange(ROWS) * 100 - CHANCE.integers(0, 5_000, ROWS)
TABLE = pa.table(
    {
        "ts": pa.array(TIMES),
        "k": pa.array(CHANCE.integers(0, 5, ROWS)),
        "word": pa.array([None if i % 11 == 0 else f"word {i % 97}" for i in range(ROWS)]),
        "g": pa.array(CHANCE.integers(0, 700, ROWS)),
        "x": pa.array(CHANCE.random(ROWS), mask=np.arange(ROWS) % 13 == 0),
        "n": pa.array(CHANCE.integers(-1 << 40, 1 << 40, ROWS)),
    }
)
LIMIT = 1 << 12


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Budgets of some kilobytes, in files that take some kilobytes each, in a folder of the test."""
    monkeypatch.setattr(limits, "LEAST", 1)
    monkeypatch.setattr(budget, "FILE_BYTES", 1 << 13)
    monkeypatch.setattr(large_windows, "TOGETHER", 500)
    monkeypatch.setattr(budget, "temporary_folder", lambda _: Path(mkdtemp("spilled", dir=tmp_path)))


def files_in(folder: Path) -> list[Path]:
    return list(folder.rglob("*.blocks"))


def grouped() -> Any:
    return wr.stream(TABLE, time="ts", progress=wr.slack(5_000), name="rows").group_by("k")


ASKED: dict[str, Any] = {
    "m": wr.median("x"),
    "d": wr.count_distinct("word"),
    "q": wr.quantile("n", 0.9),
    "s": wr.sum("n"),
    "top": wr.mode("word"),
}
QUERIES: dict[str, Query] = {
    "a pane": grouped().window(range=400_000, slide=400_000).agg(**ASKED),
    "many groups": wr.stream(TABLE, time="ts", progress=wr.slack(5_000), name="rows")
    .group_by("g")
    .window(range=200_000, slide=50_000)
    .agg(c=wr.collect("word"), **ASKED),
    "panes": grouped().window(range=400_000, slide=50_000).agg(**ASKED),
    "wid": grouped().window(range=400_000, slide=130_000).strategy("wid").agg(**ASKED),
    "buffer": grouped().window(range=400_000, slide=130_000).strategy("buffer").agg(**ASKED),
    "sessions": grouped().window(gap=4_000).agg(**ASKED),
    "a window a row": grouped().window(range=100_000, slide="1 row").agg(m=wr.median("x"), n=wr.max("n")),
    "landmark": grouped().window(range="unbounded", slide=200_000).agg(m=wr.median("x")),
    "revised": wr.stream(TABLE, time="ts", progress=wr.slack(500), name="rows")
    .window(range=400_000, slide=50_000)
    .late("revise", within=100_000)
    .agg(**ASKED),
    "early": grouped().window(range=400_000, slide=50_000).early(150_000).agg(**ASKED),
}


def answer(query: Query, **options: Any) -> pa.Table:
    table = query.collect(engine="local", batch_rows=512, **options)
    return table.sort_by([(name, "ascending") for name in ("window_end", "k", "g") if name in table.column_names])


@pytest.mark.parametrize("name", QUERIES)
def test_answers_do_not_depend_on_how_much_is_in_memory(name: str) -> None:
    query = QUERIES[name]
    assert answer(query.compress("off")).equals(answer(query, memory=LIMIT))
    assert answer(query.compress("off")).equals(answer(query, memory=1 << 40))


@pytest.fixture
def blocks_of_64(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"BLOCK_ROWS": 64, "LEAST_ROWS": 64, "MOST_ROWS": 256}.items():
        monkeypatch.setattr(sealing, name, value)


@pytest.mark.usefixtures("blocks_of_64")
@pytest.mark.parametrize("way", ["session", "buffer"])
def test_what_is_larger_is_read_part_by_part(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    at_once = Multiset.of

    def of(codes: Any, keys: Any) -> Multiset:
        sizes.append(len(codes))
        return at_once(codes, keys)

    monkeypatch.setattr(Multiset, "of", staticmethod(of))
    monkeypatch.setattr(buffer, "UNPACKED", 1_000)
    stream = wr.stream(TABLE, time="ts", progress=wr.slack(5_000))
    tumbling = stream.window(range=1_000_000, slide=1_000_000, align="start", origin=-100_000).strategy("buffer")
    query = (stream.window(gap=100_000) if way == "session" else tumbling).agg(m=wr.median("x"))
    expected = np.median(TABLE["x"].drop_null().to_numpy())
    assert [expected] == answer(query, memory=LIMIT)["m"].to_pylist()
    assert max(sizes) <= 1_024


@pytest.mark.usefixtures("blocks_of_64")
def test_what_all_windows_hold_goes_to_the_disk_too() -> None:
    limited, free = (fed(QUERIES["landmark"], limit).metrics() for limit in (LIMIT, None))
    assert limited.spilled_bytes > 3 * ROWS
    assert 2 * limited.state_bytes < free.state_bytes


@pytest.mark.usefixtures("blocks_of_64")
@pytest.mark.parametrize("asked", [wr.count_distinct("x"), wr.mode("n"), wr.top_k("x", 3)])
def test_a_group_that_is_larger_is_looked_at_key_by_key(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def total(multisets: Any) -> Multiset:
        found = multisets_total(multisets)
        sizes.append(len(found.codes))
        return found

    monkeypatch.setattr(large_windows, "total", total)
    query = grouped().window(range=800_000, slide=800_000).agg(a=asked)
    assert answer(query.compress("off")).equals(answer(query, memory=LIMIT))
    assert 100 <= max(sizes) <= 600 < ROWS // 6


def fed(query: Query, memory: int | None = LIMIT) -> Runner:
    """A run that has taken all rows, and whose window is open."""
    runner = Runner(query.plan, query.sources, LocalOptions(memory=memory))
    for batch in TABLE.to_batches(max_chunksize=512):
        runner.feed("rows", batch)
    return runner


@pytest.mark.parametrize("name", ["a pane", "sessions", "buffer"])
def test_what_is_on_the_disk_is_told(name: str, tmp_path: Path) -> None:
    runner = fed(QUERIES[name])
    files = files_in(tmp_path)
    assert files
    assert 0 < runner.metrics().spilled_bytes <= sum(file.stat().st_size for file in files)
    assert all(file.stat().st_mode & 0o77 == 0 for file in files)


def test_the_account_of_a_run_says_how_much_went_to_the_disk() -> None:
    metrics = QUERIES["a pane"].run(engine="local", batch_rows=512, memory=LIMIT).metrics
    assert metrics.spilled_bytes <= metrics.spilled_so_far
    assert metrics.spilled_so_far > 10 * LIMIT
    assert closing_line(metrics).endswith(" bytes of kept rows went to the disk")
    assert 0 == QUERIES["a pane"].run(engine="local").metrics.spilled_so_far


def test_what_went_to_the_disk_is_not_in_memory_any_more(tmp_path: Path) -> None:
    column = CodedColumn.of(CHANCE.random(ROWS))
    whole = weakref.ref(column.data)
    spilled = SpilledColumn.of(column, SpillFile(tmp_path / "one.blocks"))
    expected = column.read()
    del column
    assert whole() is None
    assert np.array_equal(expected, spilled.read())


@pytest.mark.parametrize("name", ["a pane", "buffer", "sessions", "a window a row"])
def test_what_is_restored_is_no_more_in_memory_than_before(name: str, tmp_path: Path) -> None:
    query, folder = QUERIES[name], str(tmp_path / "state")
    before = Runner(query.plan, query.sources, LocalOptions(memory=LIMIT, checkpoint=folder))
    for batch in TABLE.slice(0, ROWS // 2).to_batches(max_chunksize=512):
        before.feed("rows", batch)
    before.save()
    held = before.metrics()
    after = Runner(query.plan, query.sources, LocalOptions(memory=LIMIT, checkpoint=folder, restore=True))
    restored = after.metrics()
    assert 0 < restored.spilled_bytes
    assert restored.kept_bytes <= held.kept_bytes + 2 * LIMIT


@pytest.mark.parametrize("saves", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("name", QUERIES)
def test_a_run_goes_on_with_what_was_on_the_disk(name: str, saves: int, tmp_path: Path) -> None:
    """Few values in the first panes wait for others while those behind them go into blocks."""
    query, folder = QUERIES[name], tmp_path / "state"
    options: dict[str, Any] = {"engine": "local", "checkpoint": str(folder), "batch_rows": 512, "memory": 6 * LIMIT}
    with breaking_after(saves):
        query.run(checkpoint_every=900, **options)
    restored = query.run(restore=True, **options).table
    assert comparable(query.compress("off").collect(batch_rows=512).to_pylist()) == comparable(restored.to_pylist())


def test_files_go_with_the_run(tmp_path: Path) -> None:
    answer(QUERIES["panes"], memory=LIMIT)
    gc.collect()
    assert [] == files_in(tmp_path)


@pytest.mark.parametrize("damage", ["changed", "cut off"])
def test_a_damaged_file_is_an_error_that_names_it(damage: str, tmp_path: Path) -> None:
    runner = fed(QUERIES["a pane"])
    for file in files_in(tmp_path):
        content = bytearray(file.read_bytes())
        if damage == "changed":
            content[len(content) // 2] ^= 1
            file.write_bytes(content)
        else:
            os.truncate(file, len(content) // 2)
    what = r"has changed at byte [0-9,]+ since it was written" if damage == "changed" else r"ends at byte [0-9,]+"
    with pytest.raises(
        DataError, match=rf"^`kept rows` must be as they were written: .*\.blocks {what}\. Hint: start "
    ):
        runner.feed("rows", wr.Punctuation(10_000_000))


def test_a_full_disk_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    left, write = [1 << 13], os.pwrite

    def write_while_there_is_room(file: int, content: Any, place: int) -> int:
        if left[0] < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left[0] -= len(content)
        return write(file, content, place)

    monkeypatch.setattr(os, "pwrite", write_while_there_is_room)
    message = (
        r"^`TMPDIR` must be a folder with room for rows beyond `memory` \(no space left on device\), got .*spilled"
    )
    with pytest.raises(ConfigurationError, match=message):
        answer(QUERIES["a pane"], memory=LIMIT)


@pytest.mark.parametrize("size", ["", "much", "-1 GB", "0", 0, -5, 1.5, True, "1 KB", "nan", 1 << 70])
def test_what_is_no_size_is_refused(size: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LEAST", 1 << 20)
    with pytest.raises(
        ConfigurationError, match=r"^`memory` must be (a size|at least 1 MiB, and below 2\^62 bytes), got "
    ):
        answer(QUERIES["a pane"], memory=size)


def test_rows_that_are_to_stay_as_they_came_do_not_go_to_the_disk() -> None:
    with pytest.raises(ConfigurationError, match=r"^`memory` needs kept rows in blocks, got COMPRESS off\. Hint: "):
        answer(QUERIES["a pane"].compress("off"), memory=LIMIT)
