"""Hashes of values that are the same in every process, whatever carries the values.

A dictionary or plain values, string or large_string, int32 or int64, seconds or microseconds: equal values hash alike.
NaN is one value, and so are -0.0 and 0.0. `semantics.oracle.sketch` says the same of single values.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Array, Hashes, Integers, is_scalar
from windrow.operators.kernels import hashing
from windrow.operators.state.groups import BytesInterner, interner_for
from windrow.operators.state.keys import as_float64, as_int64, byte_strings, float_keys, validity

_DAY = 86_400_000_000
_MICROSECONDS = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 1}
"""How many a unit is. Nanoseconds stay as they are, so that none are lost."""


def hashes(array: Array) -> Hashes:
    """A hash of each value; anything for NULL."""
    if isinstance(array, pa.DictionaryArray):
        return _of_dictionary(array)
    out = np.empty(len(array), np.uint64)
    if pa.types.is_null(array.type):
        out.fill(0)
    elif is_scalar(array.type):
        hashing.hash_words(_words(array), validity(array), out)
    elif isinstance(interner_for(array.type), BytesInterner):
        hashing.hash_strings(*byte_strings(array), validity(array), out)
    else:
        texts = [None if value is None else _text(value) for value in array.to_pylist()]
        return hashes(pa.array(texts, pa.string()))
    return out


def _of_dictionary(array: pa.DictionaryArray[Any, Any]) -> Hashes:
    """By the entries of the dictionary, unless most of them cannot occur."""
    if len(array.dictionary) > len(array) or array.null_count == len(array):
        return hashes(array.dictionary_decode())
    indices = array.indices.fill_null(0) if array.null_count else array.indices
    found: Hashes = hashes(array.dictionary)[np.asarray(indices)]
    return found


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
