"""Words as bit planes: bit j of 64 neighbours is one word of plane j, the lowest plane first.

width  planes, each of a word for every 64 values. Bits behind the last value may be anything.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.compression.plans import DECIMALS
from windrow.operators.kernels.compression.words import (
    bit_length,
    get_number,
    load_word,
    machine_operation,
    store_word,
    unzigzag,
)

TOGETHER = 64
"""Values of which a plane has one word."""
_WORD, _BIT, _INDEX = ir.IntType(64), ir.IntType(1), ir.IntType(32)
_ROWS, _BITS = ir.VectorType(_WORD, TOGETHER), ir.VectorType(_BIT, TOGETHER)
_U0, _U1, _U63 = np.uint64(0), np.uint64(1), np.uint64(63)


def _all_of(builder, word):
    """A word beside itself, 64 times."""
    nothing = ir.Constant(_ROWS, ir.Undefined)
    one = builder.insert_element(nothing, word, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(_INDEX, TOGETHER), None))


def _rows_at(context, builder, kind, array, place):
    made = context.make_array(kind)(context, builder, array)
    return builder.bitcast(builder.gep(made.data, [place]), _ROWS.as_pointer())


@machine_operation
def ones(typing, word):  # noqa: ARG001  # Numba calls it with its typing context
    """How many bits of a word are set."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@machine_operation
def cut_plane(typing, words, place, bit):  # noqa: ARG001
    """The plane of one bit, given as the word that has it alone, of 64 words from `place` on."""

    def generate(context, builder, signature, arguments):
        rows = builder.load(_rows_at(context, builder, signature.args[0], *arguments[:2]), align=8)
        found = builder.and_(rows, _all_of(builder, arguments[2]))
        return builder.bitcast(builder.icmp_unsigned("!=", found, ir.Constant(_ROWS, None)), _WORD)

    return types.uint64(words, types.int64, types.uint64), generate


@machine_operation
def spread_plane(typing, plane, bit, words, place):  # noqa: ARG001
    """Set one bit of those of 64 words from `place` on that are set in a plane."""

    def generate(context, builder, signature, arguments):
        pointer = _rows_at(context, builder, signature.args[2], *arguments[2:])
        chosen = builder.bitcast(arguments[0], _BITS)
        bits = builder.select(chosen, _all_of(builder, arguments[1]), ir.Constant(_ROWS, None))
        builder.store(builder.or_(builder.load(pointer, align=8), bits), pointer, align=8)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, words, types.int64), generate


@inlined
def plane_words(count):
    """The words of one plane of so many values."""
    return (count + TOGETHER - 1) >> 6


@inlined
def plane_bits(count, span):
    """The bits of the planes of values up to `span`."""
    return 8 + TOGETHER * plane_words(count) * bit_length(span)


@kernel
def put_planes(words, count, data, at):
    """Write width and planes; where they end."""
    highest, each = _U0, plane_words(count)
    for i in range(count):
        highest |= words[i]
    width = bit_length(highest)
    data[at] = width
    for part in range(each):
        first, rows = part * TOGETHER, words
        if first + TOGETHER > count:
            rows = np.zeros(TOGETHER, np.uint64)
            rows[: count - first] = words[first:count]
            first = 0
        for bit in range(width):
            plane = cut_plane(rows, first, _U1 << np.uint64(bit))
            store_word(data, at + 1 + 8 * (bit * each + part), plane)
    return at + 1 + 8 * width * each


@kernel
def get_planes(data, at, count, words):
    """Read what `put_planes` wrote; where it ends, -1 where it cannot be."""
    width, each = np.int64(data[at]), plane_words(count)
    if width > 64:
        return -1
    words[:count] = _U0
    for part in range(each):
        first, rows = part * TOGETHER, words
        if first + TOGETHER > count:
            rows = np.zeros(TOGETHER, np.uint64)
        begin = first if first + TOGETHER <= count else 0
        for bit in range(width):
            plane = load_word(data, at + 1 + 8 * (bit * each + part))
            spread_plane(plane, _U1 << np.uint64(bit), rows, begin)
        if first + TOGETHER > count:
            words[first:count] = rows[: count - first]
    return at + 1 + 8 * width * each


@kernel
def find_planes(data, at, kind, least):
    """Of a block in planes: power of ten (-1: whole numbers), its least number, width, and where planes begin."""
    exponent = np.int64(-1)
    at += 2
    if kind & DECIMALS:
        exponent = np.int64(data[at])
        number, at = get_number(data, at + 1)
        least = np.int64(unzigzag(number))
        _, at = get_number(data, at)
    return exponent, least, np.int64(data[at]), at + 1


@inlined
def from_row(row):
    """Which rows of their word are not before this one."""
    return ~_U0 << (np.uint64(row) & _U63)


@inlined
def up_to_row(stop):
    """Which rows of the word of the last of them are before `stop`, which is above 0."""
    return ~_U0 >> (_U63 - (np.uint64(stop - 1) & _U63))
