"""Eight words at once, by their address: which rows of 512 are marked, and their bits in a plane.

Addresses, not arrays: an array that is handed on costs a count of its users, more than what is done here.
"""

from __future__ import annotations

from contextlib import contextmanager

from llvmlite import ir
from numba import types
from numba.core import cgutils

from windrow.operators.kernels.compression.words import machine_operation

EIGHT, BYTES = 8, 64
"""Words that are taken together, and their bytes."""
_WORD = ir.IntType(64)
_LANES = ir.VectorType(_WORD, EIGHT)
_NONE = ir.Constant(_LANES, None)


def _called(builder, name, result, lanes):
    """What an operation of the compiler makes of eight words."""
    module, name = builder.module, f"llvm.{name}.v8i64"
    function = module.globals.get(name) or ir.Function(module, ir.FunctionType(result, [_LANES]), name)
    return builder.call(function, [lanes])


def _load(builder, address):
    return builder.load(builder.inttoptr(address, _LANES.as_pointer()), align=1)


def _store(builder, lanes, address):
    builder.store(lanes, builder.inttoptr(address, _LANES.as_pointer()), align=1)


@contextmanager
def _each_eight(builder, size):
    """The bytes before each eight words that have so many bytes together."""
    start, step = ir.Constant(_WORD, 0), ir.Constant(_WORD, BYTES)
    with cgutils.for_range_slice(builder, start, size, step, _WORD) as (at, _):
        yield at


def _add_ones(builder, total, lanes):
    """Add to eight numbers how many bits are set in each of eight words."""
    ones = _called(builder, "ctpop", _LANES, lanes)
    builder.store(builder.add(builder.load(total), ones), total)


def _same(builder, word):
    """A word in all lanes."""
    one = builder.insert_element(ir.Constant(_LANES, ir.Undefined), word, ir.Constant(ir.IntType(32), 0))
    first = ir.Constant(ir.VectorType(ir.IntType(32), EIGHT), None)
    return builder.shuffle_vector(one, ir.Constant(_LANES, ir.Undefined), first)


@machine_operation
def word_at(typing, address):  # noqa: ARG001  # Numba calls it with its typing context
    def generate(context, builder, signature, arguments):  # noqa: ARG001
        return builder.load(builder.inttoptr(arguments[0], _WORD.as_pointer()), align=1)

    return types.int64(types.int64), generate


@machine_operation
def put_word_at(typing, address, word):  # noqa: ARG001
    def generate(context, builder, signature, arguments):  # noqa: ARG001
        builder.store(arguments[1], builder.inttoptr(arguments[0], _WORD.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@machine_operation
def put_words_at(typing, address, word):  # noqa: ARG001
    """Write a word eight times."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        _store(builder, _same(builder, arguments[1]), arguments[0])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@machine_operation
def count_marked(typing, marks, plane, size):  # noqa: ARG001
    """How many marked rows are set in a plane of so many bytes."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        marks, plane, size = arguments
        total = cgutils.alloca_once_value(builder, _NONE)
        with _each_eight(builder, size) as at:
            both = builder.and_(_load(builder, builder.add(marks, at)), _load(builder, builder.add(plane, at)))
            _add_ones(builder, total, both)
        return _called(builder, "vector.reduce.add", _WORD, builder.load(total))

    return types.int64(types.int64, types.int64, types.int64), generate


@machine_operation
def keep_and_count(typing, marks, plane, flip, out, following, size):  # noqa: ARG001
    """Mark at `out` the marked rows that are set in a plane, or with `flip` all ones are not; count them in another."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        marks, plane, flip, out, following, size = arguments
        total, flip = cgutils.alloca_once_value(builder, _NONE), _same(builder, flip)
        with _each_eight(builder, size) as at:
            chosen = builder.xor(_load(builder, builder.add(plane, at)), flip)
            kept = builder.and_(_load(builder, builder.add(marks, at)), chosen)
            _store(builder, kept, builder.add(out, at))
            _add_ones(builder, total, builder.and_(kept, _load(builder, builder.add(following, at))))
        return _called(builder, "vector.reduce.add", _WORD, builder.load(total))

    return types.int64(*[types.int64] * 6), generate


@machine_operation
def sum_marked(typing, marks, planes, step, bits, size):  # noqa: ARG001
    """The sum of the numbers of marked rows, of which so many planes lie `step` bytes apart."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        marks, planes, step, bits, size = arguments
        total = cgutils.alloca_once_value(builder, _NONE)
        with _each_eight(builder, size) as at:
            chosen, first = _load(builder, builder.add(marks, at)), builder.add(planes, at)
            with cgutils.for_range(builder, bits, intp=_WORD) as loop:
                plane = _load(builder, builder.add(first, builder.mul(step, loop.index)))
                many = _called(builder, "ctpop", _LANES, builder.and_(chosen, plane))
                many = builder.shl(many, _same(builder, loop.index))
                builder.store(builder.add(builder.load(total), many), total)
        return _called(builder, "vector.reduce.add", _WORD, builder.load(total))

    return types.int64(*[types.int64] * 5), generate


@machine_operation
def any_marked(typing, marks, plane, flip):  # noqa: ARG001
    """A number that is not 0 if a marked row is set in a plane, or, with `flip` all ones, is not."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        plane = builder.xor(_load(builder, arguments[1]), _same(builder, arguments[2]))
        both = builder.and_(_load(builder, arguments[0]), plane)
        some = builder.icmp_unsigned("!=", both, _NONE)
        return builder.zext(builder.bitcast(some, ir.IntType(EIGHT)), _WORD)

    return types.int64(types.int64, types.int64, types.int64), generate


@machine_operation
def keep_marked(typing, marks, plane, flip, out):  # noqa: ARG001
    """Mark at `out` the marked rows that are set in a plane, or, with `flip` all ones, are not."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        plane = builder.xor(_load(builder, arguments[1]), _same(builder, arguments[2]))
        _store(builder, builder.and_(_load(builder, arguments[0]), plane), arguments[3])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), generate


@machine_operation
def add_planes(typing, planes, step, wide, more, out, out_step, width, size):  # noqa: ARG001
    """Write at `out` the planes of numbers that are `more` than those of `wide` planes, `width` of so many bytes."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        planes, step, wide, more, out, out_step, width, size = arguments
        over, one = cgutils.alloca_once(builder, _LANES), ir.Constant(_WORD, 1)

        def add(bit, at, old):
            set_ = builder.and_(builder.lshr(more, bit), one)
            flip, carried = _same(builder, builder.neg(set_)), builder.load(over)
            either = builder.xor(old, carried)
            _store(builder, builder.xor(either, flip), builder.add(builder.add(out, at), builder.mul(out_step, bit)))
            builder.store(builder.or_(builder.and_(old, carried), builder.and_(flip, either)), over)

        with _each_eight(builder, size) as at:
            builder.store(_NONE, over)
            with cgutils.for_range(builder, wide, intp=_WORD) as loop:
                add(loop.index, at, _load(builder, builder.add(builder.add(planes, at), builder.mul(step, loop.index))))
            with cgutils.for_range(builder, width, start=wide, intp=_WORD) as loop:
                add(loop.index, at, _NONE)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 8), generate
