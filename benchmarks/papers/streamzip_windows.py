"""StreamZip: rows a second by how often the last WS values of a job are answered, all of them read each time.

The paper's query: average, least, greatest and median. Raw values, BD (of values times 1000), XOR in independent lines,
SZ within 1 % of each value, and `ours`, Windrow's blocks, are decoded whole and aggregated by one and the same loop;
what is written is compressed on the way in. `incremental` is Windrow as it is, which does not read windows again.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from _coded_windows import CodedWindows, block_rows
from _column_scans import decoded_scan, planes_scan, raw_scan
from _in_order import Floats, Ints
from _pictures import Panel, save
from _task_events import SCALE, Stream, asked, by_machine, generated, noise
from streamzip.codecs import Codec, Coding
from streamzip.windows import Windows, cached

sys.path.insert(0, str(Path(__file__).parents[1]))
from _figures import Spread
from _harness import Settings, begin, side_by_side, table

import windrow as wr
from windrow.operators.compression.coded_column import CodedColumn

SIZES = (64, 256, 1024, 4096)
JOBS = 64
MANY = {64: 16_384, 256: 8_192, 1024: 4_096, 4096: 1_024}
"""Jobs whose raw windows are together larger than the caches nearest to a core, up to the paper's 16 K."""
READ = 1_000_000
"""Values that are read in one repeat, about."""


@dataclass(frozen=True)
class Store:
    """Windows in some form, and by what values are multiplied before they come in; 0 for floats as they are."""

    windows: Any
    scale: int = 0

    def push(self, keys: Ints, values: Any, whole: bool = True) -> Floats:
        """The answers, in the unit of the stream."""
        found: Floats = self.windows.push(keys, values, whole=whole)
        return found / self.scale if self.scale else found

    def columns(self, stream: Stream) -> tuple[Ints, Any]:
        return stream.keys, stream.as_integers(self.scale) if self.scale else stream.values

    def advanced(self, advance: int) -> Store:
        """The same windows, answered so often."""
        return replace(self, windows=replace(self.windows, advance=advance))


Make = Callable[[int, int, int], Store]


def of_codec(codec: Codec, scale: int = 0) -> Make:
    return lambda keys, size, advance: Store(Windows.of(Coding(codec), keys, size, advance, floats=scale == 0), scale)


STORES: dict[str, Make] = {
    "raw": of_codec(Codec.RAW),
    "BD": of_codec(Codec.BASE_DELTA, SCALE),
    "XOR": of_codec(Codec.XOR),
    "SZ": of_codec(Codec.SZ),
    "ours": lambda keys, size, advance: Store(CodedWindows.of(keys, size, advance)),
}
"""What is compared; another layout of windows is one more line."""
NEAR = {"SZ": 0.011}
"""How far off answers may be, as a share."""
BITS = "BD, of bits"
"""Floats taken as integers; its answers are of those, and not compared."""


def same(names: list[str], whole: bool) -> Callable[[list[Any]], bool]:
    """Whether all answers are those of the first, or within the bound of their codec."""

    def judge(answers: list[Floats]) -> bool:
        right = answers[0]
        pairs = [(name, found) for name, found in zip(names, answers, strict=True) if name != BITS]
        if not whole:
            right, pairs = right[:, 1], [(name, found[:, 1]) for name, found in pairs]
        return all(np.allclose(right, found, rtol=NEAR.get(name, 1e-9), atol=0) for name, found in pairs)

    return judge


def measured(stores: Mapping[str, Store], stream: Stream, repeats: int, whole: bool = True) -> dict[str, Spread]:
    """Seconds of each to take the rows in."""

    def work(store: Store) -> Callable[[], Floats]:
        keys, values = store.columns(stream)
        return lambda: store.push(keys, values, whole)

    works = {name: work(store) for name, store in stores.items()}
    return side_by_side(works, repeats, same(list(stores), whole))


def filled(
    makes: Mapping[str, Make], jobs: int, size: int, values: Callable[[Ints], Floats] = asked
) -> dict[str, Store]:
    """Stores in which each window lacks one value, and is then answered for each."""
    keys = np.tile(np.arange(jobs), size - 1)
    stream = Stream("fill", keys, values(keys))
    stores = {name: make(jobs, size, size) for name, make in makes.items()}
    for store in stores.values():
        store.push(*store.columns(stream))
    return {name: store.advanced(1) for name, store in stores.items()}


