"""64-bit words at any byte of a buffer, whole numbers in as few bytes as they need, and how many bits a word has.

Words are read whole, some eight at once, so a buffer has `plans.PAD` bytes after its last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from windrow.operators.kernels.compiled import inlined, kernel

_U0, _U1, _U7, _U127, _U128 = (np.uint64(number) for number in (0, 1, 7, 127, 128))
_WORD, _INDEX, _BIT = ir.IntType(64), ir.IntType(32), ir.IntType(1)
_LANES, _ZEROS = ir.VectorType(_WORD, 8), ir.VectorType(_INDEX, 8)


def machine_operation(function: Any) -> Any:
    """A piece of kernels that is written in the compiler's own words."""
    return intrinsic(function)


@machine_operation
def load_word(typing, data, place):  # noqa: ARG001  # Numba calls it with its typing context
    """The 8 bytes of `data` from byte `place` on, aligned or not."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), _WORD.as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(data, types.int64), generate


@machine_operation
def store_word(typing, data, place, word):  # noqa: ARG001
    """Write 8 bytes of `data` from byte `place` on, aligned or not."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), _WORD.as_pointer())
        builder.store(arguments[2], pointer, align=1)
        return context.get_dummy_value()

    return types.void(data, types.int64, types.uint64), generate


@machine_operation
def _leading_zeros(typing, word):  # noqa: ARG001
    def generate(context, builder, signature, arguments):  # noqa: ARG001
        return builder.ctlz(arguments[0], ir.Constant(_BIT, 0))

    return types.int64(types.uint64), generate


@machine_operation
def trailing_zeros(typing, word):  # noqa: ARG001
    """How many of the lowest bits are zero: 64 of zero."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        return builder.cttz(arguments[0], ir.Constant(_BIT, 0))

    return types.int64(types.uint64), generate


def _splat(builder, word):
    """A word in all lanes."""
    vector = builder.insert_element(ir.Constant(_LANES, ir.Undefined), word, ir.Constant(_INDEX, 0))
    return builder.shuffle_vector(vector, ir.Constant(_LANES, ir.Undefined), ir.Constant(_ZEROS, None))


def _address(context, builder, kind, array, place):
    """Where lanes begin in an array."""
    made = context.make_array(kind)(context, builder, array)
    return builder.bitcast(builder.gep(made.data, [place]), _LANES.as_pointer())


@machine_operation
def cut_lanes(typing, data, at, shift, mask, words, place):  # noqa: ARG001
    """Write the bits of eight words of `data` from byte `at` on, above `shift` and within `mask`, to `words`."""

    def generate(context, builder, signature, arguments):
        kinds = signature.args
        low = builder.load(_address(context, builder, kinds[0], arguments[0], arguments[1]), align=1)
        cut = builder.and_(builder.lshr(low, _splat(builder, arguments[2])), _splat(builder, arguments[3]))
        builder.store(cut, _address(context, builder, kinds[4], arguments[4], arguments[5]), align=8)
        return context.get_dummy_value()

    return types.void(data, types.int64, types.uint64, types.uint64, words, types.int64), generate


@machine_operation
def cut_split_lanes(typing, data, at, shift, back, mask, words, place):  # noqa: ARG001
    """`cut_lanes` where the upper bits are the lowest of the next eight words, to be shifted `back`."""

    def generate(context, builder, signature, arguments):
        kinds, next_ones = signature.args, builder.add(arguments[1], ir.Constant(_WORD, 64))
        low = builder.load(_address(context, builder, kinds[0], arguments[0], arguments[1]), align=1)
        high = builder.load(_address(context, builder, kinds[0], arguments[0], next_ones), align=1)
        low = builder.lshr(low, _splat(builder, arguments[2]))
        high = builder.shl(high, _splat(builder, arguments[3]))
        cut = builder.and_(builder.or_(low, high), _splat(builder, arguments[4]))
        builder.store(cut, _address(context, builder, kinds[5], arguments[5], arguments[6]), align=8)
        return context.get_dummy_value()

    kinds = data, types.int64, types.uint64, types.uint64, types.uint64, words, types.int64
    return types.void(*kinds), generate


@inlined
def bit_length(word):
    """The bits that a word needs: 0 for zero, 64 for the greatest."""
    return 64 - _leading_zeros(word)


@inlined
def zigzag(word):
    """A difference as a number that is small when the difference is near zero, of either sign."""
    return (word << _U1) ^ (_U0 - (word >> np.uint64(63)))


@inlined
def unzigzag(word):
    return (word >> _U1) ^ (_U0 - (word & _U1))


@kernel
def put_number(data, at, number):
    """Write a number, seven bits a byte; where it ends."""
    while number >= _U128:
        data[at] = np.uint8((number & _U127) | _U128)
        number >>= _U7
        at += 1
    data[at] = np.uint8(number)
    return at + 1


@kernel
def get_number(data, at):
    """The number that `put_number` wrote, and where it ends: at most ten bytes on."""
    number, shift = _U0, _U0
    for _ in range(10):
        byte = np.uint64(data[at])
        at += 1
        number |= (byte & _U127) << shift
        shift += _U7
        if byte < _U128:
            break
    return number, at
