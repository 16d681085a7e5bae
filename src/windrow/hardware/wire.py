"""Frames for datagrams: what goes into a circuit and comes out of it, so that a board can stand where software does.

A frame has the header of all frames (`windrow.frames.header`) and so many records of one length, their numbers with the
lowest byte first.

A record is a control byte and then its fields, each in whole bytes. The record of an element has the control bits
punctuation (0) and last (1), the time, and the packed row; that of a result has done (0) and nonempty (1), the query,
the end of the window, the key and the parts. A frame holds records of one kind; the schema id says which, and of what
layout.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from windrow.errors import DataError
from windrow.frames.header import ENDS, HEADER, MAGIC, MOST_BYTES, MOST_RECORDS, VERSION
from windrow.hardware.answers import result_places
from windrow.hardware.design import AggregateDesign
from windrow.hardware.feeding import Elements
from windrow.hardware.packing import Words, pack, unpack

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class RecordLayout:
    """Bits of the control byte by name, then fields by name with their bits."""

    kind: str
    control: tuple[str, ...]
    fields: tuple[tuple[str, int], ...]

    @staticmethod
    def of_elements(design: AggregateDesign) -> RecordLayout:
        fields = ("time", design.time_width), ("data", max(design.layout.bits, 1))
        return RecordLayout("element", ("punctuation", "last"), fields)

    @staticmethod
    def of_results(design: AggregateDesign) -> RecordLayout:
        places = result_places(design)
        names = ("query", "end", "key", "parts")
        return RecordLayout("result", ("done", "nonempty"), tuple((name, places[name][1]) for name in names))

    @property
    def places(self) -> dict[str, tuple[int, int]]:
        """The first byte of each field in a record, and how many it has."""
        found, place = {}, 1
        for name, bits in self.fields:
            found[name] = place, -(-bits // 8)
            place += found[name][1]
        return found

    @cached_property
    def size(self) -> int:
        return 1 + sum(-(-bits // 8) for _, bits in self.fields)

    @cached_property
    def schema_id(self) -> int:
        """A number that two layouts hardly ever share."""
        return zlib.crc32(json.dumps([self.kind, self.control, self.fields]).encode())

    @property
    def most_records(self) -> int:
        """How many fit into a datagram, one at least."""
        return max(1, min((MOST_BYTES - HEADER.size) // self.size, MOST_RECORDS))


def encode(layout: RecordLayout, values: Mapping[str, Words | npt.NDArray[np.bool_]], sequence: int = 0) -> list[bytes]:
    """Records as frames, of which the first has this sequence number; `values` has a column for each name."""
    rows = len(next(iter(values.values())))
    records = _records(layout, values, rows)
    frames = []
    starts = range(0, rows, layout.most_records)
    for number, start in enumerate(starts):
        piece = records[start : start + layout.most_records]
        flags = ENDS if number == len(starts) - 1 and _ends(layout, values) else 0
        header = HEADER.pack(MAGIC, VERSION, flags, len(piece), layout.schema_id, sequence + number)
        frames.append(header + piece.tobytes())
    return frames


def _ends(layout: RecordLayout, values: Mapping[str, Words | npt.NDArray[np.bool_]]) -> bool:
    return bool(values["last" if layout.kind == "element" else "done"][-1])


def _records(layout: RecordLayout, values: Mapping[str, Words | npt.NDArray[np.bool_]], rows: int) -> Bytes:
    records = np.zeros((rows, layout.size), np.uint8)
    for bit, name in enumerate(layout.control):
        records[:, 0] |= np.asarray(values[name]).astype(np.uint8) << np.uint8(bit)
    for name, (place, size) in layout.places.items():
        words = np.ascontiguousarray(values[name], dtype="<u8").reshape(rows, -1)
        records[:, place : place + size] = words.view(np.uint8)[:, :size]
    return records


@dataclass(frozen=True)
class Decoded:
    """The records of frames, a column for each name, and the sequence number of each frame."""

    values: dict[str, Words]
    sequence: npt.NDArray[np.uint64]
    ends: bool

    @property
    def lost(self) -> int:
        """Frames that are missing among these, by their numbers."""
        if len(self.sequence) == 0:
            return 0
        seen = np.unique(self.sequence)
        return int(seen[-1] - seen[0]) + 1 - len(seen)


def decode(layout: RecordLayout, frames: Iterable[bytes]) -> Decoded:
    """Frames as records, in the order in which they came; a frame of another layout, or a broken one, is refused."""
    bodies, numbers, ends = list[Bytes](), list[int](), False
    for body, number, last in _bodies(layout, frames):
        bodies.append(body)
        numbers.append(number)
        ends |= last
    records = np.concatenate([np.zeros((0, layout.size), np.uint8), *bodies])
    values: dict[str, Words] = {
        name: (records[:, 0] >> np.uint8(bit) & np.uint8(1)).astype(np.uint64)
        for bit, name in enumerate(layout.control)
    }
    for name, bits in layout.fields:
        place, size = layout.places[name]
        padded = np.zeros((len(records), -(-size // 8) * 8), np.uint8)
        padded[:, :size] = records[:, place : place + size]
        values[name] = unpack(padded.view("<u8").astype(np.uint64), 0, bits)
    return Decoded(values, np.array(numbers, np.uint64), ends)


def _bodies(layout: RecordLayout, frames: Iterable[bytes]) -> Iterator[tuple[Bytes, int, bool]]:
    for place, frame in enumerate(frames):
        if len(frame) < HEADER.size:
            raise _broken(place, f"it has {len(frame)} bytes, less than a header")
        magic, version, flags, count, schema_id, number = HEADER.unpack_from(frame)
        if magic != MAGIC or version != VERSION:
            raise _broken(place, f"it begins with {magic!r}, version {version}")
        if schema_id != layout.schema_id:
            raise _broken(place, f"its records are of schema {schema_id:#010x}, not of {layout.schema_id:#010x}")
        if len(frame) != HEADER.size + count * layout.size:
            raise _broken(place, f"it has {len(frame)} bytes, and {count} records of {layout.size} bytes were said")
        body = np.frombuffer(frame, np.uint8, offset=HEADER.size).reshape(count, layout.size)
        yield body, number, bool(flags & ENDS)


def _broken(place: int, why: str) -> DataError:
    return DataError(
        f"must be one of Windrow's, version {VERSION}",
        parameter=f"frame {place}",
        value=why,
        hint="sender and receiver need the map (.json) of the same circuit",
    )


def element_frames(design: AggregateDesign, elements: Elements, sequence: int = 0) -> list[bytes]:
    """What goes into a circuit, as datagrams."""
    values: dict[str, Words | npt.NDArray[np.bool_]] = {
        "punctuation": elements.punctuation,
        "last": elements.last,
        "time": elements.time,
        "data": elements.data,
    }
    return encode(RecordLayout.of_elements(design), values, sequence)


def elements_of(design: AggregateDesign, frames: Iterable[bytes]) -> Elements:
    """The same back."""
    found = decode(RecordLayout.of_elements(design), frames).values
    data = found["data"].reshape(len(found["time"]), -1)
    return Elements(found["punctuation"].astype(np.bool_), found["last"].astype(np.bool_), found["time"], data)


def result_frames(design: AggregateDesign, results: Words, sequence: int = 0) -> list[bytes]:
    """What came out of a circuit, as datagrams."""
    values: dict[str, Words | npt.NDArray[np.bool_]] = {
        name: unpack(results, *place) for name, place in result_places(design).items()
    }
    return encode(RecordLayout.of_results(design), values, sequence) if len(results) else []


def results_of(design: AggregateDesign, frames: Iterable[bytes]) -> Words:
    """The same back, as `answers.answer_of` reads them."""
    found = decode(RecordLayout.of_results(design), frames).values
    widths = {name: width for name, (_, width) in result_places(design).items()}
    return pack(len(found["done"]), [(found[name], width) for name, width in widths.items()])
