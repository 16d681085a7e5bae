"""A column of numbers as blocks of bytes that never change.

A block is coded as what makes it smallest: one value, distances from the least, differences, differences of
differences, a dictionary, runs, floats as decimal fractions first, or raw. All blocks lie in one buffer; what is true
of each (its rows, least, greatest, kind) stands in arrays beside it, about 35 bytes a block. Neighbouring blocks of
one and the same value are one block, however long.

Kernels are imported by what calls them: many a query keeps no rows, and need not wait for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.errors import InternalError, QueryError
from windrow.operators.compression.saved_blocks import MOST_ROWS, Header, from_table, starts_of, to_table
from windrow.operators.kernels.compression.plans import CHANGE, CONSTANT, DECIMALS, PAD, RAW, new_plan

_WORDS = np.dtype(np.uint64)
_DTYPES = tuple(np.dtype(name) for name in ("int64", "int32", "uint8", "bool", "float64"))
_CHANGES = ("reference", "delta", "delta of delta", "dictionary", "runs", "constant", "raw", "planes")

LARGER = 2.0
"""How many times as large planes may be; beyond that columns stay as small as they can be, and are read when folded."""

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[Any] | slice


class Nature(Enum):
    """What the integers of a column are, which says how they may become small."""

    INTEGERS = "integers"
    FLOAT_KEYS = "float keys"
    """Order keys of floats, as `state/keys.py` gives them."""
    FLOAT_BITS = "float bits"
    """Floats, or their bits: least and greatest are those of their order keys."""


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """`size` values of type `dtype` in blocks; rows from `starts[b]` to `starts[b + 1]` are in block `b`.

    `leasts` and `greatests` are true bounds of each block; of one that was cut by a slice, bounds of what it was.

    >>> times = CodedColumn.of(np.arange(0, 4_000_000, 1000))
    >>> times.size, times.nbytes < 400, times.part(2, 4).tolist(), times.search(5000)
    (4000, True, [2000, 3000], 5)
    """

    dtype: np.dtype[Any]
    nature: Nature
    block_rows: int
    data: Bytes
    starts: Integers
    offsets: Integers
    leasts: Integers
    greatests: Integers
    block_kinds: Bytes
    skips: npt.NDArray[np.uint16]

    @staticmethod
    def of(
        values: npt.NDArray[Any] | Sequence[int],
        nature: Nature = Nature.INTEGERS,
        *,
        block_rows: int = 1024,
        folded: bool = False,
        most: float = LARGER,
        plan: Integers | None = None,
    ) -> CodedColumn:
        """Code a column; floats are coded as floats whatever their nature is said to be.

        One that is to be `folded` has blocks in planes where these are at most so many times as large as at best. A
        `plan` is what was decided for columns like it, which need not be found out again; it goes on with this one.
        """
        array = np.ascontiguousarray(values)
        _check(array, block_rows)
        if array.dtype == np.float64 or nature is Nature.FLOAT_BITS:
            from windrow.operators.kernels.compression.decimals import flip_all

            nature = Nature.FLOAT_BITS
            words = np.empty(len(array), np.int64)
            flip_all(array.view(np.int64), words)
        else:
            words = np.require(array, np.int64, ["C", "W"])
        return _coded(words.view(np.uint64), array.dtype, nature, block_rows, int(16 * most) * folded, plan)

    @property
    def size(self) -> int:
        return int(self.starts[-1])

    def __len__(self) -> int:
        return self.size

    @property
    def nbytes(self) -> int:
        """Bytes held, headers and all; slices hold the bytes they share."""
        arrays = self.starts, self.offsets, self.leasts, self.greatests, self.block_kinds, self.skips
        return self.data.nbytes + sum(array.nbytes for array in arrays)

    @cached_property
    def blocks(self) -> Integers:
        """What folding wants to know of each block."""
        from windrow.operators.kernels.planes.directory import new_directory

        headers = self.starts, self.offsets, self.leasts, self.greatests, self.block_kinds, self.skips
        blocks: Integers = new_directory(self.data, self.nature is not Nature.INTEGERS, *headers)
        return blocks

    # Reading

    def read(self) -> npt.NDArray[Any]:
        """All values, as they were."""
        return self.part(0, self.size)

    def part(self, start: int, stop: int) -> npt.NDArray[Any]:
        """The values of the rows from `start` to `stop`; only the blocks they are in are read."""
        start, stop, _ = slice(start, stop).indices(self.size)
        return self._as_given(self._words(start, max(start, stop), as_bits=self._is_bits))

    def take(self, rows: Rows) -> npt.NDArray[Any]:
        """The values at places in any order, where a mask is true, or of a slice."""
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.size)
            if step == 1:
                return self.part(start, stop)
            rows = np.arange(start, stop, step)
        elif rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        return self._as_given(self._taken(_places(rows, self.size)))

    def _words(self, start: int, stop: int, *, as_bits: bool = False) -> Integers:
        """The integers that are coded; those of floats `as_bits` or as keys."""
        from windrow.operators.kernels.compression.columns import read_column

        words = np.empty(stop - start, np.uint64)
        if stop > start:
            arrays = self.starts, self.offsets, self.leasts, self.block_kinds, self.skips
            if not read_column(self.data, *arrays, self.block_rows, as_bits, start, stop, words):
                raise damaged()
        return words.view(np.int64)

    def _taken(self, rows: Integers) -> Integers:
        from windrow.operators.kernels.compression.columns import take_rows

        words = np.empty(len(rows), np.uint64)
        if len(rows):
            blocks = self.starts.searchsorted(rows, side="right")
            ordered = bool((blocks[1:] >= blocks[:-1]).all())
            order = np.arange(len(rows)) if ordered else blocks.argsort(kind="stable")
            arrays = self.starts, self.offsets, self.leasts, self.block_kinds, self.skips
            if not take_rows(self.data, *arrays, self.block_rows, self._is_bits, rows, order, words):
                raise damaged()
        return words.view(np.int64)

    @property
    def _is_bits(self) -> bool:
        return self.nature is Nature.FLOAT_BITS

    def _as_given(self, words: Integers) -> npt.NDArray[Any]:
        """Integers or bits as what was coded."""
        return words.view(self.dtype) if self.dtype.itemsize == 8 else words.astype(self.dtype)

    # Bounds

    @cached_property
    def _bounds(self) -> tuple[int, int]:
        if self.size == 0:
            raise InternalError("a column without values has no least one")
        cut = self._cut_blocks()
        leasts, greatests = self.leasts.copy(), self.greatests.copy()
        for block in np.flatnonzero(cut):
            values = self._words(int(self.starts[block]), int(self.starts[block + 1]))
            leasts[block], greatests[block] = values.min(), values.max()
        return int(leasts.min()), int(greatests.max())

    def _cut_blocks(self) -> npt.NDArray[np.bool_]:
        """Blocks of which a slice left only some rows."""
        visible = np.diff(self.starts)
        kinds = self.block_kinds & CHANGE
        at = self.offsets[:-1]
        coded = self.data[at].astype(np.int64) + self.data[at + 1].astype(np.int64) * 256 + 1
        coded = np.where(kinds == RAW, np.diff(self.offsets) // 8, coded)
        cut: npt.NDArray[np.bool_] = (kinds != CONSTANT) & (coded != visible)
        return cut

    @property
    def least(self) -> int:
        """The least of the values; there must be one."""
        return self._bounds[0]

    @property
    def greatest(self) -> int:
        return self._bounds[1]

    def search(self, value: int, side: str = "left") -> int:
        """Where a value would go into sorted values: before those equal to it, or behind them (`right`)."""
        beyond = self.greatests > value if side == "right" else self.greatests >= value
        for block in np.flatnonzero(beyond):
            start, stop = int(self.starts[block]), int(self.starts[block + 1])
            if self.block_kinds[block] == CONSTANT:
                return start
            values = self._words(start, stop)
            place = start + int(values.searchsorted(value, side="right" if side == "right" else "left"))
            if place < stop:
                return place
        return self.size

    # Slices and joins

    def slice(self, start: int, stop: int) -> CodedColumn:
        """Some rows as a column that shares the bytes; where half of them are not its own, it takes its own along."""
        start, stop, _ = slice(start, stop).indices(self.size)
        if stop <= start:
            return CodedColumn.of(np.empty(0, self.dtype), self.nature, block_rows=self.block_rows)
        first = int(self.starts.searchsorted(start, side="right")) - 1
        last = int(self.starts.searchsorted(stop, side="left"))
        chosen = slice(first, last)
        starts = np.clip(self.starts[first : last + 1], start, stop) - start
        kinds, skips = self.block_kinds[chosen], self.skips[chosen].copy()
        if kinds[0] != CONSTANT:
            skips[0] += start - int(self.starts[first])
        data, offsets = self.data, self.offsets[first : last + 1].copy()
        if 2 * (offsets[-1] - offsets[0] + PAD) <= len(data):
            data = _padded([data[offsets[0] : offsets[-1]]])
            offsets -= offsets[0]
        return self._with(
            data, starts, offsets, self.leasts[chosen].copy(), self.greatests[chosen].copy(), kinds.copy(), skips
        )

    def with_bytes(self, first: int, last: int, content: Bytes) -> CodedColumn:
        """The blocks from `first` to `last`, with their bytes, which are kept elsewhere."""
        chosen = slice(first, last)
        return self._with(
            _padded([content]),
            self.starts[first : last + 1] - self.starts[first],
            self.offsets[first : last + 1] - self.offsets[first],
            self.leasts[chosen],
            self.greatests[chosen],
            self.block_kinds[chosen],
            self.skips[chosen],
        )

    @staticmethod
    def joined(columns: Sequence[CodedColumn]) -> CodedColumn:
        """The values of columns one after the other, of one type and nature; the bytes of blocks go as they are."""
        full = [column for column in columns if column.size] or list(columns[:1])
        if len(full) == 1:
            return full[0]
        if len({(column.dtype, column.nature) for column in full}) != 1:
            raise InternalError("coded columns of different types cannot be joined")
        sizes = np.cumsum([0] + [column.size for column in full])
        used = [column.data[column.offsets[0] : column.offsets[-1]] for column in full]
        shifts = np.cumsum([0] + [len(part) for part in used])
        starts = [column.starts[:-1] + size for column, size in zip(full, sizes[:-1], strict=True)]
        offsets = [c.offsets[:-1] - c.offsets[0] + shift for c, shift in zip(full, shifts[:-1], strict=True)]
        kinds = np.concatenate([column.block_kinds for column in full])
        leasts = np.concatenate([column.leasts for column in full])
        keep = np.ones(len(kinds), np.bool_)  # neighbours of one value become one block
        keep[1:] = (kinds[1:] != CONSTANT) | (kinds[:-1] != CONSTANT) | (leasts[1:] != leasts[:-1])
        return full[0]._with(
            _padded(used),
            np.append(np.concatenate(starts)[keep], sizes[-1]),
            np.append(np.concatenate(offsets)[keep], shifts[-1]),
            leasts[keep],
            np.concatenate([column.greatests for column in full])[keep],
            kinds[keep],
            np.concatenate([column.skips for column in full])[keep],
            max(column.block_rows for column in full),
        )

    def _with(
        self,
        data: Bytes,
        starts: Integers,
        offsets: Integers,
        leasts: Integers,
        greatests: Integers,
        kinds: Bytes,
        skips: npt.NDArray[np.uint16],
        block_rows: int | None = None,
    ) -> CodedColumn:
        rows = block_rows or self.block_rows
        return CodedColumn(self.dtype, self.nature, rows, data, starts, offsets, leasts, greatests, kinds, skips)

    # Saving

    def table(self) -> pa.Table:
        """The blocks as they are, one row each."""
        header: Header = {
            "rows": np.diff(self.starts),
            "skip": self.skips,
            "kind": self.block_kinds,
            "least": self.leasts,
            "greatest": self.greatests,
            "offsets": self.offsets,
        }
        return to_table(header, self.data, (self.dtype.name, self.nature.value, self.block_rows))

    @staticmethod
    def of_table(table: pa.Table) -> CodedColumn:
        """The column that `table` gave; one that cannot be a column is refused."""
        header, data, (dtype, nature, block_rows) = from_table(table)
        return CodedColumn(
            np.dtype(dtype),
            Nature(nature),
            block_rows,
            _padded([data]),
            starts_of(header["rows"]),
            header["offsets"],
            header["least"],
            header["greatest"],
            header["kind"],
            header["skip"],
        )

    def kinds(self) -> dict[str, int]:
        """How many blocks there are of each kind.

        >>> CodedColumn.of(np.array([0.25, 1.5, 1.75])).kinds()
        {'decimals, reference': 1}
        """
        counts: dict[str, int] = {}
        for kind, number in zip(*np.unique(self.block_kinds, return_counts=True), strict=True):
            name = _CHANGES[kind & CHANGE]
            name = f"decimals, {name}" if kind & DECIMALS else name
            counts[name] = counts.get(name, 0) + int(number)
        return counts


def _check(array: npt.NDArray[Any], block_rows: int) -> None:
    if not 1 <= block_rows <= MOST_ROWS:
        raise QueryError(f"must be from 1 to {MOST_ROWS}", parameter="block_rows", value=block_rows)
    if array.ndim != 1 or array.dtype not in _DTYPES:
        shape = f"{array.dtype} of {array.ndim} dimensions"
        names = ", ".join(map(str, _DTYPES))
        raise QueryError(f"must be one-dimensional and one of {names}", parameter="values", value=shape)


def _coded(
    words: npt.NDArray[np.uint64],
    dtype: np.dtype[Any],
    nature: Nature,
    block_rows: int,
    folded: int,
    plan: Integers | None,
) -> CodedColumn:
    from windrow.operators.kernels.compression.columns import write_column

    most = -(-len(words) // block_rows)
    starts, offsets = np.zeros(most + 1, np.int64), np.zeros(most + 1, np.int64)
    leasts, greatests, kinds = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.uint8)
    rows = min(block_rows, len(words))
    data = np.empty(8 * len(words) + 24 * rows + 8192, np.uint8)  # a block is tried before it is known to fit
    floats = nature is not Nature.INTEGERS
    headers = starts, offsets, leasts, greatests, kinds
    blocks = write_column(
        words, block_rows, dtype.itemsize, floats, folded, *headers, data, new_plan() if plan is None else plan
    )
    kept = slice(blocks + 1)
    return CodedColumn(
        dtype,
        nature,
        block_rows,
        _padded([data[: offsets[blocks]]]),
        starts[kept].copy(),
        offsets[kept].copy(),
        leasts[:blocks].copy(),
        greatests[:blocks].copy(),
        kinds[:blocks].copy(),
        np.zeros(blocks, np.uint16),
    )


def _padded(parts: Sequence[Bytes]) -> Bytes:
    """Bytes in one buffer that whole words can be read from up to its end; constant blocks alone have none."""
    return np.concatenate([*parts, np.zeros(PAD if any(map(len, parts)) else 8, np.uint8)])


def _places(rows: npt.NDArray[Any], size: int) -> Integers:
    """Rows as numpy takes them: negative ones count from the end."""
    places = np.require(rows, np.int64, ["C", "W"])
    if len(places) and (int(places.min()) < -size or int(places.max()) >= size):
        raise IndexError(f"a row lies outside of the {size} of a column")
    return np.where(places < 0, places + size, places) if len(places) and places.min() < 0 else places


def damaged() -> InternalError:
    return InternalError("a block of a coded column cannot be read: its bytes have changed since they were checked")
