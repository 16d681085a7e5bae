"""Each row closes a window: sum, max, sum + max and count over a hundred to a million open windows.

Bar for one thread: 5 M rows/s with 100,000 window ends inside RANGE, for sum and for max. Beside it DuckDB's OVER
with a RANGE frame, which knows the whole input, and the thesis' start bins and end bins, which add every row to all
of the bins between its own two. Then what late rows cost, and aggregates that look at all values of a window.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import _rivals as rivals
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _figures import Spread, amount, ratios
from _harness import Settings, benchmark, side_by_side, verdict
from numba import njit

import windrow as wr
from windrow.engines.local import LocalOptions, Receiver, run

ROWS = 2_000_000
STEP = 10
"""Between two rows in order; they arrive up to `BAND` rows late."""
BAND = 1_000
SLACK = STEP * BAND
BINS = (100, 1_000, 10_000, 100_000, 1_000_000)
BAR, BAR_BINS = 5e6, 100_000
MOST_BINS = 10_000
"""With more, the others take too long to wait for."""
AGGREGATES: dict[str, dict[str, tuple[str, Any]]] = {
    "sum": {"total": ("sum(x)", wr.sum("x"))},
    "max": {"most": ("max(x)", wr.max("x"))},
    "sum + max": {"total": ("sum(x)", wr.sum("x")), "most": ("max(x)", wr.max("x"))},
    "count": {"rows": ("count(*)", wr.count())},
}
BARRED = ("sum", "max")
LATE = (0.0, 0.001, 0.01, 0.1)
"""Shares of rows that come up to a tenth of RANGE late."""
VALUES = {
    "median": wr.median("x"),
    "count_distinct": wr.count_distinct("x"),
    "mode": wr.mode("x"),
    "top_k": wr.top_k("x", 3),
}
"""Aggregates that keep values; there are 2,000 different ones."""


def stream(rows: int, groups: int) -> pa.Table:
    """Rows a step apart, out of order within a band."""
    random = np.random.default_rng(11)
    late = random.integers(0, SLACK, rows)
    times = np.sort(np.arange(rows) * STEP + random.integers(0, STEP, rows))
    arrival = np.argsort(times + late, kind="stable")
    keys, values = random.integers(0, groups, rows), random.integers(-1000, 1000, rows)
    return pa.table({"ts": pa.array(times[arrival]), "k": pa.array(keys), "x": pa.array(values)})


def query(data: pa.Table, bins: int, what: str, grouped: bool) -> wr.Query:
    rows = wr.stream(data, time="ts", progress=wr.slack(SLACK))
    keys = ("k",) if grouped else ()
    windows = rows.group_by(*keys).window(range=bins * STEP, slide="1 row", partition=keys)
    return windows.agg(**{name: call for name, (_, call) in AGGREGATES[what].items()})


def answer(asked: wr.Query) -> pa.Table:
    results: list[pa.RecordBatch] = []
    run([asked.plan], asked.sources, Receiver.of_one(results.append), LocalOptions(threads=1))
    return pa.Table.from_batches(results)


def over(connection: Any, bins: int, what: str, grouped: bool) -> pa.Table:
    """DuckDB's frame holds the row exactly RANGE before, so it is one unit shorter."""
    by = "PARTITION BY k " if grouped else ""
    frame = f"({by}ORDER BY ts RANGE BETWEEN {bins * STEP - 1} PRECEDING AND CURRENT ROW)"
    calls = ", ".join(f"{call} OVER {frame} AS {name}" for name, (call, _) in AGGREGATES[what].items())
    found: pa.Table = connection.sql(f"SELECT {calls} FROM data").to_arrow_table()
    return found


@njit(cache=True, nogil=True)
def start_and_end_bins(times, values, reach, slack, greatest, out):  # type: ignore[no-untyped-def]
    """The thesis' algorithm (section 6.1.4): partial aggregates in order of their ends, one more for each row at
    `time` and one at `time + reach`; both begin as copies of the bin before, then the row goes into all between.
    """
    least = -(1 << 62)
    room = 4 * len(times) + 2
    ends, parts, starts = np.empty(room, np.int64), np.empty(room, np.int64), np.zeros(room, np.bool_)
    ends[0], parts[0] = least, least if greatest else 0
    first, count, written, high = 0, 1, 0, least
    for i in range(len(times)):
        for end, is_start in ((times[i], True), (times[i] + reach, False)):
            at = first + count
            while ends[at - 1] > end:
                ends[at], parts[at], starts[at] = ends[at - 1], parts[at - 1], starts[at - 1]
                at -= 1
            ends[at], parts[at], starts[at] = end, parts[at - 1], is_start
            count += 1
        at = first + count - 1
        while ends[at] >= times[i] + reach:
            at -= 1
        while ends[at] >= times[i]:
            parts[at] = max(parts[at], values[i]) if greatest else parts[at] + values[i]
            at -= 1
        high = max(high, times[i])
        while count > 1 and ends[first + 1] < high - slack:
            first, count = first + 1, count - 1
            if starts[first]:
                out[written] = parts[first]
                written += 1
    for at in range(first + 1, first + count):
        if starts[at]:
            out[written] = parts[at]
            written += 1
    return written


