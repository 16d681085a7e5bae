"""Frames taken apart: every type comes back, numbers are followed, what is none of ours is counted, harming nothing."""

from __future__ import annotations

import random
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sources.datagrams.inboxes import Reader, lay
from windrow.errors import DataError
from windrow.frames.header import ENDS, HEADER, MAGIC
from windrow.frames.packing import Datagrams, Packer
from windrow.frames.tuples import TupleLayout
from windrow.sources.base import Sign

COLUMNS: dict[str, pa.DataType] = {"k": pa.string(), "x": pa.int64(), "t": pa.int64()}
SCHEMA = pa.schema(COLUMNS)
TYPES = "s4,i4,i8"
ENCODED = pa.dictionary(pa.int32(), pa.string())
UTC = timezone.utc
SECONDS = st.datetimes(datetime(1970, 1, 1), datetime(2038, 1, 1)).map(lambda one: one.replace(microsecond=0))


def _integers(bits: int, *, signed: bool) -> st.SearchStrategy[int]:
    low = -(2 ** (bits - 1)) if signed else 0
    return st.integers(low, low + 2**bits - 1)


KINDS: dict[str, tuple[pa.DataType, str, st.SearchStrategy[Any]]] = {
    **{f"i{n}": (getattr(pa, f"int{8 * n}")(), f"i{n}", _integers(8 * n, signed=True)) for n in (1, 2, 4, 8)},
    **{f"u{n}": (getattr(pa, f"uint{8 * n}")(), f"u{n}", _integers(8 * n, signed=False)) for n in (1, 2, 4, 8)},
    "narrow": (pa.int64(), "i2", st.integers(-(2**15), 2**15 - 1)),
    "unsigned": (pa.int64(), "u4", st.integers(0, 2**32 - 1)),
    "f4": (pa.float32(), "f4", st.floats(width=32, allow_nan=False)),
    "f8": (pa.float64(), "f8", st.floats(allow_nan=False)),
    "narrow float": (pa.float64(), "f4", st.floats(width=32, allow_nan=False)),
    "bool": (pa.bool_(), "b1", st.booleans()),
    "date": (pa.date32(), "d4", st.dates()),
    "time": (pa.timestamp("us", "UTC"), "t8us", st.datetimes(timezones=st.just(UTC))),
    "seconds": (pa.timestamp("us"), "t4s", SECONDS),
    "decimal": (pa.decimal128(20, 2), "n16(20.2)", st.decimals(-(10**10), 10**10, places=2)),
    "text": (pa.string(), "s4", st.text("abcä", max_size=2)),
    "odd text": (pa.string(), "s3", st.text("abc", max_size=3)),
    "long text": (pa.string(), "s40", st.text("abcdefü", max_size=20)),
    "bytes": (pa.binary(3), "x3", st.binary(min_size=3, max_size=3)),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.RecordBatch, str]:
    """Rows of some columns, with NULLs in some of them, and their codes."""
    chosen = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=10))
    rows = draw(st.integers(1, 30))
    arrays, codes = [], []
    for name in chosen:
        kind, code, values = KINDS[name]
        one = st.none() | values if draw(st.booleans()) else values
        arrays.append(pa.array(draw(st.lists(one, min_size=rows, max_size=rows)), kind))
        codes.append(code)
    return pa.RecordBatch.from_arrays(arrays, [f"c{i}" for i in range(len(chosen))]), ",".join(codes)


@settings(max_examples=150, deadline=None)
@given(tables(), st.booleans(), st.booleans(), st.data())
def test_rows_of_every_type_come_back(
    made: tuple[pa.RecordBatch, str], big: bool, numbered: bool, data: st.DataObject
) -> None:
    batch, types = made
    packer = Packer(TupleLayout.of(batch.schema, types), big=big, numbered=numbered, most_bytes=300)
    reader = Reader(batch.schema, types, big=big)
    cut = data.draw(st.integers(0, batch.num_rows))
    reader.read(packer.rows(batch.slice(0, cut)), packer.rows(batch.slice(cut)), packer.end())
    assert batch.to_pylist() == reader.rows
    assert Sign.END is reader.given[-1]
    assert 0 == reader.reading.missing


