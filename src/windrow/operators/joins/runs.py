"""Rows of one side, sorted so that partners are found: runs, and how probes are laid out to look into them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.arrays import concatenated, spread
from windrow.aggregates.kinds.base import Integers, Numbers
from windrow.operators.joins.encoding import Encoded, Encoder, Probes
from windrow.operators.joins.scales import Scale
from windrow.operators.kernels.joins import index as kernels
from windrow.operators.store.row_block import value_order
from windrow.operators.store.sealed_rows import WholeRows, opened, taken

Codes: TypeAlias = npt.NDArray[np.int32]
Marks: TypeAlias = npt.NDArray[np.uint8]
_NONE: Integers = np.empty(0, np.int64)
_NO_CODES: Codes = np.empty(0, np.int32)
_NO_WORDS: Numbers = np.empty(0, np.uint32)
_UNUSED: Integers = np.zeros(1, np.int64)
_UNUSED_WORD: Numbers = np.zeros(1, np.uint32)
_MOST_BITS = 24
CHUNK = 1 << 17
"""Pairs that are looked at together."""


@dataclass(frozen=True)
class Strips:
    """Values of a band cut into cells about half as wide as the band, so that a probe looks into three of them."""

    scale: Scale
    width: float

    def cells(self, places: Numbers) -> Integers:
        """Numbers of cells; they grow with the value."""
        with np.errstate(all="ignore"):
            cells = np.floor(self.scale.numbers(places) / self.width)
        top = (1 << 31) - 1
        numbers: Integers = np.nan_to_num(np.clip(cells, -top, top - 1), nan=top).astype(np.int64)
        return numbers


def strip_words(cells: Integers) -> npt.NDArray[np.uint32]:
    """A word for each cell, spread over 32 bits; different cells have different ones."""
    words = cells.astype(np.int32).view(np.uint32)
    words = (words ^ (words >> np.uint32(16))) * np.uint32(0x7FEB352D)
    words = (words ^ (words >> np.uint32(15))) * np.uint32(0x846CA68B)
    return words ^ (words >> np.uint32(16))


@dataclass(frozen=True)
class RunLayout:
    """By what the rows of a side are sorted: by word, then by the last band, or by time where there is none.

    Words are those of the equalities. Where there are none, but several bands, the first band's strips serve.
    """

    bands: int
    strips: Strips | None
    has_words: bool

    @staticmethod
    def of(encoder: Encoder) -> RunLayout:
        bands = encoder.bands
        strips = None
        if len(bands) > 1 and not encoder.equalities:
            scale, band = encoder.scales[0], bands[0]
            width = float(band.high) - float(band.low) + (0 if scale.is_float else 1)
            strips = Strips(scale, width / 2 if width > 0 else 1.0)
        return RunLayout(len(bands), strips, bool(encoder.equalities))

    @property
    def down(self) -> Any:
        """How far words are shifted to make groups of 32 bits."""
        return np.uint64(32) if self.has_words else np.uint32(0)

    def words(self, rows: Encoded) -> Numbers:
        if self.strips is not None:
            return strip_words(self.strips.cells(rows.bands[0]))
        return _NO_WORDS if rows.words is None else rows.words


@dataclass(frozen=True)
class Laid:
    """Probes as a run takes them; `owners` are the rows that they are for."""

    owners: Integers
    words: Numbers
    lows: Numbers
    highs: Numbers
    first: Integers
    last: Integers
    other_lows: Numbers
    other_highs: Numbers

    @staticmethod
    def out(probes: Probes, layout: RunLayout, *, sort: bool) -> Laid:
        """Probes of the other side for runs of this layout; sorted, they go through memory as these lie in it."""
        owners = np.arange(len(probes))
        words: Numbers = _NO_WORDS if probes.words is None else probes.words
        if layout.strips is not None:
            owners, words = _spread(probes, layout.strips)
        if sort:
            order = _order(probes.lows[-1][owners]) if layout.bands else np.arange(len(owners))
            order = _grouped(words, order, layout)
            owners, words = owners[order], words[order] if len(words) else words
        is_same = not sort and layout.strips is None
        return Laid(owners, words, *_ends(probes if is_same else probes.take(owners), layout))

    def meeting(self, run: SortedRun) -> tuple[int, int]:
        """Where, of probes in order of time, those begin and end that can meet rows of a run."""
        start = np.searchsorted(self.last, run.span[0], side="left")
        return int(start), int(np.searchsorted(self.first, run.span[1], side="right"))

    def __len__(self) -> int:
        return len(self.owners)


def _ends(probes: Probes, layout: RunLayout) -> tuple[Any, ...]:
    first, last = probes.first, probes.last
    lows, highs = (probes.lows[-1], probes.highs[-1]) if layout.bands else (first, last)
    others = (probes.lows[0], probes.highs[0]) if layout.bands > 1 else (_UNUSED, _UNUSED)
    return lows, highs, first, last, *others


def _spread(probes: Probes, strips: Strips) -> tuple[Integers, Numbers]:
    """A probe for each strip that may hold a partner."""
    start, end = strips.cells(probes.lows[0]), strips.cells(probes.highs[0])
    counts = np.where(probes.lows[0] > probes.highs[0], 0, end - start + 1)
    owners = np.repeat(np.arange(len(probes)), counts)
    return owners, strip_words(spread(start, counts))


@dataclass(frozen=True)
class SortedRun:
    """Sorted rows. `places` are their times (or numbers, by arrival), empty where they are the keys.

    Row i of the run is row `rows[i]` of `payload` and `matched`, which are in order of arrival; `middle` are the
    bands that are neither key nor other. `least` is the smallest time.
    """

    words: Numbers
    keys: Numbers
    places: Integers
    others: Numbers
    middle: tuple[Numbers, ...]
    rows: Codes
    offsets: Codes
    shift: int
    span: tuple[int, int]
    payload: WholeRows | None
    matched: Marks | None
    least: int
    number: int = -1
    """Of a run whose payload is sealed: which of the store's it is, for it is saved under that."""

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def times(self) -> Integers:
        return self.places if len(self.places) else self.keys

    @property
    def nbytes(self) -> int:
        arrays = (self.words, self.keys, self.places, self.others, *self.middle, self.rows, self.offsets)
        marks = 0 if self.matched is None else self.matched.nbytes
        return sum(array.nbytes for array in arrays) + marks + (self.payload.nbytes if self.payload is not None else 0)

    def take(self, kept: Integers, layout: RunLayout) -> SortedRun:
        rows = self.rows[kept]
        marks = None if self.matched is None else self.matched[rows]
        payload = None if self.payload is None else taken(self.payload, rows)
        own = replace(self, payload=payload, matched=marks, number=-1)
        return _indexed(own, kept, layout, np.arange(len(kept), dtype=np.int32))


