"""Values as int64 keys that keep their order, and back.

Floats: -0.0 becomes 0.0, every NaN one NaN above all numbers; the bits are then flipped so that integer order is
float order. Temporal values and booleans are their storage integers; uint64 flips its top bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.kinds.arrays import of_type
from windrow.aggregates.kinds.base import Array, Integers, Numbers
from windrow.errors import DataError

_FLIP = np.int64((1 << 63) - 1)
_TOP = np.uint64(1 << 63)
NO_VALIDITY: npt.NDArray[np.uint8] = np.empty(0, np.uint8)


def validity(array: Array) -> npt.NDArray[np.uint8]:
    """One byte a row, 1 where not NULL; empty when nothing is NULL."""
    if isinstance(array, pa.DictionaryArray) and array.dictionary.null_count:  # NULL may be an entry, too
        array = array.dictionary_decode()
    if array.null_count == 0:
        return NO_VALIDITY
    return np.asarray(array.is_valid()).view(np.uint8)


def present(array: Array) -> npt.NDArray[np.bool_]:
    """Which rows hold a value."""
    marks = validity(array)
    return marks.view(np.bool_) if len(marks) else np.ones(len(array), np.bool_)


def as_int64(array: Array) -> Integers:
    """The storage integers of an integer, boolean or temporal column; NULL slots hold anything."""
    kind = array.type
    if pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    elif pa.types.is_temporal(kind):
        array = array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    elif pa.types.is_uint64(kind):
        top = pc.max(array).as_py()
        if top is not None and top >> 63:
            raise DataError("must fit into 64 bits with a sign", parameter="value", value=top)
    numbers = stored(array)
    return numbers if numbers.dtype == np.int64 else numbers.astype(np.int64)


def stored(array: Array) -> Numbers:
    """The numbers of a column without copying, times as int64; NULL slots hold anything."""
    data: Any = array.buffers()[1]
    dtype: np.dtype[Any] = np.dtype(np.int64 if pa.types.is_timestamp(array.type) else array.type.to_pandas_dtype())
    if data is None:
        return np.zeros(len(array), dtype)
    return np.frombuffer(data, dtype, count=len(array) + array.offset)[array.offset :]


def as_float64(array: Array) -> npt.NDArray[np.float64]:
    numbers = stored(array)
    return numbers if numbers.dtype == np.float64 else numbers.astype(np.float64)


def byte_strings(array: Array) -> tuple[Integers, npt.NDArray[np.uint8]]:
    """Text or binary as offsets and bytes: string i is `data[offsets[i]:offsets[i + 1]]`."""
    array = array.cast(pa.large_binary())
    buffers: list[Any] = array.buffers()
    offsets = np.frombuffer(buffers[1], np.int64, count=len(array) + array.offset + 1)[array.offset :]
    data = np.frombuffer(buffers[2], np.uint8) if buffers[2] is not None else np.empty(0, np.uint8)
    return offsets, data


def is_bytes(kind: pa.DataType) -> bool:
    """Whether values are text or binary of any length."""
    tests = pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary
    return any(test(kind) for test in tests) or bool(pa.types.is_string_view(kind))


def float_keys(values: npt.NDArray[np.float64]) -> Integers:
    clean = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = clean.view(np.int64)
    return np.where(bits < 0, bits ^ _FLIP, bits)


def ordered_keys(array: Array) -> Integers:
    """Keys whose integer order is the order of the values."""
    if pa.types.is_uint64(array.type):
        return (stored(array) ^ _TOP).view(np.int64)
    return float_keys(as_float64(array)) if pa.types.is_floating(array.type) else as_int64(array)


def keys_of_numbers(numbers: Integers, kind: pa.DataType) -> Integers:
    """What `ordered_keys` gives, from the storage integers or the float bits of the same values."""
    if pa.types.is_uint64(kind):
        return (numbers.view(np.uint64) ^ _TOP).view(np.int64)
    return float_keys(numbers.view(np.float64)) if pa.types.is_floating(kind) else numbers


def from_keys(keys: Integers, kind: pa.DataType) -> Numbers:
    """The values of keys, in the storage type of `kind`."""
    if pa.types.is_uint64(kind):
        return keys.view(np.uint64) ^ _TOP
    if not pa.types.is_floating(kind):
        return keys
    bits = np.where(keys < 0, keys ^ _FLIP, keys)
    return bits.view(np.float64)


def array_from_keys(keys: Integers, kind: pa.DataType) -> Array:
    """The values of keys as an Arrow array of type `kind`."""
    return of_type(from_keys(keys, kind), kind)