@settings(max_examples=50, deadline=None)
@given(tables(), st.booleans())
def test_bare_rows_come_back(made: tuple[pa.RecordBatch, str], big: bool) -> None:
    batch, types = made
    packer = Packer(TupleLayout.of(batch.schema, types), header=False, big=big, most_bytes=300)
    if any(column.null_count for column in batch.columns):
        with pytest.raises(DataError, match=r"\A`c\d` must have no NULL in bare rows"):
            packer.rows(batch)
        return
    reader = Reader(batch.schema, types, header=False, big=big)
    reader.read(packer.rows(batch), packer.end())
    assert batch.to_pylist() == reader.rows
    assert Sign.END is reader.given[-1]


def batch_of(*columns: Any) -> pa.RecordBatch:
    return pa.record_batch(list(columns), schema=SCHEMA)


def rows(count: int, first: int = 0) -> pa.RecordBatch:
    texts = [f"{i % 7}" for i in range(first, first + count)]
    return batch_of(texts, range(first, first + count), range(first, first + count))


def packer(**settings: Any) -> Packer:
    return Packer(TupleLayout.of(SCHEMA, TYPES), **{"most_bytes": 20 + 16 * 4, **settings})


def test_datagrams_that_came_together_are_cut_apart() -> None:
    frames = packer().rows(rows(18))
    reader = Reader(SCHEMA, TYPES)
    reader.read(frames.data.tobytes(), segments=[frames.size])
    assert rows(18).to_pylist() == reader.rows
    bare = packer(header=False).rows(rows(18))
    reader = Reader(SCHEMA, TYPES, header=False)
    reader.read(bare.data.tobytes(), segments=[bare.size])
    assert rows(18).to_pylist() == reader.rows


def test_only_the_columns_that_are_wanted_are_gathered() -> None:
    reader = Reader(SCHEMA, TYPES)
    reader.schema = pa.schema([("t", pa.int64()), ("k", ENCODED)])
    reader.reading = type(reader.reading)(reader.layout, reader.schema, header=True, big=False, ends=True)
    reader.read(packer().rows(rows(5)))
    assert [{"t": i, "k": str(i)} for i in range(5)] == reader.rows


def test_blocks_are_left_when_they_are_full_and_codes_begin_anew_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("windrow.sources.datagrams.records._MOST_TEXTS", 50)
    reader = Reader(SCHEMA, TYPES)
    reader.reading.gatherer.capacity = 64
    reader.reading.gatherer._begin()
    sending, whole = packer(), batch_of([f"{i:x}" for i in range(3000)], range(3000), range(3000))
    for start in range(0, 3000, 40):
        reader.read(sending.rows(whole.slice(start, 40)))
    assert whole.to_pylist() == reader.rows


def test_promises_stand_between_the_rows_around_them() -> None:
    for big in (False, True):
        sending, reader = packer(big=big), Reader(SCHEMA, TYPES, big=big)
        reader.read(sending.rows(rows(3)), sending.punctuation(-5, 7), sending.rows(rows(2)))
        assert [3, -5, 7, 2] == reader.given


def test_the_end_may_be_said_again_and_passed_over() -> None:
    sending, reader = packer(), Reader(SCHEMA, TYPES, ends=False)
    reader.read(sending.rows(rows(3)), sending.end(), sending.end(), sending.rows(rows(1)))
    assert [3, 1] == reader.given
    reader = Reader(SCHEMA, TYPES)
    reader.read(packer().end())
    assert [Sign.END] == reader.given