def sorted_run(
    rows: Encoded, payload: WholeRows | None, matched: Marks | None, least: int, layout: RunLayout
) -> SortedRun:
    """A run of rows; at least one."""
    words, key = layout.words(rows), rows.bands[-1] if layout.bands else rows.times
    order = _grouped(words, _order(key), layout)
    span = int(rows.times.min()), int(rows.times.max())
    places = rows.times if layout.bands else _NONE
    others = rows.bands[0] if layout.bands > 1 else _NONE
    raw = SortedRun(
        words, key, places, others, rows.bands[1:-1], _NO_CODES, _NO_CODES, 0, span, payload, matched, least
    )
    return _indexed(raw, order, layout, order.astype(np.int32))


def _order(keys: Numbers) -> Integers:
    order = np.arange(len(keys))
    if (keys[1:] >= keys[:-1]).all():
        return order
    if keys.dtype != np.int32:
        return value_order(keys)
    raised = (keys ^ np.int32(-(1 << 31))).view(np.uint32)
    found: Integers = kernels.sort_groups(raised, np.uint32(0), order, np.empty_like(order))
    return found


def _grouped(words: Numbers, order: Integers, layout: RunLayout) -> Integers:
    """An order, sorted by group before all."""
    if len(words) == 0:
        return order
    found: Integers = kernels.sort_groups(words, layout.down, order, np.empty_like(order))
    return found


def merged(one: SortedRun, other: SortedRun, layout: RunLayout) -> SortedRun:
    order = np.empty(len(one) + len(other), np.int64)
    kernels.merge_order(one.words, layout.down, one.keys, other.words, other.keys, order)
    payloads = one.payload, other.payload
    both = SortedRun(
        np.concatenate([one.words, other.words]),
        np.concatenate([one.keys, other.keys]),
        np.concatenate([one.places, other.places]),
        np.concatenate([one.others, other.others]),
        tuple(np.concatenate(pair) for pair in zip(one.middle, other.middle, strict=True)),
        np.concatenate([one.rows, other.rows + np.int32(len(one))]),
        _NO_CODES,
        0,
        (min(one.span[0], other.span[0]), max(one.span[1], other.span[1])),
        None if None in payloads else concatenated([opened(payload) for payload in payloads if payload is not None]),
        None if one.matched is None or other.matched is None else np.concatenate([one.matched, other.matched]),
        min(one.least, other.least),
    )
    return _indexed(both, order, layout, both.rows[order])


def _indexed(raw: SortedRun, order: Integers, layout: RunLayout, rows: Codes) -> SortedRun:
    """The rows of `raw` in this order, with where buckets begin."""
    words = raw.words[order] if len(raw.words) else raw.words
    bits = min(max(len(order), 1).bit_length(), _MOST_BITS)
    offsets, shift = _NO_CODES, 32 - bits
    if len(words):
        offsets = np.empty((1 << bits) + 1, np.int32)
        kernels.find_offsets(words, layout.down, shift, offsets)
    places, others = (column[order] if len(column) else column for column in (raw.places, raw.others))
    keys, middle = raw.keys[order], tuple(band[order] for band in raw.middle)
    raw = replace(raw, rows=rows, offsets=offsets, shift=shift)
    return replace(raw, words=words, keys=keys, places=places, others=others, middle=middle)


def matches(run: SortedRun, laid: Laid, layout: RunLayout, start: int, end: int) -> Iterator[tuple[Integers, Integers]]:
    """Pairs of a probing row and a row of the run, at most a chunk at a time; only the `middle` bands are not tried."""
    words = laid.words if len(laid.words) else _UNUSED_WORD
    starts, ends = np.empty(end - start, np.int64), np.empty(end - start, np.int64)
    sought = words, laid.lows, laid.highs, laid.first, laid.last
    index = run.words, run.keys, run.offsets
    kernels.find_starts(sought, index, layout.down, run.shift, run.span, start, starts)
    kernels.find_ends(sought, index, layout.down, start, starts, ends)
    probes = laid.owners, words, laid.first, laid.last, laid.other_lows, laid.other_highs
    rows = run.words, run.places, run.others
    probing, at = 0, -1
    while probing < len(starts):
        mine, theirs = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
        probing, at, found = kernels.scan(
            probes, rows, layout.down, run.span, starts, ends, start, probing, at, mine, theirs
        )
        if found:
            yield mine[:found], theirs[:found]
