"""Datagrams taken apart: headers are checked, numbers followed, and fields of records gathered into columns.

Datagrams lie in one array of bytes, as a socket filled it. A message may hold several of one length, of which the last
may be shorter. What is found is a list of spans, in the order of arrival: stretches of records, promises, the end of a
stream, and datagrams that are none of ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from windrow.operators.kernels.compiled import inlined, kernel

ROWS, PUNCTUATION, END, FOREIGN, SCHEMA, LENGTH, FLAGS, TWICE, PART, ORDER = range(10)
"""What a span is: the last seven are reasons why a datagram was not taken."""
HEADER_BYTES = 20
MAGIC, VERSION = 0x52444E57, 1
ENDS, PUNCTUATES, NULLS, BIG, UNNUMBERED, KNOWN = 1, 2, 4, 8, 16, 31
"""As in `windrow.frames.header`."""
WINDOW = 1 << 16
"""So many numbers back it is known which came."""
FAR = 1 << 32
"""A number so far ahead of the others is no loss but another beginning."""
START, SIZE, COUNT, KIND, SHIFT = range(5)
"""Columns of a span: the first byte, bytes of a record or of the datagram, records, what it is, bytes before fields."""
HIGHEST, MISSING, SEEN, ENDED = range(4)
"""What is kept of a sender: the highest number (-1: none), numbers that are missing, frames that came, whether it
ended."""


@intrinsic
def _load(typing, data, at, like):  # noqa: ARG001  # as Numba asks for them
    """The number of the type of `like` that begins at byte `at`, wherever that is."""
    found = like.dtype

    def make(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(array.data, [arguments[1]])
        typed = builder.bitcast(place, context.get_data_type(found).as_pointer())
        value = builder.load(typed)
        value.align = 1
        return value

    return found(data, types.int64, like), make


load: Any = _load
_SHORT, _WORD, _LONG = np.zeros(0, np.uint16), np.zeros(0, np.uint32), np.zeros(0, np.uint64)


@inlined
def _follow(number, sender, senders, seen):
    """Note a sequence number; whether it came before."""
    state = senders[sender]
    highest = state[HIGHEST]
    bits = seen[sender]
    is_new = highest < 0 or number > highest + FAR or number + WINDOW <= highest
    if is_new or (state[ENDED] and number == 0 and highest > 0):
        bits[:] = 0
        state[HIGHEST] = number
        state[ENDED] = 0
        bits[(number & (WINDOW - 1)) >> 6] |= np.uint64(1) << np.uint64(number & 63)
        state[SEEN] += 1
        return False
    if number > highest:
        ahead = number - highest
        if ahead >= WINDOW:
            bits[:] = 0
        else:
            for passed in range(highest + 1, number):
                bits[(passed & (WINDOW - 1)) >> 6] &= ~(np.uint64(1) << np.uint64(passed & 63))
        bits[(number & (WINDOW - 1)) >> 6] |= np.uint64(1) << np.uint64(number & 63)
        state[MISSING] += ahead - 1
        state[HIGHEST] = number
        state[SEEN] += 1
        return False
    bit = np.uint64(1) << np.uint64(number & 63)
    if bits[(number & (WINDOW - 1)) >> 6] & bit:
        return True
    bits[(number & (WINDOW - 1)) >> 6] |= bit
    state[MISSING] -= 1
    state[SEEN] += 1
    return False


@inlined
def _judge(data, at, size, schema, record, nulls, big):
    """What a frame is: (kind, flags, records, bytes of a record)."""
    if size < HEADER_BYTES or load(data, at, _WORD) != MAGIC or data[at + 4] != VERSION:
        return FOREIGN, 0, 0, 0
    flags = np.int64(data[at + 5])
    count = np.int64(load(data, at + 6, _SHORT))
    if flags & ~KNOWN:
        return FLAGS, flags, 0, 0
    if load(data, at + 8, _WORD) != schema:
        return SCHEMA, flags, 0, 0
    each = np.int64(8)
    kind = PUNCTUATION
    if not flags & PUNCTUATES:
        each = record + (nulls if flags & NULLS else 0)
        kind = ROWS
    if HEADER_BYTES + count * each != size:
        return LENGTH, flags, 0, 0
    if count and (flags & BIG != 0) != big:
        return ORDER, flags, 0, 0
    return kind, flags, count, each


@kernel
def deframe(data, places, sizes, segments, owners, schema, record, nulls, big, senders, seen, cursor, spans):
    """Spans of the messages from `cursor` (message, byte) on, as frames with headers; returns how many.

    Stops early when `spans` may be full; `cursor` says where. `record` is the bytes of a record, `nulls` the bytes in
    front of it where it has NULLs, `owners` the sender of each message.
    """
    found = 0
    message, byte = cursor[0], cursor[1]
    while message < len(sizes):
        size = sizes[message]
        step = segments[message] if segments[message] else size
        while byte < size or size == 0:
            if found + 2 > len(spans):
                cursor[0], cursor[1] = message, byte
                return found
            at, here = places[message] + byte, min(step, size - byte)
            kind, flags, count, each = _judge(data, at, here, schema, record, nulls, big)
            if kind <= PUNCTUATION and not flags & UNNUMBERED:
                number = np.int64(load(data, at + 12, _LONG) & np.uint64(0x7FFFFFFFFFFFFFFF))
                if _follow(number, owners[message], senders, seen) and (count or not flags & ENDS):
                    kind = TWICE  # the end alone may be said again and again
            if kind > PUNCTUATION:
                spans[found] = (at, here, 1, kind, owners[message])
                found += 1
            else:
                if count:
                    spans[found] = (at + HEADER_BYTES, each, count, kind, each - record if kind == ROWS else 0)
                    found += 1
                if flags & ENDS:
                    senders[owners[message], ENDED] = 1
                    spans[found] = (at, here, 1, END, owners[message])
                    found += 1
            byte += step
            if size == 0:
                break
        message, byte = message + 1, 0
    cursor[0], cursor[1] = message, byte
    return found


@kernel
def bare(places, sizes, segments, owners, record, cursor, spans):
    """The same for datagrams that are whole records and nothing else; an empty one is an end."""
    found = 0
    message, byte = cursor[0], cursor[1]
    while message < len(sizes):
        size = sizes[message]
        step = segments[message] if segments[message] else size
        if size and step % record == 0 and size % record == 0:
            step = size  # one stretch, whoever cut it
        while byte < size or size == 0:
            if found == len(spans):
                cursor[0], cursor[1] = message, byte
                return found
            at, here = places[message] + byte, min(step, size - byte)
            if here == 0:
                spans[found] = (at, 0, 1, END, owners[message])
            elif here % record:
                spans[found] = (at, here, 1, PART, owners[message])
            else:
                spans[found] = (at, record, here // record, ROWS, 0)
            found += 1
            byte += step
            if size == 0:
                break
        message, byte = message + 1, 0
    cursor[0], cursor[1] = message, byte
    return found


@kernel
def owners_of(names, known, count, senders, owners):
    """The sender of each message by its address, four words of `names`; new ones go into `known`.

    Returns how many were ever new; where there are more than `known` has room for, the first ones are forgotten, and
    what was missing of them is added up in the last row of `senders`.
    """
    room = len(known)
    last = 0
    for i in range(len(names)):
        same = count > 0
        for k in range(4):
            same = same and known[last, k] == names[i, k]
        if not same:
            last = -1
            for j in range(min(count, room)):
                if (
                    known[j, 0] == names[i, 0]
                    and known[j, 1] == names[i, 1]
                    and known[j, 2] == names[i, 2]
                    and known[j, 3] == names[i, 3]
                ):
                    last = j
                    break
            if last < 0:
                last = count % room
                for k in range(4):
                    known[last, k] = names[i, k]
                senders[room, MISSING] += senders[last, MISSING]
                senders[room, SEEN] += senders[last, SEEN]
                senders[last, HIGHEST], senders[last, MISSING] = -1, 0
                senders[last, SEEN], senders[last, ENDED] = 0, 0
                count += 1
        owners[i] = last
    return count


@kernel
def gather(data, spans, place, like, out, at):
    """A field of every record of the spans of rows, from `out[at]` on; `like` has the type it is of on the wire."""
    for span in spans:
        if span[KIND] == ROWS:
            byte, size, count = span[START] + span[SHIFT] + place, span[SIZE], span[COUNT]
            part = out[at : at + count]  # counted from 0, so that no index may be one from the end
            for row in range(count):
                part[row] = load(data, byte + row * size, like)
            at += count
    return at


@kernel
def gather_bytes(data, spans, place, out, at):
    """The same for fields of any width: each is a row of `out`."""
    width = out.shape[1]
    for span in spans:
        if span[KIND] == ROWS:
            byte, size, count = span[START] + span[SHIFT] + place, span[SIZE], span[COUNT]
            for row in range(count):
                for k in range(width):
                    out[at + row, k] = data[byte + row * size + k]
            at += count
    return at


@kernel
def gather_nulls(data, spans, number, out, at):
    """Whether the value of a column, by its number, is there, for every record."""
    for span in spans:
        if span[KIND] == ROWS:
            byte, size, count = span[START] + number // 8, span[SIZE], span[COUNT]
            for row in range(count):
                there = True
                if span[SHIFT]:
                    there = (data[byte + row * size] >> np.uint8(number % 8)) & 1 == 0
                out[at + row] = there
            at += count
    return at


@inlined
def _slot_of(word, mask):
    return ((np.uint64(word) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) & mask


@kernel
def gather_codes(data, spans, place, like, index, words, stored, count, out, cursor):
    """Codes of short texts, which are looked up as words; new ones are added to `stored`. Returns how many there are.

    Stops early where the table is full; `cursor` (span, row, place in `out`) says where. `index` and `words` are twice
    as long as `stored`, a power of two: the codes by slot (-1: none), and the words that they are of.
    """
    mask = np.uint64(len(index) - 1)
    first, begin, at = cursor[0], cursor[1], cursor[2]
    for number in range(first, len(spans)):
        span = spans[number]
        if span[KIND] != ROWS:
            continue
        byte, size, rows = span[START] + span[SHIFT] + place, span[SIZE], span[COUNT]
        part = out[at : at + rows - begin]
        for row in range(begin, rows):
            word = np.uint64(load(data, byte + row * size, like))
            slot = _slot_of(word, mask)
            while index[slot] >= 0 and words[slot] != word:
                slot = (slot + np.uint64(1)) & mask
            if index[slot] < 0:
                if count == len(stored):
                    cursor[0], cursor[1], cursor[2] = number, row, at + row - begin
                    return count
                index[slot] = count
                words[slot] = word
                stored[count] = word
                count += 1
            part[row - begin] = index[slot]
        at += rows - begin
        begin = 0
    cursor[0], cursor[1], cursor[2] = len(spans), 0, at
    return count


@kernel
def index_texts(stored, count, index, words):
    """Put words into an empty index."""
    mask = np.uint64(len(index) - 1)
    for code in range(count):
        slot = _slot_of(stored[code], mask)
        while index[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        index[slot] = code
        words[slot] = stored[code]
