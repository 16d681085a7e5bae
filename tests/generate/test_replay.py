"""Rows sent again: disordered as the pattern says, with promises that hold, and the same rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from windrow.errors import DataError
from windrow.generate import parse_disorder, trades
from windrow.generate.replay import Rearranged, shifted, times_of

BATCHES = list(trades(5_000, seed=1, rate=100, batch_rows=700).batches())
SECOND = 1_000_000


def sent(replay: Rearranged, batches: Any = BATCHES) -> list[Any]:
    return list(replay.elements(batches))


def table(elements: list[Any]) -> pa.Table:
    return pa.Table.from_batches([one for one in elements if not isinstance(one, int)]).unify_dictionaries()


def test_as_it_is_nothing_is_changed() -> None:
    assert BATCHES == sent(Rearranged("time"))


@pytest.mark.parametrize("text", ["band 5 s", "block 4 s"])
def test_rows_come_out_of_order_and_all_of_them(text: str) -> None:
    found, whole = table(sent(Rearranged("time", parse_disorder(text)))), table(list(BATCHES))
    times: Any = np.asarray(found["time"].cast(pa.int64()))
    behind = np.maximum.accumulate(times) - times
    assert SECOND < behind.max() <= 5 * SECOND
    order: Any = [("time", "ascending"), ("symbol", "ascending"), ("price", "ascending"), ("volume", "ascending")]
    plain = [one.set_column(0, "symbol", one["symbol"].cast(pa.string())).sort_by(order) for one in (whole, found)]
    assert plain[0].equals(plain[1])


def test_the_same_seed_gives_the_same_order() -> None:
    band = parse_disorder("band 5 s")
    first, again, other = (table(sent(Rearranged("time", band, seed=seed)))["time"] for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


@pytest.mark.parametrize("text", ["none", "band 5 s"])
def test_promises_are_exact(text: str) -> None:
    elements = sent(Rearranged("time", parse_disorder(text), 2 * SECOND))
    promises = [(place, one) for place, one in enumerate(elements) if isinstance(one, int)]
    assert len(promises) > 15
    assert sorted(value for _, value in promises) == [value for _, value in promises]
    for place, value in promises:
        left = [one for one in elements[place:] if not isinstance(one, int)]
        assert value == min(int(times_of(one, "time").min()) for one in left if len(one))


def test_rows_that_are_out_of_order_already_are_refused() -> None:
    batches = trades(1000, disorder="band 3 s").batches()
    with pytest.raises(
        DataError, match=r"\A`time` must be in order of its time to be brought out of order, or to make"
    ):
        sent(Rearranged("time", parse_disorder("band 3 s")), batches)
    with pytest.raises(DataError, match=r"\A`t` must have a time in every row\. Hint: leave out"):
        sent(Rearranged("t", every=3), [pa.record_batch({"t": [1, None]})])


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.timestamp("ms")])
def test_shifted_rows_are_later(kind: pa.DataType) -> None:
    batch = pa.record_batch([pa.array([1, 2]), pa.array([0, 1000], pa.int64()).cast(kind)], ["x", "time"])
    moved = shifted(batch, "time", 3 * SECOND)
    pairs: Any = zip(batch["time"].to_pylist(), moved["time"].to_pylist(), strict=True)
    assert [timedelta(seconds=3)] * 2 == [after - before for before, after in pairs]
    assert (batch.schema, batch["x"]) == (moved.schema, moved["x"])
    assert [5, 6] == shifted(pa.record_batch({"t": pa.array([2, 3], pa.int32())}), "t", 3)["t"].to_pylist()
