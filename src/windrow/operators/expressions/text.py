"""Functions on columns of text; see `arithmetic` for what a kernel is."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from windrow.operators.expressions.values import Datum, convert, is_scalar, pc

_STRING = pa.string()
_FAR = 1 << 40
"""Beyond the end of any text."""


def join(arguments: Sequence[Datum], _kind: pa.DataType) -> Datum:
    """NULL when one is."""
    return pc.binary_join_element_wise(*(convert(a, _STRING) for a in arguments), "")


def concat(arguments: Sequence[Datum], _kind: pa.DataType) -> Datum:
    """NULL counts as empty text. Not `null_handling="skip"`: it loses the rows in which all are NULL."""
    texts = (convert(argument, _STRING) for argument in arguments)
    return pc.binary_join_element_wise(*texts, "", null_handling="replace", null_replacement="")


def in_ascii(operation: str, arguments: Sequence[Datum], _kind: pa.DataType) -> Datum | None:
    """Upper or lower case; text beyond ASCII is left to Python, which knows letters that become two."""
    text = convert(arguments[0], _STRING)
    # Not the kernels named after ASCII: they misread text whose first offset is not 0, as some casts give.
    plain = pc.all(pc.string_is_ascii(text)).as_py() is not False
    return pc.call_function(operation, [text]) if plain else None


def trim(arguments: Sequence[Datum], _kind: pa.DataType) -> Datum:
    return pc.ascii_trim(convert(arguments[0], _STRING), " ")


def length(arguments: Sequence[Datum], kind: pa.DataType) -> Datum:
    return pc.utf8_length(convert(arguments[0], _STRING)).cast(kind)


def substring(arguments: Sequence[Datum], _kind: pa.DataType) -> Datum | None:
    text, *places = arguments
    if not all(map(is_scalar, places)):
        return None
    start = max(-_FAR, min(places[0].as_py(), _FAR))
    first = start - 1 if start > 0 else start
    return pc.utf8_slice_codeunits(convert(text, _STRING), first, _stop(first, places[1:]))


def _stop(first: int, lengths: Sequence[Datum]) -> int | None:
    """Where a slice as Python has it ends: a negative place counts from the end, and none is the end."""
    if not lengths:
        return None
    stop = first + max(0, min(lengths[0].as_py(), _FAR))
    return None if first < 0 <= stop else stop


def replace(arguments: Sequence[Datum], _kind: pa.DataType) -> Datum | None:
    text, old, new = arguments
    if not (is_scalar(old) and is_scalar(new)):
        return None
    text = convert(text, _STRING)
    return pc.replace_substring(text, old.as_py(), new.as_py()) if old.as_py() else text


def starts_with(arguments: Sequence[Datum], _kind: pa.DataType) -> Datum | None:
    text, prefix = arguments
    return pc.starts_with(convert(text, _STRING), prefix.as_py()) if is_scalar(prefix) else None


def like(arguments: Sequence[Datum], _kind: pa.DataType) -> Datum | None:
    text, pattern = arguments
    if not is_scalar(pattern):
        return None
    text, wanted = convert(text, _STRING), pattern.as_py()
    if "\\" not in wanted:
        return pc.match_like(text, wanted)
    return pc.match_substring_regex(text, _regex(wanted))


def _regex(pattern: str) -> str:
    """A pattern with backslashes as RE2 reads it: only those before %, _ and a backslash quote."""
    parts = re.findall(r"\\[%_\\]|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    return r"(?s)\A" + "".join(wild.get(part) or f"\\x{{{ord(part[-1]):x}}}" for part in parts) + r"\z"