def test_the_stream_ends_when_all_senders_said_so() -> None:
    one, other, reader = packer(), packer(), Reader(SCHEMA, TYPES)
    reader.read(*one.rows(rows(4)).each(), *other.rows(rows(4)).each(), ports=[1, 2])
    reader.read(one.end(), ports=[1])
    assert [8] == reader.given
    reader.read(other.end(), ports=[2])
    assert [8, Sign.END] == reader.given


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"", "it is no frame of Windrow's, version 1"),
        (b"WNDR", "it is no frame of Windrow's, version 1"),
        (b"X" * 60, "it is no frame of Windrow's, version 1"),
        (HEADER.pack(MAGIC, 2, 0, 0, 0, 0), "it is no frame of Windrow's, version 1"),
        (HEADER.pack(MAGIC, 1, 128, 0, 0, 0), "it has flags that nobody knows (128)"),
        (HEADER.pack(MAGIC, 1, 0, 0, 7, 0), "its rows are of schema 0x00000007, not of {} (k s4;x i4;t i8)"),
        ("cut", "it has 83 bytes, which is not what its 4 records take"),
        ("long", "it has 85 bytes, which is not what its 4 records take"),
        ("big", "its numbers have the other byte order: say order=big"),
        ("twice", "frame 0 came before"),
    ],
)
def test_what_is_no_frame_of_the_stream_says_why(frame: str | bytes, reason: str) -> None:
    good = packer().rows(rows(4)).each()[0]
    made = {"cut": good[:-1], "long": good + b"\0", "big": packer(big=True).rows(rows(4)).each()[0], "twice": good}
    sent = made[frame] if isinstance(frame, str) else frame
    reader = Reader(SCHEMA, TYPES)
    first, second = packer().rows(rows(8)).each()
    reader.read(first, sent, second)
    assert [4, reason.format(f"{reader.layout.schema_id:#010x}"), 4] == reader.given


def test_what_is_no_whole_number_of_bare_rows_says_why() -> None:
    reader = Reader(SCHEMA, TYPES, header=False)
    reader.read(b"\0" * 32, b"\0" * 17, b"\0" * 16)
    assert [2, "its 17 bytes are no whole number of rows of 16 bytes", 1] == reader.given


def test_a_reject_names_its_sender_and_its_number() -> None:
    reader = Reader(SCHEMA, TYPES)
    frames = packer().rows(rows(12))
    bad = frames.data.copy()
    bad[frames.size] = 0
    lay(reader.inbox, [b"none", bad.tobytes()], segments=[0, frames.size], ports=[9, 4711])
    items: list[Any] = [item for item, _ in reader.reading.items(reader.inbox, 2) if isinstance(item, list)]
    assert ("127.0.0.1:9", 0, b"none") == (items[0][0].place, items[0][0].offset, items[0][0].payload)
    assert ("127.0.0.1:4711", 2) == (items[-1][0].place, items[-1][0].offset)


def numbers(*order: int) -> tuple[int, int, list[Any]]:
    """Of frames that came in this order: how many are missing, how many rows came, and what came twice."""
    frames = packer().rows(rows(4 * (max(order) + 1))).each()
    reader = Reader(SCHEMA, TYPES)
    reader.read(*(frames[number] for number in order))
    return reader.reading.missing, len(reader.rows), [one for one in reader.given if isinstance(one, str)]


def test_gaps_are_counted_and_filled_again_by_what_was_overtaken() -> None:
    assert (0, 16, []) == numbers(0, 1, 2, 3)
    assert (2, 12, []) == numbers(0, 3, 4)
    assert (0, 16, []) == numbers(0, 3, 1, 2)
    assert (0, 16, ["frame 1 came before", "frame 3 came before"]) == numbers(0, 3, 1, 1, 2, 3)
    assert (0, 8, []) == numbers(7, 8)


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_followed_as_sets_would(seed: int) -> None:
    draw = random.Random(seed)
    order = sorted(range(300), key=lambda number: number + draw.uniform(0, 40))
    came = [number for number in order if draw.random() > 0.2]
    came += [draw.choice(came) for _ in range(30)]
    missing, count, twice = numbers(*came)
    assert max(came) - came[0] + 1 - len({one for one in came if one >= came[0]}) == missing + sum(
        one < came[0] for one in set(came)
    )
    assert 4 * len(set(came)) == count
    assert len(came) - len(set(came)) == len(twice)


def test_senders_have_numbers_of_their_own_and_a_new_beginning_is_no_loss() -> None:
    sending, other, reader = packer(), packer(), Reader(SCHEMA, TYPES)
    sending.number = 5_000_000
    reader.read(*sending.rows(rows(8)).each(), *other.rows(rows(8)).each(), ports=[1, 1, 2, 2])
    assert 0 == reader.reading.missing
    restarted = packer()  # from the same port, far behind the numbers before
    reader.read(*restarted.rows(rows(8)).each(), ports=[1, 1])
    assert 0 == reader.reading.missing
    assert 24 == len(reader.rows)


