"""Union: columns of different types become one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr


def union(one: dict[str, Any], other: dict[str, Any]) -> wr.Query:
    streams = [wr.stream(pa.table(c), time="t", name=n) for n, c in (("one", one), ("other", other))]
    return streams[0].union(streams[1]).window(range="1 s").agg(n=wr.count(), x=wr.max("x"), u=wr.max("u"))


def test_moments_are_rounded_down_and_numbers_to_the_nearest() -> None:
    fine = {
        "t": pa.array([1_001, 2_999], pa.timestamp("ns")),
        "x": [(1 << 53) + 1, 2],
        "u": pa.array([1_999, None], pa.timestamp("ns")),
    }
    coarse = {"t": pa.array([1, 2], pa.timestamp("us")), "x": [0.5, 1.5], "u": pa.array([0, 0], pa.timestamp("us"))}
    row = union(fine, coarse).run().table.to_pylist()[0]
    assert (4, float(1 << 53), datetime(1970, 1, 1, 0, 0, 0, 1)) == (row["n"], row["x"], row["u"])


def test_a_number_that_does_not_fit_is_refused() -> None:
    wide = {"t": pa.array([1], pa.timestamp("us")), "x": pa.array([1 << 63], pa.uint64()), "u": [0]}
    plain = {"t": pa.array([1], pa.timestamp("us")), "x": pa.array([1], pa.int64()), "u": [0]}
    with pytest.raises(wr.DataError, match=r"\A`value` must fit the type int64, got .*CAST it to DOUBLE first\.\Z"):
        union(wide, plain).run()
