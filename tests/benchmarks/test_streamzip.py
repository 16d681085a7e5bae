"""The algorithms of the paper on compressed windows: codecs give back what they took, windows hold what they should."""

from __future__ import annotations

import doctest
import importlib
import sys
from collections import deque
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "papers"))

from _coded_windows import CodedWindows  # noqa: E402
from streamzip.bits import LINE_BYTES  # noqa: E402
from streamzip.codecs import Codec, Coding  # noqa: E402
from streamzip.queues import Queue  # noqa: E402
from streamzip.windows import Windows, cached  # noqa: E402

MOST = 2**63 - 1
STREAM = [50, 51, 52, 53, 54, 55, 320, 330, 331, 332, 333, 580, 600, 601, 602]
"""The values of figure 10."""
TABLE = """
1  50 0 0 3  0  50  3
2  50 1 0 3  0  50  3
3  50 0 0 1  0  50  3
4  50 1 0 1  0  50  3
5  50 0 0 4  0  50  3
6  50 1 0 3  4  50  3
7 320 0 0 1  4  50  3
6 320 1 2 1  4  50  2
7 320 0 0 1  8  50  2
6 320 1 0 1  8  50  0
7 320 0 0 4  8  50  0
6 580 1 0 3 12  50  6
7 580 0 2 1 12  50  6
6 580 1 0 3  0 320 10
7 580 0 0 1  0 320 10
"""
"""Its registers: t_c, S_C, w1, w2S, w2, w3, S_D, r3; r1 and r2 do not move there."""


def test_figure_10() -> None:
    queue, windows, registers = Queue(8, 2), [], []
    for value in STREAM:
        windows.append(queue.push(value))
        registers.append(tuple(queue.pointers))
    assert [STREAM[at - 7 : at + 1] for at in (7, 9, 11, 13)] == [window for window in windows if window is not None]
    assert [at in (7, 9, 11, 13) for at in range(15)] == [window is not None for window in windows]
    assert [tuple(map(int, line.split())) for line in TABLE.split("\n") if line] == registers


def test_figure_10_in_the_windows_of_all_keys() -> None:
    windows = Windows.of(Coding(Codec.BASE_DELTA, low=0), 1, 8, 2, floats=False)
    found = windows.push(np.zeros(15, np.int64), np.array(STREAM))
    assert expected(STREAM, 8, 2) == found.tolist()


@pytest.mark.parametrize("seed", range(20))
def test_a_queue_holds_the_last_values(seed: int) -> None:
    random = Random(seed)
    size = random.randint(1, 40)
    advance = random.randint(1, size)
    shape = random.choice([(4, 2), (64, 8), (16, 8), (5, 3)])
    queue = Queue(size, advance, cells=shape[0], base_cells=shape[1])
    held: deque[int] = deque()
    value = 0
    for _ in range(600):
        value += random.choice([0, 1, 3, -1, 200, 300, -(10**6), 2**40])
        held.append(value)
        full = list(held) if len(held) == size else None
        assert full == queue.push(value)
        if full is not None:
            for _ in range(advance):
                held.popleft()


def expected(values: list[Any], size: int, advance: int) -> list[list[float]]:
    """The four aggregates of every window of one key, by definition."""
    ends = range(size, len(values) + 1, advance)
    windows = [np.array(values[end - size : end], np.float64) for end in ends]
    return [[window.mean(), window.min(), window.max(), float(np.median(window))] for window in windows]


# Codecs

