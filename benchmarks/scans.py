"""Whole windows scanned in memory, folded from coded blocks against raw values: sums, avg+min+max+median, and a query.

Bars: a sum over 268 MB of raw values that are kept in 12 bits at 3 times the speed of the raw sum, 2 times at 20 bits;
avg+min+max+median of windows of 1024 rows and more at 3 times the speed of a two-level histogram of the raw values.
Real columns are those of `../shared/data`, where it is there; floats are whole numbers of their last digit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from _figures import ratios
from _harness import Settings, benchmark, side_by_side, verdict
from _scans import Windows, folded_scan, raw_scan, raw_sum

import windrow as wr
from windrow.operators.compression.coded_column import CodedColumn
from windrow.operators.compression.folding import sums

Integers = npt.NDArray[np.int64]
DATA = Path(__file__).parents[2] / "shared" / "data"
VALUES = 1 << 25
SUM_BARS = {8: 3.0, 12: 3.0, 16: 2.0, 20: 2.0}
SCAN_BAR = 3.0
SIZES = 1024, 4096
SCANS = 40_000
PLANES = 64.0
"""Scans are of planes wherever there can be any, however large they are beside other blocks; how many a query would
have by its own choice is said beside it."""
MOST = 1 << 18
REAL = {
    "price, by symbol": ("trades", "price", "symbol"),
    "price, as came": ("trades", "price", None),
    "quantity, by symbol": ("trades", "quantity", "symbol"),
    "delay, as came": ("flights", "delay", None),
    "delay, by origin": ("flights", "delay", "origin"),
    "distance, as came": ("flights", "distance", None),
    "duration_ns, by service": ("spans", "duration_ns", "service"),
    "sensor value, by series": ("sensors", "value", "series"),
    "dns rtt, as came": ("zeek_dns", "rtt", None),
    "position, as came": ("linear_road", "position", None),
    "plug load, as came": ("smart_grid", "value", None),
}
"""File, column and group."""
GENERATED = {"8 bits": 8, "12 bits": 12, "20 bits": 20}
ROWS = 2_000_000


# Sums


def sum_line(settings: Settings, width: int) -> list[object]:
    values = np.random.default_rng(width).integers(0, 1 << width, settings.rows(VALUES))
    column, low, high = CodedColumn.of(values, folded=True), np.array([0]), np.array([len(values)])

    def folded() -> int:
        tops, bottoms = sums(column, low, high)
        return (int(tops[0]) << 32) + int(bottoms[0])

    works = {"folded": folded, "numba": lambda: raw_sum(values), "numpy": lambda: int(values.sum())}
    spreads = side_by_side(works, settings.repeats, lambda answers: len(set(map(int, answers))) == 1)
    over = ratios(spreads, "folded")
    times = min(over.values())
    rates = [spreads[name].rate(values.nbytes, over if name == "folded" else None) for name in works]
    bar = SUM_BARS[width]
    return [
        f"{width} bits",
        *rates,
        f"{values.nbytes / column.nbytes:.2f}",
        f"{times:.2f}x",
        verdict(times, bar),
        f"{bar:.0f}x",
    ]


# Scans


def columns(settings: Settings) -> dict[str, tuple[Integers, Integers]]:
    """Whole numbers and the groups they are in, group after group."""
    random = np.random.default_rng(1)
    found = {
        name: (random.integers(0, 1 << width, MOST), np.zeros(MOST, np.int64)) for name, width in GENERATED.items()
    }
    for name, (file, column, group) in REAL.items() if DATA.is_dir() else ():
        table = pq.read_table(DATA / f"{file}.parquet", columns=[column, *([group] if group else [])]).drop_null()
        groups = np.zeros(len(table), np.int64)
        if group:
            groups = np.asarray(table[group].combine_chunks().dictionary_encode().indices).astype(np.int64)
        order = np.argsort(groups, kind="stable")
        whole = whole_numbers(np.asarray(table[column]))[order]
        found[name] = whole[:MOST], groups[order][:MOST]
    return {name: found[name] for name in settings.chosen(found)}


def whole_numbers(values: npt.NDArray[Any]) -> Integers:
    """Floats in units of their last digit, of which they have nine at most."""
    if values.dtype != np.float64:
        return values.astype(np.int64)
    for digits in range(10):
        whole = np.rint(values * 10.0**digits)
        if (whole / 10.0**digits == values).all():
            return whole.astype(np.int64)
    return np.rint(values * 1e6).astype(np.int64)


def windows_of(groups: Integers, size: int, most: int) -> Windows | None:
    """Windows of so many rows of one group, as many as there are or `most` of them."""
    lows = np.arange(0, len(groups) - size)
    lows = lows[groups[lows] == groups[lows + size - 1]]
    lows = lows[:: max(1, len(lows) // most)]
    return Windows(lows, lows + size) if len(lows) else None


def same(answers: list[Any]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(*answers, strict=True))


def scan_line(settings: Settings, name: str, values: Integers, groups: Integers, size: int) -> list[object] | None:
    windows = windows_of(groups, size, settings.rows(SCANS))
    if windows is None:
        return None
    column = CodedColumn.of(values, folded=True, most=PLANES)
    works = {"folded": lambda: folded_scan(column, windows), "raw": lambda: raw_scan(values, windows)}
    spreads = side_by_side(works, settings.repeats, same)
    over, number = ratios(spreads, "folded"), len(windows.lows)
    chosen, best = CodedColumn.of(values, folded=True), CodedColumn.of(values)
    ratio, least = (f"{values.nbytes / one.nbytes:.2f}" for one in (column, best))
    return [
        name, str(size), spreads["folded"].rate(number, over), spreads["raw"].rate(number),
        in_planes(column), in_planes(chosen), ratio, least, f"{over['raw']:.2f}x", verdict(over["raw"], SCAN_BAR),
    ]  # fmt: skip


def in_planes(column: CodedColumn) -> str:
    """How many blocks are."""
    kinds = column.kinds()
    return f"{kinds.get('planes', 0) / sum(kinds.values()):.0%}"


# A query


def query_lines(settings: Settings) -> list[list[object]]:
    random, rows = np.random.default_rng(2), settings.rows(ROWS)
    times = np.arange(rows) + random.integers(0, 1000, rows)
    kinds = {
        "whole numbers, 12 bits": random.integers(0, 4000, rows),
        "prices that walk": np.round(100 + np.cumsum(random.normal(0, 0.01, rows)), 2),
    }
    asked = {
        "median": {"m": wr.median("x")},
        "min+max+median": {"least": wr.min("x"), "most": wr.max("x"), "m": wr.median("x")},
        "avg+min+max+median": {"a": wr.avg("x"), "least": wr.min("x"), "most": wr.max("x"), "m": wr.median("x")},
        "count_distinct": {"d": wr.count_distinct("x")},
    }
    lines: list[list[object]] = []
    for kind, values in kinds.items():
        table = pa.table({"t": pa.array(times), "x": pa.array(values)})
        windows = wr.stream(table, time="t", progress=wr.slack(1000)).window(range=rows // 4, slide=rows // 40)
        for name, aggregates in asked.items():
            query = windows.strategy("buffer").agg(**aggregates)
            works = {mode: query.compress(mode).collect for mode in ("blocks", "off")}
            spreads = side_by_side(works, settings.repeats, lambda answers: answers[0] == answers[1])
            over = ratios(spreads, "blocks")
            rates = spreads["blocks"].rate(rows, over), spreads["off"].rate(rows)
            lines.append([kind, name, *rates, f"{over['off']:.2f}x"])
    return lines


def main(settings: Settings) -> None:
    headers = ["values", "folded B/s", "numba B/s", "numpy B/s", "ratio", "times the faster raw", "bar", "of"]
    lines = [sum_line(settings, width) for width in SUM_BARS]
    settings.report(f"sum over {settings.rows(VALUES) * 8:,} bytes of raw values", headers, lines)
    headers = [
        "column",
        "rows",
        "folded scans/s",
        "raw scans/s",
        "planes",
        "by choice",
        "ratio",
        "at best",
        "times",
        "bar 3x",
    ]
    found = [scan_line(settings, name, *column, size) for name, column in columns(settings).items() for size in SIZES]
    settings.report("avg+min+max+median of whole windows", headers, [line for line in found if line], labels=2)
    headers = ["values", "asked", "blocks rows/s", "off rows/s", "times off"]
    settings.report(
        f"STRATEGY buffer, {settings.rows(ROWS):,} rows, RANGE/SLIDE 10", headers, query_lines(settings), labels=2
    )


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
