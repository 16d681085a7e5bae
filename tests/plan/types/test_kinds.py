from __future__ import annotations

import pyarrow as pa
import pytest

from windrow.plan.types.kinds import Family, common, family_of, name_of, normal_time, parse_timestamp

UTC, ZURICH, NAIVE = pa.timestamp("s", "UTC"), pa.timestamp("us", "Europe/Zurich"), pa.timestamp("ns")


@pytest.mark.parametrize(
    ("expected", "kind"),
    [
        (Family.NULL, pa.null()),
        (Family.BOOLEAN, pa.bool_()),
        (Family.INTEGER, pa.uint8()),
        (Family.FLOAT, pa.float32()),
        (Family.DECIMAL, pa.decimal128(5)),
        (Family.STRING, pa.large_string()),
        (Family.STRING, pa.string_view()),
        (Family.STRING, pa.dictionary(pa.int8(), pa.string())),
        (Family.TIMESTAMP, NAIVE),
        (Family.DATE, pa.date64()),
        (Family.DURATION, pa.duration("s")),
        (Family.OTHER, pa.binary()),
    ],
)
def test_families(expected: Family, kind: pa.DataType) -> None:
    assert expected is family_of(kind)


@pytest.mark.parametrize(
    ("expected", "left", "right"),
    [
        (pa.int32(), pa.int32(), pa.int32()),
        (pa.int64(), pa.int8(), pa.int32()),
        (pa.float64(), pa.int8(), pa.float32()),
        (pa.float64(), pa.decimal128(5), pa.decimal128(6)),
        (pa.string(), pa.null(), pa.string()),
        (pa.string(), pa.string(), pa.null()),
        (pa.string(), pa.dictionary(pa.int8(), pa.string()), pa.large_string()),
        (pa.timestamp("us", "UTC"), UTC, NAIVE),
        (pa.timestamp("us", "UTC"), NAIVE, UTC),
        (pa.timestamp("us", "UTC"), UTC, ZURICH),
        (pa.timestamp("us"), NAIVE, pa.timestamp("s")),
        (pa.date32(), pa.date32(), pa.date64()),
        (pa.duration("us"), pa.duration("s"), pa.duration("ms")),
        (None, pa.bool_(), pa.int8()),
        (None, pa.list_(pa.int8()), pa.list_(pa.int16())),
        (None, NAIVE, pa.date32()),
    ],
)
def test_common_types(expected: pa.DataType | None, left: pa.DataType, right: pa.DataType) -> None:
    assert expected == common(left, right)


def test_reported_times_are_microseconds_in_their_zone() -> None:
    expected = [pa.timestamp("us", "UTC"), ZURICH, pa.timestamp("us"), pa.int64()]
    assert expected == [normal_time(kind) for kind in (UTC, ZURICH, NAIVE, pa.int16())]


def test_names_are_those_of_casts() -> None:
    assert ["bigint", "double", "string"] == [name_of(k) for k in (pa.int8(), pa.float32(), pa.large_string())]


@pytest.mark.parametrize(
    ("expected", "text"),
    [("2024-01-01T00:00:00+00:00", "2024-01-01"), ("2024-01-01T11:00:00+00:00", " 2024-01-01T12:00:00+01:00 ")],
)
def test_timestamps_in_text(expected: str, text: str) -> None:
    moment = parse_timestamp(text)
    assert moment is not None
    assert expected == moment.isoformat()


def test_text_that_is_no_timestamp() -> None:
    assert parse_timestamp("noon") is None
