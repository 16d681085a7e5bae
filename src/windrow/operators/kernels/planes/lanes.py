"""Eight words at once, by their address: which rows of 512 are marked, and their bits in a plane.

Addresses, not arrays: an array that is handed on costs a count of its users, more than what is done here.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types

from windrow.operators.kernels.compression.words import machine_operation

EIGHT, BYTES = 8, 64
"""Words that are taken together, and their bytes."""
_WORD = ir.IntType(64)
_LANES = ir.VectorType(_WORD, EIGHT)


def _called(builder, name, result, lanes):
    """What an operation of the compiler makes of eight words."""
    module, name = builder.module, f"llvm.{name}.v8i64"
    function = module.globals.get(name) or ir.Function(module, ir.FunctionType(result, [_LANES]), name)
    return builder.call(function, [lanes])


def _load(builder, address):
    return builder.load(builder.inttoptr(address, _LANES.as_pointer()), align=1)


def _store(builder, lanes, address):
    builder.store(lanes, builder.inttoptr(address, _LANES.as_pointer()), align=1)


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
def sum_at(typing, address):  # noqa: ARG001
    """The sum of eight words."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        return _called(builder, "vector.reduce.add", _WORD, _load(builder, arguments[0]))

    return types.int64(types.int64), generate


@machine_operation
def count_marked(typing, marks, plane):  # noqa: ARG001
    """How many marked rows are set in a plane."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        both = builder.and_(_load(builder, arguments[0]), _load(builder, arguments[1]))
        return _called(builder, "vector.reduce.add", _WORD, _called(builder, "ctpop", _LANES, both))

    return types.int64(types.int64, types.int64), generate


@machine_operation
def add_marked(typing, marks, plane, bit, sums):  # noqa: ARG001
    """Add to eight sums how many marked rows are set in a plane, times two to the power of a bit."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        both = builder.and_(_load(builder, arguments[0]), _load(builder, arguments[1]))
        many = builder.shl(_called(builder, "ctpop", _LANES, both), _same(builder, arguments[2]))
        _store(builder, builder.add(_load(builder, arguments[3]), many), arguments[3])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), generate


@machine_operation
def any_marked(typing, marks, plane, flip):  # noqa: ARG001
    """A number that is not 0 if a marked row is set in a plane, or, with `flip` all ones, is not."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        plane = builder.xor(_load(builder, arguments[1]), _same(builder, arguments[2]))
        both = builder.and_(_load(builder, arguments[0]), plane)
        some = builder.icmp_unsigned("!=", both, ir.Constant(_LANES, None))
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
def add_planes(typing, plane, carries, flip, out):  # noqa: ARG001
    """Write at `out` a plane to each of whose rows a bit is added, where `flip` is all ones, and what was carried."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        old, over, flip = _load(builder, arguments[0]), _load(builder, arguments[1]), _same(builder, arguments[2])
        either = builder.xor(old, over)
        _store(builder, builder.xor(either, flip), arguments[3])
        _store(builder, builder.or_(builder.and_(old, over), builder.and_(flip, either)), arguments[1])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), generate
