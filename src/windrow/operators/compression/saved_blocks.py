"""Blocks as an Arrow table, one row a block, and back: nothing is believed that has not been read once.

The table's own metadata say version, type, nature and most rows of a block, for a column without blocks has them, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.errors import DataError
from windrow.operators.kernels.compression.plans import CHANGE, CONSTANT, DECIMALS, KNOWN, RAW

VERSION = 1
MOST_ROWS = 1 << 16
"""Rows of a block at most: places in it take two bytes."""
DIGITS = len(str(MOST_ROWS))
MOST_OF_ALL = 1 << 48
"""Rows of a column at most."""
_ABOUT = b"windrow.coded_column"
_FIELDS: dict[str, pa.DataType] = {
    "rows": pa.int64(),
    "skip": pa.uint16(),
    "kind": pa.uint8(),
    "least": pa.int64(),
    "greatest": pa.int64(),
    "bytes": pa.large_binary(),
}
_SCHEMA = pa.schema(_FIELDS)
_NATURES = {
    "integers": ("int64", "int32", "uint8", "bool"),
    "float keys": ("int64",),
    "float bits": ("int64", "float64"),
}
"""Each nature, and the types that its columns may have."""
_ROOM_A_ROW = 64
_ROOM = 1 << 20
"""More bytes than reading a block can pass over, whatever is in them: so many a row, and what its lanes may be long."""
_HINT = "the file was damaged or is from elsewhere; use an older checkpoint"

Header = dict[str, npt.NDArray[Any]]


def to_table(header: Header, data: npt.NDArray[np.uint8], about: tuple[str, str, int]) -> pa.Table:
    """Rows, skips, kinds, bounds and bytes of blocks; `about` is type, nature and most rows of a block."""
    offsets: Integers = header["offsets"]
    used = data[offsets[0] : offsets[-1]] if len(offsets) > 1 else data[:0]
    coded = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer((offsets - offsets[0]).data), pa.py_buffer(used.data)]
    )
    columns = [pa.array(header[name]) for name in _SCHEMA.names[:-1]]
    described = f"{VERSION} {about[0]} {about[2]} {about[1]}"
    return pa.Table.from_arrays([*columns, coded], schema=_SCHEMA.with_metadata({_ABOUT: described.encode()}))


def from_table(table: pa.Table) -> tuple[Header, npt.NDArray[np.uint8], tuple[str, str, int]]:
    """What `to_table` was given; a table that cannot be a column is refused."""
    about = _about(table)
    if not table.schema.equals(_SCHEMA) or any(column.null_count for column in table.columns):
        raise _refused("must have the columns of a coded column, without NULL", ", ".join(table.column_names))
    header: Header = {name: _numbers(table, name) for name in _SCHEMA.names[:-1]}
    chunks: list[bytes] = table["bytes"].to_pylist()  # type: ignore[assignment]
    header["offsets"] = starts_of(np.array([len(chunk) for chunk in chunks], np.int64))
    data = np.frombuffer(b"".join(chunks), np.uint8)
    _check_header(header, about)
    _check_blocks(header, data, about[2])
    return header, data, about


def starts_of(rows: Integers) -> Integers:
    """Where each block begins in its column, and where the last ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(rows)])


def _numbers(table: pa.Table, name: str) -> npt.NDArray[Any]:
    return np.array(table[name].to_numpy())


def _about(table: pa.Table) -> tuple[str, str, int]:
    """Type, nature and most rows of a block."""
    words = (table.schema.metadata or {}).get(_ABOUT, b"").decode("ascii", "replace").split(" ", 3)
    if words[0] != str(VERSION):
        rule = f"must hold a coded column of version {VERSION}"
        raise _refused(rule, f"version {words[0]}" if words[0] else "a table without a version")
    if len(words) != 4 or not words[2].isdigit() or len(words[2]) > DIGITS or not 1 <= int(words[2]) <= MOST_ROWS:
        raise _refused("must say type, rows of a block and nature", " ".join(words))
    if words[1] not in _NATURES.get(words[3], ()):
        raise _refused("must be of a type and nature that is coded", f"{words[1]}, {words[3]}")
    return words[1], words[3], int(words[2])


def _check_header(header: Header, about: tuple[str, str, int]) -> None:
    rows, kinds = header["rows"], header["kind"]
    changes, floats = kinds & CHANGE, about[1] != "integers"
    constant = changes == CONSTANT
    wrong = (rows < 1) | (~constant & (rows > about[2])) | (rows > MOST_OF_ALL)
    wrong |= (kinds & ~np.uint8(KNOWN) != 0) | ((changes >= CONSTANT) & (kinds & ~np.uint8(DECIMALS) != changes))
    wrong |= ((changes == CONSTANT) | (changes == RAW)) & (kinds != changes)
    wrong |= constant & (header["skip"] != 0) | (header["least"] > header["greatest"])
    if not floats:
        wrong |= kinds & DECIMALS != 0
    _refuse_first(wrong, "must have blocks as they are written")
    if rows.astype(np.float64).sum() > MOST_OF_ALL:
        raise _refused("must have at most 2^48 rows", f"{len(rows)} blocks of more")
    dtype = np.dtype(np.int64) if floats else np.dtype(about[0])
    limits = (0, 1) if dtype == np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    _refuse_first(
        (header["least"] < limits[0]) | (header["greatest"] > limits[1]), "must have values of the column's type"
    )


def _check_blocks(header: Header, data: npt.NDArray[np.uint8], block_rows: int) -> None:
    """Read every block once, with so much room behind the bytes that no block can be read beyond it."""
    from windrow.operators.kernels.compression.columns import first_damaged
    from windrow.operators.kernels.compression.distinct import MOST

    starts = starts_of(header["rows"])
    roomy = np.concatenate([data, np.zeros(_ROOM + _ROOM_A_ROW * (block_rows + MOST), np.uint8)])
    bounds, rest = (header["least"], header["greatest"]), (header["kind"], header["skip"])
    damaged = first_damaged(roomy, starts, header["offsets"], *bounds, *rest, block_rows)
    if damaged >= 0:
        raise _refused("must have blocks that hold what their headers say", f"block {damaged} with other bytes")


def _refuse_first(wrong: npt.NDArray[np.bool_], rule: str) -> None:
    if wrong.any():
        raise _refused(rule, f"another block {int(wrong.argmax())}")


def _refused(rule: str, value: str) -> DataError:
    return DataError(rule, parameter="table", value=value, hint=_HINT)