def test_of_senders_that_are_forgotten_what_was_missing_is_remembered() -> None:
    reader = Reader(SCHEMA, TYPES)
    for port in range(1, 601):
        frames = packer().rows(rows(12)).each()
        reader.read(frames[0], frames[2], ports=[port, port])
    assert 600 == reader.reading.missing
    assert 600 * 8 == len(reader.rows)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=120), max_size=20), st.integers(0, 2**32 - 1), st.booleans())
def test_garbage_is_counted_and_harms_nothing(garbage: list[bytes], seed: int, header: bool) -> None:
    draw = random.Random(seed)
    frames = packer(header=header).rows(rows(40)).each()
    broken = []
    for frame in frames[:6]:
        bent = bytearray(frame)
        for _ in range(draw.randint(1, 3)):
            bent[draw.randrange(len(bent))] ^= 1 << draw.randrange(8)
        broken.append(bytes(bent[: draw.randrange(len(bent) + 1)]))
    sent = [*garbage, *broken, *frames]
    draw.shuffle(sent)
    reader = Reader(SCHEMA, TYPES, header=header, ends=False)
    step = draw.randint(1, 64)
    reader.read(*sent, segments=[draw.choice([0, step]) for _ in sent])
    assert all(isinstance(one, (int, str)) for one in reader.given)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=60).filter(lambda one: not one.startswith(MAGIC)), max_size=10))
def test_every_datagram_is_a_row_or_a_reject(garbage: list[bytes]) -> None:
    frames = packer().rows(rows(40)).each()
    sent = [*garbage, *frames]
    random.Random(len(sent)).shuffle(sent)
    reader = Reader(SCHEMA, TYPES)
    reader.read(*sent)
    assert 40 == len(reader.rows)
    assert len(garbage) == sum(isinstance(one, str) for one in reader.given)


def test_many_tiny_frames_in_one_message_fill_the_list_of_spans_more_than_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.sources.datagrams.readings._SPANS", 8)
    sending, reader = packer(most_bytes=36), Reader(SCHEMA, TYPES)
    frames = sending.rows(rows(100))
    reader.read(frames.data.tobytes(), segments=[frames.size])
    assert rows(100).to_pylist() == reader.rows


def test_the_last_frame_may_have_rows_and_end() -> None:
    frame = bytearray(packer().rows(rows(2)).each()[0])
    frame[5] |= ENDS
    reader = Reader(SCHEMA, TYPES)
    reader.read(bytes(frame))
    assert [2, Sign.END] == reader.given


def test_values_that_do_not_fit_the_wire_are_refused() -> None:
    large = batch_of(["a"], [1 << 40], [0])
    with pytest.raises(DataError, match=r"\A`x` must fit into 4 bytes on the wire, got 1099511627776\. Hint: give it"):
        packer().rows(large)
    long = batch_of(["abcde"], [1], [0])
    with pytest.raises(DataError, match=r"\A`k` must have at most 4 bytes on the wire, got abcde\. Hint: give it more"):
        packer().rows(long)


def test_text_that_is_none_is_shown_in_escapes() -> None:
    layout = TupleLayout.of(pa.schema([("k", pa.string())]), "s4")
    for width in ("s4", "s5"):
        reader = Reader(pa.schema([("k", pa.string())]), width, header=False)
        reader.read(b"\xffab".ljust(int(width[1]), b"\0"))
        assert [{"k": "\\xffab"}] == reader.rows
    assert 4 == layout.size


def test_decimals_of_slices_are_packed_from_their_place() -> None:
    kind = pa.decimal128(9, 2)
    batch = pa.record_batch({"d": pa.array([Decimal("1.25"), Decimal("-2.50"), None, Decimal("3")], kind)})
    for big in (False, True):
        reader = Reader(batch.schema, big=big)
        reader.read(Packer(TupleLayout.of(batch.schema), big=big).rows(batch.slice(1)))
        assert batch.slice(1).to_pylist() == reader.rows


def test_single_datagrams() -> None:
    assert [b"abc"] == Datagrams.of(b"abc").each()
    assert [b""] == Datagrams.of(b"").each()
    assert 3 == len(Datagrams(np.zeros(25, np.uint8), 10))
