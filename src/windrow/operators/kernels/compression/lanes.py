"""Eight words at once: which rows of 512 are marked, and their bits in a plane.

Arrays are of bytes or words, and every place is counted in elements of its array.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils

from windrow.operators.kernels.compression.words import machine_operation

EIGHT = 8
_WORD = ir.IntType(64)
_LANES = ir.VectorType(_WORD, EIGHT)


def _called(builder, name, result, lanes):
    """What an operation of the compiler makes of eight words."""
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, [_LANES]), f"llvm.{name}.v8i64")
    return builder.call(function, [lanes])


def _sum_of_ones(builder, lanes):
    return _called(builder, "vector.reduce.add", _WORD, _called(builder, "ctpop", _LANES, lanes))


def _place(context, builder, kind, array, place):
    made = context.make_array(kind)(context, builder, array)
    return builder.bitcast(builder.gep(made.data, [place]), _LANES.as_pointer())


def _load(context, builder, kind, array, place):
    return builder.load(_place(context, builder, kind, array, place), align=1)


def _store(context, builder, lanes, kind, array, place):
    builder.store(lanes, _place(context, builder, kind, array, place), align=1)


def _flipped(builder, lanes, word):
    """Lanes, or their complement, where a word is all ones."""
    flips = ir.Constant(_LANES, ir.Undefined)
    flips = builder.insert_element(flips, word, ir.Constant(ir.IntType(32), 0))
    same = ir.Constant(ir.VectorType(ir.IntType(32), EIGHT), None)
    return builder.xor(lanes, builder.shuffle_vector(flips, ir.Constant(_LANES, ir.Undefined), same))


@machine_operation
def count_marked(typing, marks, k, planes, at):  # noqa: ARG001  # Numba calls it with its typing context
    """How many marked rows are set in a plane."""

    def generate(context, builder, signature, arguments):
        marked = _load(context, builder, signature.args[0], *arguments[:2])
        plane = _load(context, builder, signature.args[2], *arguments[2:])
        return _sum_of_ones(builder, builder.and_(marked, plane))

    return types.int64(marks, types.int64, planes, types.int64), generate


@machine_operation
def any_marked(typing, marks, k, planes, at, flip):  # noqa: ARG001
    """A word that is not 0 if a marked row is set in a plane, or in its complement."""

    def generate(context, builder, signature, arguments):
        marked = _load(context, builder, signature.args[0], *arguments[:2])
        plane = _load(context, builder, signature.args[2], *arguments[2:4])
        found = builder.and_(marked, _flipped(builder, plane, arguments[4]))
        return _called(builder, "vector.reduce.or", _WORD, found)

    return types.uint64(marks, types.int64, planes, types.int64, types.uint64), generate


@machine_operation
def keep_marked(typing, marks, k, planes, at, flip, out, to):  # noqa: ARG001
    """Mark, in `out`, the marked rows that are set in a plane, or in its complement."""

    def generate(context, builder, signature, arguments):
        marked = _load(context, builder, signature.args[0], *arguments[:2])
        plane = _load(context, builder, signature.args[2], *arguments[2:4])
        kept = builder.and_(marked, _flipped(builder, plane, arguments[4]))
        _store(context, builder, kept, signature.args[5], *arguments[5:])
        return context.get_dummy_value()

    return types.void(marks, types.int64, planes, types.int64, types.uint64, out, types.int64), generate


@machine_operation
def add_planes(typing, planes, at, carries, k, flip, out, to):  # noqa: ARG001
    """Write a plane with a bit added to each of its rows, all ones or all zeros, and what was carried; carry on."""

    def generate(context, builder, signature, arguments):
        old = _load(context, builder, signature.args[0], *arguments[:2])
        over = _load(context, builder, signature.args[2], *arguments[2:4])
        zeros = ir.Constant(_LANES, None)
        flip = _flipped(builder, zeros, arguments[4])
        either, both = builder.xor(old, over), builder.and_(old, over)
        _store(context, builder, builder.xor(either, flip), signature.args[5], *arguments[5:])
        carried = builder.or_(both, builder.and_(flip, either))
        _store(context, builder, carried, signature.args[2], *arguments[2:4])
        return context.get_dummy_value()

    return types.void(planes, types.int64, carries, types.int64, types.uint64, out, types.int64), generate
