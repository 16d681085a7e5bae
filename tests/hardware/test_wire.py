"""Frames: what goes in comes out, frames that were lost are counted, broken ones are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import DataError
from windrow.frames.header import HEADER
from windrow.hardware.design import AggregateDesign, BitLayout, CircuitPart, Field, Function, WindowQuery
from windrow.hardware.feeding import Elements
from windrow.hardware.packing import pack, unpack, with_sign, words_for
from windrow.hardware.wire import (
    RecordLayout,
    decode,
    element_frames,
    elements_of,
    encode,
    result_frames,
    results_of,
)

FIELDS = (Field("k", 7, signed=False), Field("x", 33, nullable=True), Field("y", 64))
DESIGN = AggregateDesign(
    BitLayout(FIELDS),
    (
        WindowQuery(
            4, 2, 1, (CircuitPart(Function.COUNT), CircuitPart(Function.MIN, None, 70)), keys=("k", "x"), groups=3
        ),
    ),
    time_width=20,
)


@st.composite
def layouts(draw: st.DrawFn) -> RecordLayout:
    widths = draw(st.lists(st.integers(1, 200), min_size=1, max_size=4))
    return RecordLayout("element", ("punctuation", "last"), tuple((f"f{i}", bits) for i, bits in enumerate(widths)))


@given(layouts(), st.integers(1, 40), st.integers(0, 2**32 - 1), st.integers(0, 2**63))
def test_records_come_back(layout: RecordLayout, rows: int, seed: int, sequence: int) -> None:
    draw = np.random.default_rng(seed)
    values = {name: draw.integers(0, 2, rows).astype(np.uint64) for name in layout.control}
    for name, bits in layout.fields:
        words = draw.integers(0, 2**64, (rows, words_for(bits)), np.uint64)
        values[name] = unpack(pack(rows, [(words, bits)]), 0, bits)
    frames = encode(layout, values, sequence)
    found = decode(layout, frames)
    assert all(np.array_equal(values[name], found.values[name]) for name in values)
    assert [sequence + i for i in range(len(frames))] == found.sequence.tolist()
    assert all(len(frame) <= 1472 or frame[6] == 1 for frame in frames)
    assert bool(values["last"][-1]) == found.ends


@given(st.lists(st.tuples(st.integers(1, 130), st.integers(0, 2**130 - 1)), min_size=1, max_size=8))
def test_packed_values_come_back(columns: list[tuple[int, int]]) -> None:
    limbs = [
        np.array([[value >> 64 * i & 2**64 - 1 for i in range(words_for(bits))]], np.uint64) for bits, value in columns
    ]
    packed = pack(1, [(words, bits) for words, (bits, _) in zip(limbs, columns, strict=True)])
    place = 0
    for bits, value in columns:
        found = unpack(packed, place, bits).reshape(1, -1)
        assert value % (1 << bits) == sum(int(word) << 64 * i for i, word in enumerate(found[0]))
        place += bits


@pytest.mark.parametrize("width", [1, 5, 63, 64])
def test_signs(width: int) -> None:
    values = [-(1 << width - 1), -1, 0, (1 << width - 1) - 1]
    packed = np.array([value % (1 << width) for value in values], np.uint64)
    assert values == with_sign(packed, width).tolist()


def some_elements(rows: int = 300) -> Elements:
    draw = np.random.default_rng(1)
    flags = draw.integers(0, 2, rows).astype(np.bool_)
    last = np.zeros(rows, np.bool_)
    last[-1] = True
    data = pack(rows, [(draw.integers(0, 2**62, rows).astype(np.uint64), one.bits) for one in FIELDS])
    return Elements(flags, last, draw.integers(0, 1 << 20, rows).astype(np.uint64), data)


def test_elements_as_datagrams() -> None:
    elements = some_elements()
    frames = element_frames(DESIGN, elements)
    back = elements_of(DESIGN, frames)
    assert np.array_equal(elements.words(DESIGN), back.words(DESIGN))
    # A control byte, 20 bits of time in 3 bytes and a row of 105 bits in 14.
    assert (18, HEADER.size + 80 * 18) == (RecordLayout.of_elements(DESIGN).size, len(frames[0]))
    assert b"WNDR\x01\x00\x50\x00" == frames[0][:8]
    assert [0, 0, 0, 1] == [frame[5] for frame in frames]


def test_results_as_datagrams() -> None:
    draw = np.random.default_rng(2)
    bits = 1 + 1 + 1 + 20 + 41 + DESIGN.queries[0].results.bits
    words = pack(90, [(draw.integers(0, 2**64, (90, words_for(bits)), np.uint64), bits)])
    assert np.array_equal(words, results_of(DESIGN, result_frames(DESIGN, words)))
    assert [] == result_frames(DESIGN, words[:0])


def test_lost_frames_are_known_by_their_numbers() -> None:
    layout = RecordLayout.of_elements(DESIGN)
    frames = element_frames(DESIGN, some_elements(), sequence=40)
    assert (0, 1) == (decode(layout, frames).lost, decode(layout, [frames[0], *frames[2:]]).lost)
    assert (0, False) == (decode(layout, []).lost, decode(layout, frames[:2]).ends)


BROKEN: dict[str, tuple[Any, str]] = {
    "short": (lambda frame: frame[:10], r"it has 10 bytes, less than a header"),
    "magic": (lambda frame: b"WNDX" + frame[4:], r"it begins with b'WNDX', version 1"),
    "version": (lambda frame: frame[:4] + b"\x02" + frame[5:], r"it begins with b'WNDR', version 2"),
    "schema": (lambda frame: frame[:8] + b"\0\0\0\0" + frame[12:], r"its records are of schema 0x00000000, not of 0x"),
    "length": (lambda frame: frame[:-1], r"it has 1459 bytes, and 80 records of 18 bytes were said"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_frames_are_refused(name: str) -> None:
    change, why = BROKEN[name]
    frames = element_frames(DESIGN, some_elements())
    message = rf"\A`frame 1` must be one of Windrow's, version 1, got {why}.*\. Hint: sender and receiver need the map"
    with pytest.raises(DataError, match=message):
        elements_of(DESIGN, [frames[0], change(frames[1])])
