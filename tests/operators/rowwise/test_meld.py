"""Union: columns of different types become one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.operators.base import GroupPunctuations
from windrow.operators.rowwise.meld import MeldOperator
from windrow.semantics.progress.policies import START, Punctuation


def union(one: dict[str, Any], other: dict[str, Any]) -> wr.Query:
    streams = [wr.stream(pa.table(c), time="t", name=n) for n, c in (("one", one), ("other", other))]
    return streams[0].union(streams[1]).window(range="1 s").agg(n=wr.count(), x=wr.max("x"), u=wr.max("u"))


def test_moments_meet_in_microseconds_and_numbers_in_the_nearest() -> None:
    fine = {
        "t": pa.array([1_000, 2_000], pa.timestamp("ns")),
        "x": [(1 << 53) + 1, 2],
        "u": pa.array([1_000, None], pa.timestamp("ns")),
    }
    coarse = {"t": pa.array([1, 2], pa.timestamp("us")), "x": [0.5, 1.5], "u": pa.array([0, 0], pa.timestamp("us"))}
    row = union(fine, coarse).run().table.to_pylist()[0]
    assert (4, float(1 << 53), datetime(1970, 1, 1, 0, 0, 0, 1)) == (row["n"], row["x"], row["u"])


def test_a_moment_finer_than_the_other_side_is_refused() -> None:
    fine = {"t": pa.array([1], pa.timestamp("us")), "x": [1], "u": pa.array([1_999], pa.timestamp("ns"))}
    coarse = {"t": pa.array([1], pa.timestamp("us")), "x": [1], "u": pa.array([0], pa.timestamp("us"))}
    with pytest.raises(wr.DataError, match=r"\Amust be a whole number of microseconds, .* got 1970-.*00\.000001999\. "):
        union(fine, coarse).run()


def test_a_number_that_does_not_fit_is_refused() -> None:
    wide = {"t": pa.array([1], pa.timestamp("us")), "x": pa.array([1 << 63], pa.uint64()), "u": [0]}
    plain = {"t": pa.array([1], pa.timestamp("us")), "x": pa.array([1], pa.int64()), "u": [0]}
    with pytest.raises(wr.DataError, match=r"\A`value` must fit the type int64, got .*CAST it to DOUBLE first\.\Z"):
        union(wide, plain).run()


class Melding:
    """A union of inputs, of which those with a silence are left out after so many seconds without a word."""

    def __init__(self, *silence: float | None) -> None:
        self.now = 100.0
        self.meld = MeldOperator(len(silence), pa.schema({"t": pa.int64()}), silence=silence)
        self.meld.go_by(lambda: self.now)

    def promise(self, port: int, value: int) -> list[Any]:
        return list(self.meld.punctuate(Punctuation(value), port))

    def after(self, seconds: float) -> list[Any]:
        self.now += seconds
        return list(self.meld.pass_time())


def test_time_alone_lets_a_silent_input_be_passed_by() -> None:
    melding = Melding(30.0, None)
    assert [Punctuation(10)] == melding.promise(0, 10) + melding.promise(1, 50)
    assert [] == melding.after(29.9)
    assert [Punctuation(50)] == melding.after(0.1)
    assert [] == melding.after(100)
    assert [Punctuation(60)] == melding.promise(1, 60)
    assert [Punctuation(65)] == melding.promise(0, 65) + melding.promise(1, 65)


def test_time_changes_nothing_where_no_idle_time_goes_by_the_clock() -> None:
    melding = Melding(None, None)
    assert [Punctuation(10)] == melding.promise(0, 10) + melding.promise(1, 50)
    assert [] == melding.after(1e9)


def test_of_several_silent_inputs_none_holds_back_the_one_that_is_not() -> None:
    melding = Melding(30.0, 30.0, None)
    assert [Punctuation(10)] == [*melding.promise(0, 10), *melding.promise(1, 20), *melding.promise(2, 50)]
    assert [Punctuation(50)] == melding.after(30)


def test_when_all_are_silent_the_furthest_counts() -> None:
    melding = Melding(30.0, 30.0, 10.0)
    assert [Punctuation(10)] == [*melding.promise(0, 10), *melding.promise(1, 20), *melding.promise(2, 50)]
    assert [Punctuation(50)] == melding.after(30)


def test_an_input_that_said_nothing_yet_holds_back_the_others_unless_it_is_silent() -> None:
    assert [] == Melding(None, 30.0).promise(1, 10)
    melding = Melding(30.0, None)
    assert [] == melding.promise(1, 10)
    assert [Punctuation(10)] == melding.after(30)


STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from((None, None, "a", "b", "c")), st.integers(0, 9)), max_size=30
)


@given(steps=STEPS, restarts=st.sets(st.integers(0, 30)))
def test_a_group_has_come_as_far_as_its_slowest_input(
    steps: list[tuple[int, str | None, int]], restarts: set[int]
) -> None:
    kinds: dict[str, pa.DataType] = {"k": pa.string(), "t": pa.int64()}
    schema = pa.schema(kinds)
    meld = MeldOperator(3, schema)
    linear, groups, told = [START] * 3, [dict.fromkeys("abc", START) for _ in range(3)], dict.fromkeys("abc", START)
    for i, (port, group, advance) in enumerate(steps):
        if i in restarts:
            fresh = MeldOperator(3, schema)
            fresh.restore(meld.state())
            meld = fresh
        if group is None:
            linear[port] = max(linear[port], 0) + advance
            said = list(meld.punctuate(Punctuation(linear[port]), port))
        else:
            groups[port][group] = max(groups[port][group], 0) + advance
            named = pa.record_batch({"k": [group]})
            said = list(meld.punctuate_groups(GroupPunctuations(named, np.array([groups[port][group]])), port))
        for element in said:
            assert isinstance(element, (Punctuation, GroupPunctuations))
            if isinstance(element, Punctuation):
                told = {k: max(known, element.value) for k, known in told.items()}
                continue
            for k, value in zip(map(str, element.groups["k"]), element.values.tolist(), strict=True):
                assert value > told[k]  # nothing is said twice
                told[k] = value
        assert told == {k: min(max(linear[p], groups[p][k]) for p in range(3)) for k in "abc"}
