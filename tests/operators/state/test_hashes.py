"""Hashes of values: those of the oracle, and alike for equal values whatever carries them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.operators.state.hashes import hashes
from windrow.semantics.oracle.sketch import hash_of


def test_the_oracle_hashes_alike() -> None:
    values: list[list[Any]] = [
        [0, 1, -1, 1 << 62, -(1 << 63)],
        [0.0, -0.0, 1.5, -1.5, float("nan"), float("inf"), 5e-324],
        ["", "a", "eight888", "nine99999", "ä" * 20],
        [b"", b"\xff", b"\x00" * 17],
        [True, False],
    ]
    for column in values:
        assert [hash_of(value) for value in column] == hashes(pa.array(column)).tolist()


def test_equal_values_hash_alike_whatever_carries_them() -> None:
    words = pa.array(["a", None, "b", "a"])
    assert hashes(words)[[0, 2, 3]].tolist() == hashes(words.dictionary_encode())[[0, 2, 3]].tolist()
    assert hashes(pa.array([1, 2], pa.int8())).tolist() == hashes(pa.array([1, 2], pa.uint64())).tolist()
    assert hashes(pa.array([1.5], pa.float32())).tolist() == hashes(pa.array([1.5], pa.float64())).tolist()
    seconds = pa.array([7], pa.timestamp("s"))
    assert hashes(seconds).tolist() == hashes(seconds.cast(pa.timestamp("us"))).tolist()
    assert hashes(pa.array([(1 << 64) - 1], pa.uint64())).tolist() == hashes(pa.array([-1])).tolist()
