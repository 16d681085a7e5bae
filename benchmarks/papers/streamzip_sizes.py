"""StreamZip: what compressed windows take, by codec and window size, and how far off what SZ gives back is.

Ratios are of windows as they are answered: raw bytes over the lines of 64 bytes they lie in, with all padding. `ours`
are Windrow's blocks, lossless, with their headers and raw tails. BD takes integers: values times a scale, rounded.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from _coded_windows import CodedWindows
from _in_order import Floats
from _pictures import Panel, save
from _task_events import SCALE, Stream, every, noise
from streamzip.bits import LINE_BYTES
from streamzip.codecs import Codec, Coding
from streamzip.windows import Windows

sys.path.insert(0, str(Path(__file__).parents[1]))
from _harness import Settings, begin, table

SIZES = (64, 256, 1024, 4096)
DRAWN = (f"BD, x{SCALE}", "XOR, dependent", "XOR, independent", "SZ, 1 % of value", "SZ, 1 %, 20 sub-streams", "ours")
LEVELS = {Codec.RAW: (8, 0), Codec.BASE_DELTA: (1, 16), Codec.XOR: (8, 20), Codec.SZ: (1, 24)}
"""Bytes a key in the first level, and of the seeds of compressor and decompressor (SZ: six of four bytes)."""


def spread(stream: Stream) -> float:
    return float(stream.values.max() - stream.values.min())


def codings(stream: Stream) -> dict[str, tuple[Coding, float]]:
    """What is compared, and by what values are multiplied before; 0 for floats."""
    hundredth = 0.01 * spread(stream)
    return {
        "BD, x1": (Coding(Codec.BASE_DELTA), 1),
        f"BD, x{SCALE}": (Coding(Codec.BASE_DELTA), SCALE),
        f"BD, x{SCALE}, unsigned": (Coding(Codec.BASE_DELTA, low=0), SCALE),
        "XOR, dependent": (Coding(Codec.DEPENDENT_XOR), 0),
        "XOR, independent": (Coding(Codec.XOR), 0),
        "SZ, 1 % of value": (Coding(Codec.SZ), 0),
        "SZ, 1 %, 20 sub-streams": (Coding(Codec.SZ, streams=20), 0),
        "SZ, 1 % of range": (Coding(Codec.SZ, hundredth, relative=False), 0),
    }


def windows_of(stream: Stream, coding: Coding, scale: float, size: int) -> Windows:
    """The windows after the stream, a sixteenth of them apart."""
    windows = Windows.of(coding, stream.number, size, max(1, size // 16), floats=scale == 0)
    windows.push(stream.keys, stream.as_integers(scale) if scale else stream.values, whole=False)
    return windows


def filling(stream: Stream, size: int) -> Stream:
    """The stream, as often as it takes to fill the windows of at least one key in four of the busiest 16."""
    busiest = stream.most(16)
    counts = np.sort(np.bincount(busiest.keys))[::-1]
    return busiest.repeated(len(busiest.keys) * -(-2 * size // int(counts[min(3, len(counts) - 1)])))


INCOMPRESSIBLE: dict[str, tuple[Coding, float]] = {
    "BD, of bits": (Coding(Codec.BASE_DELTA), 0),
    "XOR, dependent": (Coding(Codec.DEPENDENT_XOR), 0),
    "XOR, independent": (Coding(Codec.XOR), 0),
    "SZ, exact": (Coding(Codec.SZ, 0.0), 0),
    "SZ, 1 % of value": (Coding(Codec.SZ), 0),
}
"""Where there is nothing to compress: a bound of 1 % still lets SZ keep half of each value."""


def ratios(stream: Stream, compared: dict[str, tuple[Coding, float]]) -> list[list[object]]:
    """A line for each coding."""
    rows: dict[str, list[object]] = {name: [stream.name, name] for name in [*compared, "ours"]}
    for size in SIZES:
        filled = filling(stream, size)
        for name, (coding, scale) in compared.items():
            rows[name].append(f"{windows_of(filled, coding, scale, size).ratio:.2f}")
        ours = CodedWindows.of(filled.number, size, max(1, size // 16))
        ours.push(filled.keys, filled.values, whole=False)
        rows["ours"].append(f"{ours.ratio:.2f}")
    return list(rows.values())


def levels(stream: Stream) -> list[list[object]]:
    """Bytes a key: first level, seeds, the line that is written, and those before it."""
    found: list[list[object]] = []
    for codec, (first, seeds) in LEVELS.items():
        scale = SCALE if codec is Codec.BASE_DELTA else 0
        lines = [windows_of(filling(stream, size), Coding(codec), scale, size).lines for size in SIZES]
        far = (f"{LINE_BYTES * max(0.0, number - 1):,.0f}" for number in lines)
        found.append([codec.name.lower().replace("_", "-"), first, seeds, LINE_BYTES, *far])
    return found


def errors(stream: Stream, size: int) -> list[list[object]]:
    """Of values, and of answers, SZ against the same windows of raw values; as shares of the right one."""
    filled = filling(stream, size)
    raw = Windows.of(Coding(Codec.RAW), filled.number, size, max(1, size // 16), floats=True)
    right = raw.push(filled.keys, filled.values)
    found: list[list[object]] = []
    for name, (coding, _) in codings(stream).items():
        if coding.codec is not Codec.SZ:
            continue
        windows = Windows.of(coding, filled.number, size, max(1, size // 16), floats=True)
        given = windows.push(filled.keys, filled.values)
        row: list[object] = [stream.name, name, size, apart(filled.values, returned(filled, coding))]
        found.append([*row, *(apart(right[:, column], given[:, column]) for column in range(4))])
    return found


def returned(stream: Stream, coding: Coding) -> Floats:
    """The values of a stream as they are read back, key by key."""
    values = np.empty(len(stream.values))
    for key in range(stream.number):
        rows = stream.keys == key
        values[rows] = coding.decode(coding.encode(stream.values[rows]), int(rows.sum()))
    return values


def apart(right: Floats, given: Floats) -> str:
    """Largest and mean distance as shares of the right ones; of those that are 0, how many are not given as 0."""
    some = right != 0
    shares = np.abs(given[some] - right[some]) / np.abs(right[some])
    wrong = int((given[~some] != 0).sum())
    text = f"{100 * shares.max():.3g} / {100 * shares.mean():.2g} %"
    return f"{text}, {wrong} of {int((~some).sum())} zeros" if wrong else text


def main(settings: Settings) -> None:
    streams = every(settings.rows(200_000))
    found = {stream.name: ratios(stream, codings(stream)) for stream in streams}
    headers = ["stream", "codec", *map(str, SIZES)]
    table(
        "raw bytes over bytes of 64-byte lines, by window size",
        headers,
        [row for rows in found.values() for row in rows],
    )
    random = noise(settings.rows(100_000), 16)
    table("values that cannot be compressed", headers, ratios(random, INCOMPRESSIBLE))
    table(
        "bytes a key by level, generated requests",
        ["codec", "M1", "seeds", "M2", *(f"M3 at {size}" for size in SIZES)],
        levels(streams[-1]),
    )
    wrong = [row for stream in streams for row in errors(stream, 256)]
    names = ("stream", "codec", "WS", "values", "average", "least", "greatest", "median")
    table("errors: largest / mean, of the right value", names, wrong)
    save([Panel(name, "window", "raw bytes over kept bytes", drawn(rows), log_x=True) for name, rows in found.items()])


def drawn(rows: list[list[object]]) -> dict[str, list[tuple[float, float]]]:
    """The lines of a picture: ratio by window size."""
    kept = [row for row in rows if row[1] in DRAWN]
    return {str(row[1]): [(size, float(str(cell))) for size, cell in zip(SIZES, row[2:], strict=True)] for row in kept}


if __name__ == "__main__":
    main(begin(__doc__))