EDGES = {
    "nothing": [],
    "one": [5],
    "extremes": [MOST, -MOST - 1, 0, MOST, -1, -MOST - 1, -MOST - 1],
    "reach": [0, 126, 127, 0, -128, -129, 254, 255, 509, 510, 0, 255],
    "a new base each": [300 * number for number in range(100)],
    "bases and near ones": [1000 * (number // 2) + number % 2 for number in range(500)],
    "alike": [42] * 1000,
}
FLOATS = {
    "extremes": [0.0, -0.0, 1e300, -1e300, 5e-324, np.inf, -np.inf, 1.7976931348623157e308, 2.2e-308],
    "figure 4": [10.5, 10.5, 9.5, 11.5],
    "alike": [0.025] * 1000,
    "nearly alike": [0.025, 0.025, 0.0250001, 0.025] * 200,
    "a line": [0.5 * number for number in range(700)],
    "a parabola": [0.25 * number * number for number in range(700)],
}
NANS = np.array([0x7FF8000000000001, 0x7FF0000000000001, 0xFFF8DEADBEEF0000, 0x7FF8000000000000], np.uint64)


def floats_of(name: str) -> Any:
    return np.array(FLOATS[name], np.float64)


def drawn(seed: int, size: int) -> Any:
    """Floats of all sorts: any bits, NaN payloads too, among runs and steps."""
    random = np.random.default_rng(seed)
    bits = random.integers(-MOST - 1, MOST, size, endpoint=True).view(np.float64)
    runs = np.repeat(random.choice([0.0, -0.0, 0.1, 3.25, 1e9, 1e-9], size), random.integers(1, 9, size))[:size]
    steps = np.cumsum(random.integers(-3, 4, size)) / 8
    return np.select([random.random(size) < 0.05, random.random(size) < 0.5], [bits, runs], steps)


@pytest.mark.parametrize("low", [0, -128])
@pytest.mark.parametrize("name", EDGES)
def test_base_delta_gives_integers_back(name: str, low: int) -> None:
    values, coding = np.array(EDGES[name], np.int64), Coding(Codec.BASE_DELTA, low=low)
    lines = coding.encode(values)
    assert 0 == lines.nbytes % LINE_BYTES
    assert values.tolist() == coding.decode(lines, len(values)).tolist()


@pytest.mark.parametrize("codec", [Codec.XOR, Codec.DEPENDENT_XOR])
@pytest.mark.parametrize("values", [*map(floats_of, FLOATS), NANS.view(np.float64)], ids=[*FLOATS, "NaN"])
def test_xor_gives_bits_back(codec: Codec, values: Any) -> None:
    coding = Coding(codec)
    found = coding.decode(coding.encode(values), len(values))
    assert values.view(np.int64).tolist() == found.view(np.int64).tolist()


@pytest.mark.parametrize("seed", range(12))
def test_drawn_values_come_back(seed: int) -> None:
    values = drawn(seed, 3000)
    for codec in (Codec.RAW, Codec.BASE_DELTA, Codec.XOR, Codec.DEPENDENT_XOR):
        given = values if codec in (Codec.XOR, Codec.DEPENDENT_XOR) else values.view(np.int64)
        found = Coding(codec).decode(Coding(codec).encode(given), len(given))
        assert given.view(np.int64).tolist() == found.view(np.int64).tolist()


@pytest.mark.parametrize("streams", [1, 2, 20])
@pytest.mark.parametrize("coding", [(0.01, True), (0.01, False), (0.0, True), (1e-12, True)], ids=str)
def test_squeezed_values_are_within_their_bound(coding: tuple[float, bool], streams: int) -> None:
    bound, relative = coding
    squeezed = Coding(Codec.SZ, bound, relative, streams)
    for values in [drawn(seed, 3000) for seed in range(6)] + [*map(floats_of, FLOATS), NANS.view(np.float64)]:
        found = squeezed.decode(squeezed.encode(values), len(values))
        finite = np.isfinite(values)
        allowed = bound * np.abs(values[finite]) if relative else bound
        assert (np.abs(found[finite] - values[finite]) <= allowed).all()
        assert values[~finite].view(np.int64).tolist() == found[~finite].view(np.int64).tolist()


def lines_of(coding: Coding, values: list[Any]) -> int:
    return Coding.encode(coding, np.array(values)).nbytes // LINE_BYTES


def test_lines_hold_what_the_paper_says() -> None:
    constant = [0.5] * 1024
    assert lines_of(Coding(Codec.RAW), list(range(80))) == 10
    assert lines_of(Coding(Codec.BASE_DELTA), [1] * 64) == 1  # near the base before the first
    assert lines_of(Coding(Codec.BASE_DELTA), [10**6] * 56) == 1  # a mark, a base, and 55 differences
    assert lines_of(Coding(Codec.BASE_DELTA), [10**6] * 57) == 2
    assert lines_of(Coding(Codec.XOR), constant[: 2 * (1 + 512 - 74)]) == 2
    assert lines_of(Coding(Codec.DEPENDENT_XOR), constant[: 1 + 512 - 64]) == 1
    assert lines_of(Coding(Codec.SZ), constant[: 1 + (512 - 36) // 2]) == 1
    assert lines_of(Coding(Codec.SZ), constant[: 2 + (512 - 36) // 2]) == 2


# Windows


@pytest.mark.parametrize(("size", "advance"), [(1, 1), (8, 1), (8, 2), (8, 8), (64, 1), (64, 13), (300, 7), (300, 300)])
@pytest.mark.parametrize("codec", Codec)
def test_windows_are_those_of_the_definition(codec: Codec, size: int, advance: int) -> None:
    random = np.random.default_rng(size * 1000 + advance)
    keys = random.integers(0, 3, 4000)
    values = np.round(random.lognormal(3, 1, 4000) * random.choice([1, 1, 1, 1000], 4000)) / 4
    floats = codec is not Codec.BASE_DELTA
    given = values if floats else (values * 4).astype(np.int64)
    windows = Windows.of(Coding(codec, bound=0.0, streams=3), 3, size, advance, floats=floats)
    found = [windows.push(keys[at : at + 1700], given[at : at + 1700]) for at in (0, 1700, 3400)]
    for_keys = [expected(list(given[keys == key]), size, advance) for key in range(3)]
    right = sorted(row for rows in for_keys for row in rows)
    assert np.allclose(right, sorted(np.concatenate(found).tolist()), rtol=1e-12)
    assert 0 < windows.ratio


@pytest.mark.parametrize("codec", [Codec.RAW, Codec.BASE_DELTA, Codec.XOR, Codec.DEPENDENT_XOR])
def test_a_window_that_is_kept_decoded_gives_the_same_answers(codec: Codec) -> None:
    values = np.random.default_rng(1).integers(0, 5000, 3000)
    given = values if codec is Codec.BASE_DELTA else values / 8
    for advance in (1, 5, 64):
        both = [Windows.of(Coding(codec), 1, 64, advance, floats=codec is not Codec.BASE_DELTA) for _ in range(2)]
        for part in (given[:1000], given[1000:]):
            right = both[0].push(np.zeros(len(part), np.int64), part)
            assert right.tolist() == cached(both[1], part).tolist()


@pytest.mark.parametrize("advance", [1, 16, 100, 256])
def test_windows_of_coded_blocks_are_those_of_raw_values(advance: int) -> None:
    random = np.random.default_rng(advance)
    keys, values = random.integers(0, 3, 5000), np.round(np.cumsum(random.normal(0, 1, 5000)), 2)
    values[::97] = [-0.0, 1e300][advance % 2]
    raw = Windows.of(Coding(Codec.RAW), 3, 256, advance, floats=True)
    ours = CodedWindows.of(3, 256, advance)
    for part in (slice(0, 1300), slice(1300, 5000)):
        right = raw.push(keys[part], values[part])
        assert len(right) > 0
        assert right.tolist() == ours.push(keys[part], values[part]).tolist()
    assert ours.ratio > 1


def test_the_least_alone() -> None:
    values = np.array([3.0, -1.0, 2.0, 5.0, 0.5])
    for codec in (Codec.RAW, Codec.XOR):
        windows = Windows.of(Coding(codec), 1, 2, 1, floats=True)
        assert [-1.0, -1.0, 2.0, 0.5] == windows.push(np.zeros(5, np.int64), values, whole=False)[:, 0].tolist()


def test_an_advance_beyond_the_window_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^an advance of 9 is not from 1 to 8$"):
        Windows.of(Coding(Codec.RAW), 1, 8, 9, floats=True)


@pytest.mark.parametrize("name", ["bits", "codecs", "queues", "squeeze"])
def test_examples_print_what_they_say(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"streamzip.{name}"))
    assert 0 == failed
    assert tried
