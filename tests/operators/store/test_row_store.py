"""A store holds the same rows as a list would, however they came and were cut into blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import DataError
from windrow.operators.state.changes import Stamped
from windrow.operators.store import row_store
from windrow.operators.store.budget import Budget
from windrow.operators.store.chosen_rows import below, between
from windrow.operators.store.row_block import RowBlock, no_rows, value_order
from windrow.operators.store.row_store import RowStore
from windrow.operators.store.sealing import Sealing

BATCHES = st.lists(st.lists(st.integers(-20, 20), max_size=9), max_size=30)
SCHEMA = pa.schema([("name", pa.string())])


def rows(times: list[int], *, packed: bool = False) -> RowBlock:
    """Rows with their time as a number, in a matrix and as text."""
    numbers = np.array(times, np.int64)
    columns: dict[str, Any] = {"time": numbers, "code": numbers.astype(np.int32)}
    if packed:
        return RowBlock(columns, pa.record_batch([pa.array(map(str, times), pa.string())], schema=SCHEMA)).packed()
    matrix = np.stack([numbers, -numbers], axis=1)
    return RowBlock(
        {**columns, "both": matrix}, pa.record_batch([pa.array(map(str, times), pa.string())], schema=SCHEMA)
    )


def times(block: RowBlock) -> list[int]:
    """The times, which all columns agree about."""
    found: list[int] = block["time"].tolist()
    assert found == block["code"].tolist() == [int(str(name)) for name in block.rows["name"].to_pylist()]
    if "both" in block:
        assert [[time, -time] for time in found] == block["both"].tolist()
    return found


def filled(parts: list[list[int]], by: str | None = None, *, packed: bool = False) -> RowStore:
    store = RowStore(rows([], packed=packed), by=by)
    for part in parts:
        (store.append if by is None else store.insert)(rows(part, packed=packed))
    return store


def flat(parts: list[list[int]]) -> list[int]:
    return [time for part in parts for time in part]


@pytest.mark.parametrize("packed", [False, True])
@given(parts=BATCHES, start=st.integers(0, 40), size=st.integers(0, 40))
def test_rows_stay_in_the_order_in_which_they_came(packed: bool, parts: list[list[int]], start: int, size: int) -> None:
    store, known = filled(parts, packed=packed), flat(parts)
    assert len(known) == len(store)
    assert known == [time for block in store.blocks for time in times(block)]
    assert known[start : start + size] == times(store.read(start, start + size))
    assert known == store.column("time").tolist() == times(store.content())


@pytest.mark.parametrize("packed", [False, True])
@given(parts=BATCHES, value=st.integers(-21, 21))
def test_late_rows_are_put_into_their_places(packed: bool, parts: list[list[int]], value: int) -> None:
    store, known = filled(parts, "time", packed=packed), sorted(flat(parts))
    assert known == [time for block in store.blocks for time in times(block)]
    assert len([time for time in known if time < value]) == store.search(value)
    store.forget_below(value)
    assert [time for time in known if time >= value] == times(store.content())


@given(st.lists(BATCHES, max_size=5), st.data())
def test_rows_are_sorted_when_someone_asks(rounds: list[list[list[int]]], data: st.DataObject) -> None:
    store, known = RowStore(rows([]), by="time"), list[int]()
    for parts in rounds:
        for part in parts:
            store.append(rows(part))
        store.sort()
        known = sorted(known + flat(parts))
        assert known == [time for block in store.blocks for time in times(block)]
        value = data.draw(st.integers(-21, 21))
        assert len([time for time in known if time < value]) == store.search(value)
        gone = data.draw(st.integers(0, 9))
        store.forget(gone)
        known = known[gone:]
        if data.draw(st.booleans()) and known:
            assert known[0] == store.at(0)
            store.drop(below("time", known[0] + 1))
            known = [time for time in known if time != known[0]]


@given(BATCHES, st.integers(-21, 21), st.integers(-21, 21))
def test_rows_are_chosen_block_by_block(parts: list[list[int]], low: int, high: int) -> None:
    store, known = filled(parts), flat(parts)
    assert [time for time in known if low <= time < high] == times(store.where(between("time", low, high)))
    store.drop(lambda block: block["code"] == 7)
    known = [time for time in known if time != 7]
    taken = RowBlock.joined([store.nothing, *store.take_parts(below("time", low))])
    assert [time for time in known if time < low] == times(taken)
    assert [time for time in known if time >= low] == times(store.content())


@given(BATCHES, st.lists(st.integers(0, 5), max_size=8), st.data())
def test_numbers_outlive_the_rows_before_them(parts: list[list[int]], gone: list[int], data: st.DataObject) -> None:
    store, known, first = filled(parts), flat(parts), 0
    for count in gone:
        store.forget(count)
        first = min(first + count, len(known))
        store.append(rows([len(known)]))
        known.append(len(known))
        asked = np.array(data.draw(st.lists(st.integers(first, len(known) - 1), min_size=1)))
        placed, order = store.placed(asked)
        found = [time for block, places in placed for time in times(block.take(places))]
        assert [known[number] for number in asked[order].tolist()] == found
    assert known[first:] == times(store.content())


def test_there_are_few_blocks_however_rows_come(monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled([[time] for time in range(5000)])
    assert len(store.blocks) < 8 * 5
    monkeypatch.setattr(row_store, "LARGE", 100)
    store = filled([[time] for time in range(5000)])
    assert 100 <= max(map(len, store.blocks)) < 8 * 100
    assert list(range(5000)) == times(store.content())


def test_blocks_that_another_thread_reads_stay_as_they_are() -> None:
    store = filled([[time] for time in range(7)])
    read = store.blocks
    store.append(rows([7]))
    assert 1 == len(store.blocks)
    assert [[time] for time in range(7)] == [times(block) for block in read]


def test_blocks_are_not_joined_across_one_that_is_gone() -> None:
    store = filled([[time] for time in range(7)])
    store.blocks = [store.blocks[0], *store.blocks[2:]]
    for time in range(7, 16):
        store.append(rows([time]))
    placed, _ = store.placed(np.array([0, 2, 15]))
    assert [0, 2, 15] == [time for block, places in placed for time in times(block.take(places))]


def test_what_the_front_took_is_given_back_once_it_is_half() -> None:
    store = filled([list(range(20))])
    store.forget(9)
    assert store.blocks[0]["time"].base is not None
    store.forget(1)
    assert store.blocks[0]["time"].base is None
    assert list(range(10, 20)) == times(store.content())


@given(BATCHES)
def test_codes_are_renumbered(parts: list[list[int]]) -> None:
    store = filled([[abs(time) for time in part] for part in parts])
    store.remap("code", np.arange(100, 121, dtype=np.int32))
    assert [100 + abs(time) for time in flat(parts)] == store.column("code").tolist()
    assert np.dtype(np.int32) == store.column("code").dtype


@given(BATCHES)
def test_tables_come_back_as_the_rows_they_were(parts: list[list[int]]) -> None:
    store, other = filled(parts), filled([[3]])
    saved: Any = store.table()
    assert ["time", "code", "both0", "both1", ".name"] == saved.column_names
    other.fill(saved)
    assert flat(parts) == times(other.content())
    assert np.dtype(np.int32) == other.content()["code"].dtype


def test_bytes_are_those_of_all_columns() -> None:
    store = filled([[1, 2], [3]])
    whole = store.content().rows.nbytes
    assert 3 * (8 + 4 + 16) + whole == store.nbytes
    store.replace(RowBlock({"time": np.arange(10)}))
    assert 80 == store.nbytes


def test_no_rows_have_the_columns_of_a_schema() -> None:
    assert (0, SCHEMA) == (no_rows(SCHEMA).num_rows, no_rows(SCHEMA).schema)


@pytest.mark.parametrize("apart", [1, 1 << 30, 1 << 60])
def test_equal_values_stay_in_order_however_far_apart_others_are(apart: int) -> None:
    values = np.array([2, -2, 0, 2, 0, -2, 1]) * apart
    assert [1, 5, 2, 4, 6, 0, 3] == value_order(values).tolist()
    assert [] == value_order(values[:0]).tolist()


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_values_without_a_sign_are_ordered_up_to_the_greatest(kind: type[np.unsignedinteger[Any]]) -> None:
    most = np.iinfo(kind).max
    assert [1, 3, 2, 0, 4] == value_order(np.array([most, 0, 7, 0, most], kind)).tolist()
    assert [] == value_order(np.empty(0, kind)).tolist()


def kept(limit: int | None = None) -> RowStore:
    """Four blocks of 4,096 rows each, sealed, with chance codes."""
    random, none = np.random.default_rng(1), np.empty(0, np.int64)
    sealing = Sealing(1 << 12, 1024, budget=Budget(limit), is_asked=True)
    store = RowStore(RowBlock({"place": none, "code": none.astype(np.int32)}), sealing=sealing)
    for i in range(4):
        codes = random.integers(0, 1 << 20, 1 << 12).astype(np.int32)
        store.append(RowBlock({"place": np.arange(i << 12, (i + 1) << 12), "code": codes}))
    return store


def test_what_went_to_the_disk_is_there_again_with_other_codes() -> None:
    store, limit = kept(1 << 10), 1 << 13
    spilled, before, codes = store.kept.spilled_bytes, store.nbytes, store.column("code")
    assert spilled > limit > before
    assert store.used("code").tolist() == np.unique(codes).tolist()
    mapping = np.random.default_rng(2).permutation(1 << 20).astype(np.int32)
    store.remap("code", mapping)
    assert store.kept.spilled_bytes > spilled / 2
    assert store.nbytes < limit
    assert mapping[codes].tolist() == store.column("code").tolist()


def test_rows_that_wait_are_before_those_in_blocks_when_they_are_saved_too() -> None:
    none, sealing = np.empty(0, np.int64), Sealing(1 << 12, 64, is_asked=True)
    first, second = (RowBlock({"place": np.arange(a, b), "n": np.arange(a, b) % 7}) for a, b in ((0, 10), (10, 300)))
    before, after = (RowStore(RowBlock({"place": none, "n": none}), by="place", sealing=sealing) for _ in range(2))
    before.append(first)
    before.append(sealing.seal(second).sorted_by("place"))
    before.append(RowBlock({"place": np.arange(300, 310), "n": np.arange(10)}))
    saved: dict[str, Any] = before.saved_under("rows")
    after.restore_under(
        "rows", {n: table.make() if isinstance(table, Stamped) else table for n, table in saved.items()}
    )
    assert list(range(310)) == before.column("place").tolist() == after.column("place").tolist()
    assert before.column("n").tolist() == after.column("n").tolist()


UNFIT: dict[str, tuple[str, str]] = {
    "a column is missing": ("rows.4096..code", ""),
    "another column": ("rows.4096..code", "rows.4096..number"),
    "fewer rows": ("rows.0..code", "rows.9000..code"),
    "the same rows": ("rows.0..", "rows.1.."),
}


@pytest.mark.parametrize("case", UNFIT)
def test_saved_rows_that_do_not_fit_together_are_refused(case: str) -> None:
    old, new = UNFIT[case]
    saved: dict[str, Any] = kept().saved_under("rows")
    saved = {name: table.make() if isinstance(table, Stamped) else table for name, table in saved.items()}
    tables = {name.replace(old, new) if new else name: table for name, table in saved.items() if new or name != old}
    with pytest.raises(
        DataError, match=r"^`kept rows` must be rows that fit together, behind row [0-9]+, got from row"
    ):
        kept().restore_under("rows", tables)
    back = kept()
    back.restore_under("rows", saved)
    assert back.column("code").tolist() == kept().column("code").tolist()
