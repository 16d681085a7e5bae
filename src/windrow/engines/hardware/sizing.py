"""What a circuit must have room for, taken from the data where nobody said it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from windrow.engines.hardware.reading import WholeStream
from windrow.hardware.feeding import furthest_ahead
from windrow.hardware.planning.joins import JoinRows
from windrow.hardware.planning.options import CircuitOptions
from windrow.hardware.planning.plan import Asked, strings_of
from windrow.hardware.planning.times import clock_of
from windrow.hardware.planning.windows import WindowRows
from windrow.semantics.progress.policies import External, SlackRows

Options = TypeVar("Options", bound=CircuitOptions)


def sized(asked: Asked, streams: Mapping[str, WholeStream], options: Options) -> Options:
    """The options with room for exactly these streams: strings, groups, and how far rows are ahead."""
    options = replace(options, dictionaries={**_dictionaries(asked, streams, options), **options.dictionaries})
    if isinstance(asked, JoinRows):
        return options
    whole = streams[asked[0].stream.name]
    if options.groups is None and any(rows.keys for rows in asked):
        options = replace(options, groups=max(1, *(_groups(rows, whole) for rows in asked)))
    policy = asked[0].stream.policy
    if options.ahead is None and isinstance(policy, (External, SlackRows)) and not getattr(policy, "per", ()):
        options = replace(options, ahead=_ahead(asked, whole, options))
    return options


def _dictionaries(
    asked: Asked, streams: Mapping[str, WholeStream], options: CircuitOptions
) -> dict[str, tuple[str, ...]]:
    """The strings of each column; of a join, those of all columns, so that they compare."""
    found: dict[str, set[Any]] = {
        name: set(pc.unique(streams[stream].column(column)).drop_null().to_pylist())
        for stream, columns in strings_of(asked).items()
        for column, name in columns
        if name not in options.dictionaries
    }
    if isinstance(asked, JoinRows):
        together = set[Any]().union(*found.values())
        found = dict.fromkeys(found, together)
    return {name: tuple(sorted(values)) or ("",) for name, values in found.items()}


def _groups(rows: WindowRows, whole: WholeStream) -> int:
    """Groups of a power of two, so that a few more rows do not ask for another circuit."""
    names = list(dict.fromkeys(column for _, column in rows.keys))
    if not names or len(whole) == 0:
        return 1
    columns = {name: whole.column(name) for name in names}
    count = pa.table(columns).group_by(names).aggregate([]).num_rows
    return 1 << max(0, count - 1).bit_length()


def _ahead(asked: tuple[WindowRows, ...], whole: WholeStream, options: CircuitOptions) -> str | int:
    windows = [rows.window for rows in asked]
    none: str | int = 0
    stream = asked[0].stream
    if pa.types.is_timestamp(stream.schema.field(stream.time).type):
        none = "0 us"
    clock = clock_of(stream, windows, replace(options, ahead=none))
    ahead = furthest_ahead(clock, whole.times, whole.promises)
    return ahead if none == 0 else f"{ahead} us"
