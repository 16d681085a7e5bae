"""Values as text and JSON: the forms that text files and the terminal share."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timezone
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute

pc: Any = pyarrow.compute  # the stubs know fewer argument types than the functions take
_ZEROS = r"\.0+$|(\.\d*[1-9])0+$"


def iso(array: pa.Array[Any]) -> pa.Array[Any]:
    """Times as ISO 8601 text without needless zeros; those with a zone are given in UTC and end in Z.

    >>> iso(pa.array([1_500_000, 0], pa.timestamp("us", "UTC"))).to_pylist()
    ['1970-01-01T00:00:01.5Z', '1970-01-01T00:00:00Z']
    """
    local = array.cast(pa.int64()).cast(pa.timestamp(array.type.unit))
    text = pc.replace_substring_regex(pc.replace_substring(local.cast(pa.string()), " ", "T"), _ZEROS, r"\1")
    return cast("pa.Array[Any]", pc.binary_join_element_wise(text, "Z", "") if array.type.tz else text)


def plain(array: pa.Array[Any]) -> pa.Array[Any]:
    """The values in types JSON has: no dictionaries, times as text, numbers that are not finite as null."""
    kind = array.type
    if isinstance(array, pa.DictionaryArray):
        return plain(array.dictionary_decode())
    if isinstance(kind, pa.TimestampType):
        return iso(array)
    if pa.types.is_floating(kind):
        return cast("pa.Array[Any]", pc.if_else(pc.is_finite(array), array, None))
    if isinstance(array, pa.ListArray):
        array = array.take(pa.array(range(len(array)))) if array.offset else array  # a mask needs whole offsets
        return pa.ListArray.from_arrays(array.offsets, plain(array.values), mask=array.is_null())
    if isinstance(array, pa.StructArray) and kind.num_fields:
        names = [kind.field(i).name for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays([plain(child) for child in array.flatten()], names, mask=array.is_null())
    return array


def _other(value: Any) -> Any:
    """JSON for what it has no form for, inside lists and structs as well."""
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z") if value.tzinfo else value.isoformat()
    if isinstance(value, (date, time)):
        return value.isoformat()
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


encode = json.JSONEncoder(ensure_ascii=False, default=_other).encode
"""One value as JSON text."""
