"""Rows and promises as the elements that a circuit takes, whole arrays at a time.

The promise that a row implies comes before the row, so that a row is never further ahead of the last promise than its
stream may be out of order. Promises lie on the grid of window ends. Times count from a start, which is one, and only
the lowest bits of them are kept; so a promise far ahead is several, and a row that is far off is moved to where it is
as late, or as early, as it was: to be told from others it must be within a quarter of what a time can say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.kinds.base import Array, Integers
from windrow.errors import ConfigurationError, DataError
from windrow.hardware.design import AggregateDesign
from windrow.hardware.packing import Words, pack
from windrow.hardware.planning.columns import CircuitColumn
from windrow.hardware.planning.plan import AggregatePlan
from windrow.hardware.planning.times import CircuitClock
from windrow.plan.types.kinds import Family, family_of, normal_time
from windrow.semantics.progress.policies import START, Ordered, Policy, Slack, SlackRows

MOST_STEPS = 1 << 16
"""Promises that one promise far ahead may become."""
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Elements:
    """What goes into a circuit for aggregates, in order: rows, promises, and at last the end of the stream."""

    punctuation: Flags
    last: Flags
    time: Words
    data: Words

    def __len__(self) -> int:
        return len(self.time)

    def words(self, design: AggregateDesign) -> Words:
        """As the input of the circuit has them."""
        columns = (self.punctuation, 1), (self.last, 1), (self.time, design.time_width)
        return pack(len(self), [*columns, (self.data, max(design.layout.bits, 1))])


@dataclass(frozen=True)
class Fed:
    """A whole stream as elements, and what the reader of its results must know.

    `start` is the time at which the clock of the circuit is 0. Windows that are closed when an element has been taken
    end no later than `reach` says, in units since then; so the few bits of a window's end say which one it is.
    """

    elements: Elements
    start: int
    reach: Integers


def promises_of(policy: Policy, slack: int, times: Integers) -> Integers:
    """For each row of a stream the promise that holds just before it: what the rows before it and it itself imply.

    >>> promises_of(Ordered(), 0, np.array([3, 5, 4])).tolist()
    [3, 5, 5]
    """
    if isinstance(policy, (Ordered, Slack)):
        return np.maximum.accumulate(times) - (slack if isinstance(policy, Slack) else 0)
    assert isinstance(policy, SlackRows)
    highs = np.maximum.accumulate(times)
    after, before = (_shifted(highs, policy.rows + more) for more in (0, 1))
    return np.maximum(before, np.minimum(after, times))


def _shifted(values: Integers, rows: int) -> Integers:
    """Each value so many rows later."""
    found = np.full(len(values), START, np.int64)
    if rows < len(values):
        found[rows:] = values[: len(values) - rows]
    return found


def furthest_ahead(clock: CircuitClock, times: Integers, promises: Integers) -> int:
    """How far rows may be ahead of promises so that none of these is early: less what rounding the promises gives."""
    if len(times) == 0:
        return 0
    bounds, _ = _on_grid(clock, times, promises)
    return max(0, int((times - bounds).max()) - clock.step + 1)


def feed(plan: AggregatePlan, times: Integers, promises: Integers, columns: Mapping[str, Array]) -> Fed:
    """A whole stream: the times of its rows, the promise before each (`START`: none yet), and the columns."""
    clock = plan.clock
    data = packed_rows(list(plan.columns.values()), columns, len(times))
    if len(times) == 0:
        end = np.ones(1, np.bool_)
        return Fed(
            Elements(end, end, np.zeros(1, np.uint64), np.zeros((1, data.shape[1]), np.uint64)),
            0,
            np.zeros(1, np.int64),
        )
    bounds, start = _on_grid(clock, times, promises)
    reached = (bounds - start) // clock.unit
    longest = max(query.range + query.slide for query in plan.design.queries)
    step = clock.step // clock.unit
    # Just before where a window may end, so that a row that was in one is in one, and further behind than any is open.
    low = reached - -(-longest // step) * step - 1
    at = _between_windows(plan, (times - start) // clock.unit, reached)
    at = np.clip(at, low, reached + clock.half // 2)
    before = np.concatenate([[0], reached[:-1]])
    parts = -(-(reached - before) // (clock.half // 2))
    _check_leaps(clock, parts)
    elements, promised = _interleaved(clock, at, before, reached, parts, data)
    promised[-1] = max(int(at.max()), int(reached[-1])) + longest
    return Fed(elements, start, promised)


def _between_windows(plan: AggregatePlan, at: Integers, reached: Integers) -> Integers:
    """Rows that belong to no window are put where no window is, but not below the promise: they are not late."""
    query = plan.design.queries[0]
    if len(plan.design.queries) > 1 or query.range >= query.slide:
        return at
    return np.where(at % query.slide < query.slide - query.range, reached, at)


def _check_leaps(clock: CircuitClock, parts: Integers) -> None:
    if int(parts.max()) > MOST_STEPS:
        row, bits = int(np.argmax(parts)), (int(parts.max()) // MOST_STEPS).bit_length()
        raise ConfigurationError(
            f"must have more bits: before row {row} the stream leaps by what {int(parts.max())} promises say",
            parameter="time_width",
            value=clock.width,
            hint=f"{min(64, clock.width + bits)} bits are enough",
        )


def _on_grid(clock: CircuitClock, times: Integers, promises: Integers) -> tuple[Integers, int]:
    """The promises rounded down to where windows may end, from the start on; and that start."""

    def down(values: Integers, step: int) -> Integers:
        return clock.origin + (values - clock.origin) // step * step

    known = promises > START
    first = int(np.argmax(known)) if known.any() else len(times)
    start = int(down(np.concatenate([times[:first], promises[first : first + 1]]), clock.cycle).min())
    bounds = np.where(known, down(np.where(known, promises, start), clock.step), start)
    return np.maximum.accumulate(np.maximum(bounds, start)), start


def _interleaved(
    clock: CircuitClock, at: Integers, before: Integers, reached: Integers, parts: Integers, data: Words
) -> tuple[Elements, Integers]:
    """Rows with their promises in front of them, in as many steps as each takes, and the end behind all.

    And what is promised when each of these has been taken.
    """
    rows = len(at)
    places = np.arange(rows) + np.cumsum(parts)
    total = rows + int(parts.sum()) + 1
    times = np.zeros(total, np.int64)
    punctuation, last = np.ones(total, np.bool_), np.zeros(total, np.bool_)
    punctuation[places], last[-1] = False, True
    steps = np.flatnonzero(punctuation)[:-1]
    owners = np.repeat(np.arange(rows), parts)
    nth = np.arange(len(owners)) - np.repeat(np.cumsum(parts) - parts, parts) + 1
    times[steps] = np.minimum(before[owners] + nth * (clock.half // 2), reached[owners])
    times[-1] = reached[-1]
    promised = np.maximum.accumulate(times)
    times[places] = at
    spread = np.zeros((total, data.shape[1]), np.uint64)
    spread[places] = data
    mask = np.uint64((1 << clock.width) - 1)
    return Elements(punctuation, last, times.astype(np.uint64) & mask, spread), promised


def packed_rows(fields: Sequence[CircuitColumn], columns: Mapping[str, Array], rows: int) -> Words:
    """The fields of rows, packed; a value that does not fit its field is refused, with its row."""
    return pack(rows, [one for column in fields for one in _field(column, columns[column.name])])


def _field(column: CircuitColumn, array: Array) -> Iterator[tuple[Words | Flags, int]]:
    nulls = np.asarray(array.is_null())
    values = _whole(column, array)
    _check_fits(column, values, nulls)
    yield np.where(nulls, np.uint64(0), values.view(np.uint64)), column.field.width
    if column.field.nullable:
        yield nulls, 1


def _whole(column: CircuitColumn, array: Array) -> npt.NDArray[np.int64] | Words:
    """The values as whole numbers, zero where they are NULL."""
    if column.dictionary is not None:
        return _codes(column, array)
    family = family_of(column.kind)
    if family is Family.TIMESTAMP:
        array = array.cast(normal_time(column.kind)).view(pa.int64())
    elif family is Family.DURATION:
        array = array.cast(pa.duration("us")).view(pa.int64())
    elif family is Family.DATE:
        array = array.cast(pa.date32()).view(pa.int32()).cast(pa.int64())
    elif family is Family.BOOLEAN:
        array = array.cast(pa.int8())
    kind = pa.uint64() if pa.types.is_uint64(column.kind) else pa.int64()
    return np.asarray(array.cast(kind).fill_null(0))


def _codes(column: CircuitColumn, array: Array) -> npt.NDArray[np.int64]:
    assert column.dictionary is not None
    texts = array.cast(pa.string())
    codes = pc.index_in(texts, pa.array(column.dictionary, pa.string()))
    missing = np.asarray(codes.is_null()) & np.asarray(texts.is_valid())
    if missing.any():
        row = int(np.argmax(missing))
        raise DataError(
            "must be one of the strings of its dictionary",
            parameter=column.name,
            value=f"{texts[row].as_py()} in row {row}",
            hint="list it there",
        )
    return np.asarray(codes.fill_null(0)).astype(np.int64)


def _check_fits(column: CircuitColumn, values: npt.NDArray[np.int64] | Words, nulls: Flags) -> None:
    field = column.field
    if not field.nullable and nulls.any():
        row = int(np.argmax(nulls))
        raise DataError(
            "must not be NULL: its field has no bit for that", parameter=column.name, value=f"NULL in row {row}"
        )
    least, most = (-(1 << field.width - 1), (1 << field.width - 1) - 1) if field.signed else (0, (1 << field.width) - 1)
    info = np.iinfo(values.dtype)
    low = values < max(least, info.min) if least > info.min else np.zeros(len(values), np.bool_)
    high = values > min(most, info.max) if most < info.max else np.zeros(len(values), np.bool_)
    outside = (low | high) & ~nulls
    if outside.any():
        row = int(np.argmax(outside))
        raise DataError(
            f"must fit into {field.width} bits{' with a sign' if field.signed else ''}",
            parameter=column.name,
            value=f"{values[row]} in row {row}",
            hint=f"give the column more bits, as in --width {column.name}=64",
        )