def by_bins(data: pa.Table, bins: int, what: str) -> dict[str, npt.NDArray[np.int64]]:
    times, values = data["ts"].to_numpy(), data["x"].to_numpy()
    out = np.empty(len(times), np.int64)
    kinds = {"sum": ((values, False),), "max": ((values, True),), "count": ((np.ones_like(values), False),)}
    chosen = kinds["sum"] + kinds["max"] if what == "sum + max" else kinds[what]
    found = {}
    for name, (column, greatest) in zip(AGGREGATES[what], chosen, strict=True):
        size = start_and_end_bins(times, column, bins * STEP, SLACK, greatest, out)
        found[name] = out[:size].copy()
    return found


def same(answers: list[Any]) -> bool:
    """All answers add up to the same."""
    return len({_sums(found) for found in answers}) == 1


def _sums(found: Any) -> tuple[int, ...]:
    names = [name for name in (found if isinstance(found, dict) else found.column_names) if "window" not in name]
    columns = [np.asarray(found[name]).astype(np.int64) for name in names if name != "k"]
    return len(columns[0]), *(int(column.sum()) for column in columns)


def linear(data: pa.Table, bins: int, what: str, settings: Settings) -> str:
    """The linear algorithm over as many rows as can be waited for, as a multiple of windrow's time over the same."""
    if bins > MOST_BINS or what not in BARRED:
        return "-"
    some = data.slice(0, min(data.num_rows, 3 * bins + 20_000))
    asked = query(some, bins, what, grouped=False)
    works: dict[str, Callable[[], Any]] = {
        "windrow": lambda: answer(asked),
        "bins": lambda: by_bins(some, bins, what),
    }
    spreads = side_by_side(works, settings.repeats, same)
    return beside(spreads, "bins", some.num_rows)


def beside(spreads: dict[str, Spread], name: str, rows: int) -> str:
    return f"{amount(rows / spreads[name].median)} {ratios(spreads, 'windrow')[name]:.2f}x"


def line(data: pa.Table, groups: int, bins: int, what: str, settings: Settings) -> list[object]:
    asked, connection = query(data, bins, what, groups > 1), rivals.connect(data, 1)
    works: dict[str, Callable[[], Any]] = {"windrow": lambda: answer(asked)}
    beside_duckdb = bins <= MOST_BINS and what in BARRED
    if beside_duckdb:
        works["duckdb 1 thread"] = lambda: over(connection, bins, what, groups > 1)
    spreads = side_by_side(works, settings.repeats, same)
    rate = data.num_rows / spreads["windrow"].median
    judged = f"{amount(BAR)} {verdict(rate, BAR)}" if bins == BAR_BINS and what in BARRED else ""
    slow = linear(data, bins, what, settings) if groups == 1 else "-"
    duckdb = beside(spreads, "duckdb 1 thread", data.num_rows) if beside_duckdb else "-"
    ours = spreads["windrow"].rate(data.num_rows, ratios(spreads, "windrow"))
    return [what, str(groups), f"{bins:,}", ours, judged, duckdb, slow]


def with_late(data: pa.Table, share: float) -> pa.Table:
    """The same rows, some of them with a time far back: a tenth of RANGE at most below the bound they meet."""
    random = np.random.default_rng(12)
    back = SLACK + random.integers(0, BAR_BINS * STEP // 10, data.num_rows)
    times = data["ts"].to_numpy()
    return data.set_column(0, "ts", pa.array(np.where(random.random(len(times)) < share, times - back, times)))


def late_line(data: pa.Table, share: float, settings: Settings) -> list[object]:
    some = with_late(data, share)
    asked = {what: query(some, BAR_BINS, what, grouped=False) for what in BARRED}
    works: dict[str, Callable[[], Any]] = {what: partial(answer, one) for what, one in asked.items()}
    spreads = side_by_side(works, settings.repeats, lambda answers: len({found.num_rows for found in answers}) == 1)
    return [f"{share:.1%}", *(spreads[what].rate(some.num_rows) for what in BARRED)]


def value_line(data: pa.Table, name: str, settings: Settings) -> list[object]:
    works: dict[str, Callable[[], Any]] = {}
    for bins in BINS[:-1]:
        windows = wr.stream(data, time="ts", progress=wr.slack(SLACK)).window(range=bins * STEP, slide="1 row")
        works[f"{bins:,}"] = partial(answer, windows.agg(value=VALUES[name]))
    spreads = side_by_side(works, settings.repeats, lambda answers: len({found.num_rows for found in answers}) == 1)
    return [name, *(spread.rate(data.num_rows) for spread in spreads.values())]


def main(settings: Settings) -> None:
    lines = []
    for groups in (1, 1000):
        data = stream(settings.rows(ROWS), groups)
        lines += [line(data, groups, bins, what, settings) for what in AGGREGATES for bins in BINS]
    headers = ["answers", "groups", "open windows", "windrow rows/s", "bar", "duckdb 1 thread", "bins, one by one"]
    title = f"{settings.rows(ROWS):,} rows; for the others rows/s and time as a multiple of windrow's"
    settings.report(title, headers, lines, labels=3)
    data = stream(settings.rows(ROWS), 1)
    late = [late_line(data, share, settings) for share in LATE]
    settings.report(f"Late rows, {BAR_BINS:,} open windows, rows/s", ["late", *BARRED], late)
    few = data.slice(0, settings.rows(ROWS) // 8)
    values = [value_line(few, name, settings) for name in VALUES]
    settings.report("Values, by open windows, rows/s", ["answers", *(f"{bins:,}" for bins in BINS[:-1])], values)


if __name__ == "__main__":
    rivals.one_thread()
    with benchmark(__doc__) as settings:
        main(settings)