def staggered(stores: dict[str, Store], size: int) -> dict[str, Store]:
    """The same after more rows of some jobs than of others, so that not all of them end their blocks at once."""
    keys = np.repeat(np.arange(JOBS), np.arange(JOBS) * block_rows(size) // JOBS)
    stream = Stream("more", keys, asked(keys))
    for store in stores.values():
        store.push(*store.columns(stream), False)
    return stores


def rows_for(size: int, advance: int, settings: Settings) -> int:
    """Rows of one repeat: so many that some windows are answered, and that rows alone do not take longest."""
    return min(max(512, settings.rows(READ) * advance // size), settings.rows(200_000))


# The experiments


def by_advance(settings: Settings) -> None:
    """Figures 16 and 17."""
    panels = []
    for size in SIZES:
        stores = staggered(filled(STORES, JOBS, size), size)
        lines: dict[str, list[tuple[float, float]]] = {name: [] for name in STORES}
        found: list[list[object]] = []
        for advance in (1 << power for power in range(size.bit_length())):
            stores = {name: store.advanced(advance) for name, store in stores.items()}
            settle = generated(2 * JOBS * advance, JOBS, seed=4)
            for store in stores.values():
                store.push(*store.columns(settle))
            rows = generated(rows_for(size, advance, settings), JOBS, seed=advance)
            spreads = measured(stores, rows, settings.repeats)
            found.append([advance, spreads["raw"].rate(len(rows.keys)), *shares(spreads)])
            for name, spread in spreads.items():
                lines[name].append((advance, len(rows.keys) / spread.low / 1e6))
        table(f"WS {size}: rows/s of raw windows, the others as a share", ["WA", *STORES], found)
        panels.append(Panel(f"WS {size}", "WA", "million rows/s", lines, log_x=True, log_y=True))
    save(panels)


def shares(spreads: Mapping[str, Spread]) -> list[str]:
    """How many times as fast as raw windows the others are, by the fastest repeats of each."""
    return [f"{spreads['raw'].low / spread.low:.2f}" for name, spread in spreads.items() if name != "raw"]


def gains(settings: Settings) -> None:
    """Figure 18, and what is left of the gain where all of it would have to come from memory or from decoding."""
    found: list[list[object]] = []
    for size in SIZES:
        for jobs in (JOBS, MANY[size]):
            stores = filled(STORES, jobs, size)
            rows = generated(rows_for(size, 1, settings), jobs, seed=7)
            for query, whole in (("all four", True), ("least alone", False)):
                spreads = measured(stores, rows, settings.repeats, whole)
                found.append([query, size, f"{jobs:,}", spreads["raw"].rate(len(rows.keys)), *shares(spreads)])
    found.sort(key=lambda row: str(row[0]))
    table("WA 1: rows/s of raw windows, the others as a share", ["query", "WS", "jobs", *STORES], found)


def lines_of_xor(settings: Settings) -> None:
    """Independent lines against dependent ones, and the hot key: a window that is kept decoded (figure 19)."""
    found: list[list[object]] = []
    for size in SIZES:
        rows = generated(rows_for(size, 1, settings), 1, seed=8)
        fill = generated(size - 1, 1, seed=9)
        works: dict[str, Callable[[], Floats]] = {}
        for name, codec, is_kept in (
            ("raw", Codec.RAW, False),
            ("dependent", Codec.DEPENDENT_XOR, False),
            ("independent", Codec.XOR, False),
            ("independent, kept decoded", Codec.XOR, True),
        ):
            windows = Windows.of(Coding(codec), 1, size, 1, floats=True)
            windows.push(fill.keys, fill.values)
            works[name] = hot(windows, rows, is_kept)
        spreads = side_by_side(works, settings.repeats, same(list(works), True))
        kept = spreads["independent"].low / spreads["independent, kept decoded"].low
        found.append([size, spreads["raw"].rate(len(rows.keys)), *shares(spreads), f"{kept:.2f}"])
    headers = ["WS", "raw", "XOR, dependent", "XOR, independent", "kept decoded", "kept decoded / independent"]
    table("one key, WA 1: rows/s of raw windows, the others as a share", headers, found)


def hot(windows: Windows, rows: Stream, is_kept: bool) -> Callable[[], Floats]:
    if is_kept:
        return lambda: cached(windows, rows.values)
    return lambda: windows.push(rows.keys, rows.values)


def incompressible(settings: Settings) -> None:
    """What compression costs where there is nothing to compress."""
    bits = {
        BITS: lambda keys, size, advance: Store(Windows.of(Coding(Codec.BASE_DELTA), keys, size, advance, floats=False))
    }
    makes: dict[str, Make] = {name: make for name, make in STORES.items() if name != "BD"} | bits
    found: list[list[object]] = []
    for size in SIZES:
        stores = filled(makes, JOBS, size, lambda keys: noise(len(keys), 1).values)
        rows = noise(rows_for(size, 1, settings), JOBS, seed=6)
        spreads = measured(stores, rows, settings.repeats)
        found.append([size, spreads["raw"].rate(len(rows.keys)), *shares(spreads)])
    title = "values that cannot be compressed, WA 1: rows/s of raw windows, the others as a share"
    table(title, ["WS", *makes], found)


def scans(settings: Settings) -> None:
    """Reading alone: numbers as they lie, blocks that are decoded, blocks in planes that are not."""
    found: list[list[object]] = []
    for stream in columns(settings):
        values = stream.as_integers()[np.argsort(stream.keys, kind="stable")]
        blocks, planes = CodedColumn.of(values), CodedColumn.of(values, folded=True)
        assert len(planes.blocks)  # made once, here
        ratio = [f"{8 * len(values) / column.nbytes:.1f}" for column in (blocks, planes)]
        for size in SIZES:
            count = max(100, settings.rows(READ) // size)
            lows = np.random.default_rng(size).integers(0, len(values) - size, count)
            works = scanning(values, blocks, planes, lows, size)
            spreads = side_by_side(works, settings.repeats, same(list(works), True))
            found.append([stream.name, size, spreads["raw"].rate(count), *shares(spreads), *ratio])
    headers = ["stream", "WS", "raw", "ours, decoded", "ours, bit planes", "ratio of blocks", "of planes"]
    table("windows/s read anywhere in a column, the others as a share of raw", headers, found)


def columns(settings: Settings) -> Iterator[Stream]:
    """Columns of whole numbers: mostly runs, recorded ones, and any of 256 that are alike in nothing."""
    rows = settings.rows(4_000_000)
    yield generated(rows, 16)
    yield from (stream.repeated(settings.rows(500_000)) for stream in by_machine())
    yield Stream(
        "any of 256 numbers", np.zeros(rows, np.int64), np.random.default_rng(12).integers(0, 256, rows) / SCALE
    )


def scanning(values: Ints, blocks: CodedColumn, planes: CodedColumn, lows: Ints, size: int) -> dict[str, Any]:
    return {
        "raw": lambda: raw_scan(values, lows, size),
        "ours, decoded": lambda: decoded_scan(blocks, lows, size),
        "ours, bit planes": lambda: planes_scan(planes, lows, size),
    }


def incremental(settings: Settings) -> None:
    """Windrow through its public interface, beside scans of raw windows over the same rows."""
    found: list[list[object]] = []
    for size in (64, 1024, 4096):
        for advance in (1, 16):
            stream = generated(8 * size + settings.rows(100_000), 8, seed=11)
            spreads = side_by_side(whole_runs(stream, size, advance), min(3, settings.repeats))
            rate = spreads["windrow"].rate(len(stream.keys))
            found.append([size, advance, rate, f"{spreads['raw'].low / spreads['windrow'].low:.1f}"])
    table("Windrow's own windows, end to end", ["WS", "WA", "rows/s", "times as fast as raw scans"], found)


def whole_runs(stream: Stream, size: int, advance: int) -> dict[str, Callable[[], object]]:
    times = np.arange(len(stream.keys), dtype=np.int64)
    data = pa.table({"ts": pa.array(times), "job": pa.array(stream.keys), "cpu": pa.array(stream.values)})
    return {"raw": lambda: scanned(stream, size, advance), "windrow": lambda: answered(data, size, advance)}


def scanned(stream: Stream, size: int, advance: int) -> Floats:
    return STORES["raw"](stream.number, size, advance).push(stream.keys, stream.values)


def answered(data: pa.Table, size: int, advance: int) -> pa.Table:
    window = wr.stream(data, time="ts").window(rows=size, slide=f"{advance} rows", partition="job")
    cpu = {"average": wr.avg("cpu"), "least": wr.min("cpu"), "greatest": wr.max("cpu"), "middle": wr.median("cpu")}
    return window.agg(**cpu).collect()


EXPERIMENTS: dict[str, Callable[[Settings], None]] = {
    "by advance": by_advance,
    "gains": gains,
    "lines of XOR": lines_of_xor,
    "incompressible": incompressible,
    "scans": scans,
    "incremental": incremental,
}
"""What `--only` chooses from."""


def main(settings: Settings) -> None:
    gc.freeze()  # what was imported stays: looking through it before each repeat takes longer than some repeats
    for name in settings.chosen(EXPERIMENTS):
        EXPERIMENTS[name](settings)


if __name__ == "__main__":
    main(begin(__doc__))
