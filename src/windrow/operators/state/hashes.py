"""Hashes of values that are the same in every process, whatever carries the values.

A dictionary or plain values, string or large_string: equal values hash alike, and NULL has a hash of its own. What is
hashed of a number, a time or a rarer type, the caller decides: for sketches int32 or int64, seconds or microseconds do
not matter, NaN is one value, and so are -0.0 and 0.0. `semantics.oracle.sketch` defines the same for single values.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Array, Integers, is_scalar
from windrow.aggregates.kinds.columns import Hashes
from windrow.operators.kernels import hashing
from windrow.operators.state.keys import as_float64, as_int64, byte_strings, float_keys, is_bytes, validity

_DAY = 86_400_000_000
_MICROSECONDS = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 1}
"""How many a unit is. Nanoseconds stay as they are, so that none are lost."""


def texts(array: Array, text: Callable[[Any], str] = str) -> Array:
    """A text for each value that is not NULL."""
    return pa.array([None if value is None else text(value) for value in array.to_pylist()], pa.string())


def _words_or_texts(array: Array) -> Integers | Array:
    return _words(array) if is_scalar(array.type) else texts(array, _text)


def _words(array: Array) -> Integers:
    """64 bits of each value of a scalar type."""
    kind = array.type
    if pa.types.is_floating(kind):
        return float_keys(as_float64(array))
    if pa.types.is_uint64(kind):
        return as_int64(array.view(pa.int64()))
    if pa.types.is_date(kind):
        return as_int64(array) * (_DAY if kind.bit_width == 32 else 1000)
    unit = getattr(kind, "unit", "us")
    return as_int64(array) * _MICROSECONDS[unit]


def _text(value: Any) -> str:
    """A text that is the same for equal values: decimals without zeros at their end."""
    if not isinstance(value, Decimal):
        return str(value)
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def hashes(array: Array, plain: Callable[[Array], Integers | Array] = _words_or_texts) -> Hashes:
    """A hash of each value; `plain` turns those other than text and bytes into words of 64 bits, or into text."""
    if isinstance(array, pa.DictionaryArray):
        if len(array.dictionary) > len(array):  # most entries cannot occur
            return hashes(array.dictionary_decode(), plain)
        entries = np.append(hashes(array.dictionary, plain), hashing.NULL)
        indices = array.indices.cast(pa.int64()).fill_null(len(entries) - 1) if array.null_count else array.indices
        found: Hashes = entries[np.asarray(indices)]
        return found
    out = np.full(len(array), hashing.NULL, np.uint64)
    if is_bytes(array.type):
        hashing.hash_strings(*byte_strings(array), validity(array), out)
    elif not pa.types.is_null(array.type):
        values = plain(array)
        if not isinstance(values, np.ndarray):
            return hashes(values, plain)
        hashing.hash_words(values, validity(array), out)
    return out
