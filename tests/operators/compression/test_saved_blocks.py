"""Tables of blocks come back as the column they were, and what is no column is refused, never read beyond its bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import DataError
from windrow.operators.compression.coded_column import CodedColumn

ROWS = 300
RANDOM = np.random.default_rng(7)
COLUMNS = {
    "delta": np.cumsum(RANDOM.integers(0, 99, ROWS)),
    "wide words": np.where(RANDOM.random(ROWS) < 0.03, 1 << 50, RANDOM.integers(0, 30, ROWS)),
    "dictionary": RANDOM.choice(RANDOM.integers(0, 1 << 62, 5), ROWS),
    "runs": np.repeat(RANDOM.integers(0, 1 << 40, ROWS // 20), 20),
    "decimals": np.where(RANDOM.random(ROWS) < 0.03, np.nan, np.round(RANDOM.normal(50, 9, ROWS), 2)),
    "multiples": RANDOM.integers(0, 1000, ROWS) * 60_000_000,
    "raw": RANDOM.integers(-(1 << 63), (1 << 63) - 1, ROWS),
    "constant": np.full(ROWS, 5),
    "small": RANDOM.integers(0, 200, ROWS).astype(np.uint8),
    "nothing": np.empty(0, np.int32),
    "planes": RANDOM.integers(-90, 300, ROWS),
    "decimal planes": np.round(RANDOM.normal(50, 9, ROWS), 2),
}


def coded_of(name: str) -> CodedColumn:
    return CodedColumn.of(COLUMNS[name], block_rows=64, folded="planes" in name)


@pytest.mark.parametrize("name", COLUMNS)
def test_tables_come_back(name: str) -> None:
    column = coded_of(name)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, column.table().schema) as writer:
        writer.write_table(column.table(), max_chunksize=2)
    back = CodedColumn.of_table(pa.ipc.open_stream(sink.getvalue()).read_all())
    assert column.read().tobytes() == back.read().tobytes()
    assert (column.dtype, column.nature, column.kinds()) == (back.dtype, back.nature, back.kinds())


@given(st.sampled_from(sorted(set(COLUMNS) - {"nothing", "constant"})), st.data())
def test_changed_bytes_are_refused_or_mean_other_values_within_the_bounds(name: str, data: st.DataObject) -> None:
    column = coded_of(name)
    table = column.table()
    block = data.draw(st.integers(0, table.num_rows - 1))
    coded = [bytearray(item or b"") for item in table["bytes"].to_pylist()]
    for _ in range(data.draw(st.integers(1, 3))):
        coded[block][data.draw(st.integers(0, len(coded[block]) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del coded[block][data.draw(st.integers(0, len(coded[block]) - 1)) :]
    changed = table.set_column(5, table.schema.field(5), pa.array(map(bytes, coded), pa.large_binary()))
    try:
        found = CodedColumn.of_table(changed)
    except DataError:
        return
    assert (column.size, column.dtype) == (found.size, found.read().dtype)
    assert (column.least, column.greatest) == (found.least, found.greatest)


def with_values(name: str, values: list[Any]) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(name)
        field = table.schema.field(place)
        mixed = values + table[name].to_pylist()[len(values) :]
        return table.set_column(place, field, pa.array(mixed, field.type))

    return change


def about(text: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.replace_schema_metadata({"windrow.coded_column": text})


HINT = r"\. Hint: the file was damaged or is from elsewhere; use an older checkpoint\.$"
BLOCK = r"must have blocks as they are written, got another block 0"
HOSTILE: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "no version": (lambda table: table.replace_schema_metadata(None), r"must hold .* version 1, got a table without"),
    "version": (about("2 int64 64 integers"), r"must hold a coded column of version 1, got version 2"),
    "rows of a block": (about("1 int64 0 integers"), r"must say type, rows of a block and nature, got 1 int64 0"),
    "many digits": (
        about(f"1 int64 1{'0' * 5000} integers"),
        r"must say type, rows of a block and nature, got 1 int64 1000",
    ),
    "floats that are none": (about("1 int32 64 float bits"), r"must be of a type and nature that is coded, got int32"),
    "no whole numbers": (
        about("1 float64 64 integers"),
        r"must be of a type and nature that is coded, got float64, in",
    ),
    "type": (about("1 object 64 integers"), r"must be of a type and nature that is coded, got object, integers"),
    "nature": (about("1 int64 64 words"), r"must be of a type and nature that is coded, got int64, words"),
    "columns": (
        lambda table: table.drop_columns(["kind"]),
        r"must have the columns of a coded column, without NULL, got rows",
    ),
    "null": (with_values("bytes", [None]), r"must have the columns of a coded column, without NULL, got rows"),
    "no rows": (with_values("rows", [0]), BLOCK),
    "many rows": (with_values("rows", [65]), BLOCK),
    "kind": (with_values("kind", [15]), BLOCK),
    "divided planes": (with_values("kind", [23]), BLOCK),
    "decimals of whole numbers": (with_values("kind", [39]), BLOCK),
    "a raw block of decimals": (with_values("kind", [38]), BLOCK),
    "no planes": (with_values("kind", [7]), r"must have blocks that hold what their headers say, got block 0"),
    "decimals": (with_values("kind", [33]), BLOCK),
    "bounds": (with_values("least", [1 << 60]), BLOCK),
    "other bounds": (with_values("least", [-9]), r"must have blocks that hold what their headers say, got block 0"),
    "skip": (with_values("skip", [9]), r"must have blocks that hold what their headers say, got block 0"),
    "small type": (about("1 uint8 64 integers"), r"must have values of the column's type, got another block 0"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_tables_are_refused(case: str) -> None:
    change, message = HOSTILE[case]
    table = change(CodedColumn.of(COLUMNS["delta"] + 300, block_rows=64).table())
    with pytest.raises(DataError, match=f"^`table` {message}.*{HINT}"):
        CodedColumn.of_table(table)


def test_more_rows_than_can_be_counted_are_refused() -> None:
    one = CodedColumn.of(np.full(10, 5)).table()
    many = with_values("rows", [1 << 48] * (1 << 12))(
        pa.concat_tables([one] * (1 << 12)).replace_schema_metadata(one.schema.metadata)
    )
    with pytest.raises(DataError, match=rf"^`table` must have at most 2\^48 rows, got 4096 blocks of more{HINT}"):
        CodedColumn.of_table(many)
