"""Equal keys have equal words, whatever carries them; rows that a NULL keeps from joining are marked."""

from __future__ import annotations

import math
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from windrow.operators.joins.encoding import Encoder
from windrow.plan.conditions import Conditions, Equality
from windrow.semantics.joins import LEFT, RIGHT, Between
from windrow.semantics.scalars.expressions import Column

DICTIONARY = pa.dictionary(pa.int8(), pa.string())
MOMENT = datetime(2024, 5, 1, 12, tzinfo=timezone.utc)


def words(left: Any, right: Any) -> tuple[Any, Any, bool]:
    """The words of one column on each side of an equality, and whether equal words mean equal keys."""
    schema = pa.schema([("l", left.type), ("r", right.type)])
    conditions = Conditions((Equality(Column("l"), Column("r")),))
    one, other = Encoder(conditions, LEFT, schema), Encoder(conditions, RIGHT, schema)
    times = np.zeros(len(left), np.int64)
    encoded = one.encode(pa.record_batch([left], names=["l"]), times)
    found = other.encode(pa.record_batch([right], names=["r"]), times)
    assert encoded.words is not None
    assert found.words is not None
    return encoded.words.tolist(), found.words.tolist(), one.is_exact


@pytest.mark.parametrize(
    ("left", "right", "exact"),
    [
        (pa.array([3, -1, 0], pa.int32()), pa.array([3, -1, 0], pa.int64()), True),
        (pa.array([3, -1, 0], pa.int8()), pa.array([3.0, -1.0, -0.0], pa.float64()), True),
        (pa.array([0.5, math.nan, -0.0], pa.float32()), pa.array([0.5, math.nan, 0.0], pa.float64()), True),
        (pa.array(["a", "", "ü"]), pa.array(["a", "", "ü"], DICTIONARY), False),
        (pa.array(["a", "b"], pa.large_string()), pa.array(["a", "b"]), False),
        (pa.array([MOMENT], pa.timestamp("s", "UTC")), pa.array([MOMENT], pa.timestamp("ns", "Asia/Tokyo")), True),
        (pa.array([Decimal("1.50")]), pa.array([Decimal("1.5")]), False),
        (pa.array([True, False]), pa.array([True, False]), True),
        (pa.array([date(2024, 5, 1)], pa.date32()), pa.array([date(2024, 5, 1)], pa.date64()), True),
    ],
)
def test_equal_keys_have_equal_words(left: Any, right: Any, exact: bool) -> None:
    one, other, is_exact = words(left, right)
    assert one == other
    assert len(set(one)) == len(one)
    assert is_exact is exact


def test_a_null_keeps_a_row_from_joining() -> None:
    schema = pa.schema([("l", pa.string()), ("r", DICTIONARY), ("m", pa.int64()), ("s", pa.int64())])
    equalities = Equality(Column("l"), Column("r")), Equality(Column("m"), Column("s"))
    encoder = Encoder(Conditions(equalities), RIGHT, schema)
    columns: list[Any] = [pa.array(["a", None, "a", "b"], DICTIONARY), pa.array([1, 1, None, 1])]
    data = pa.record_batch(columns, names=["r", "s"])
    rows = encoder.encode(data, np.arange(4))
    assert rows.alive is not None
    assert rows.alive.tolist() == [True, False, False, True]
    assert not encoder.is_exact
    probes = encoder.probes(rows.take(np.flatnonzero(rows.alive)), Between(-1, 5))
    assert (probes.first.tolist(), probes.last.tolist()) == ([-5, -2], [1, 4])
