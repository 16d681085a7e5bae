"""The algebra of aggregates in wires: a neutral state, the state of one row, and two states combined into one.

A state is a struct: `nonempty` says whether it holds a row; `value0`, `value1`, ... the values of the parts; `seen0`,
`seen1`, ... (for all but counts) whether a value was there that is not NULL. MIN and MAX start from the greatest and
the least number there is room for, so that combining them needs no other bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Mux, Shape, Value, signed, unsigned
from amaranth.lib import data

from windrow.hardware.circuits.expressions import Wires, argument_shape, fields_of, wire
from windrow.hardware.design import BitLayout, CircuitPart, Function

ROWS_BITS = 32
"""Windows of up to 2 ** 32 - 1 rows: a sum this much wider than what it adds cannot overflow."""


@dataclass(frozen=True)
class Combined:
    """A state in the bits of `Accumulators.state`, and whether a value did not fit into it."""

    state: Any
    overflow: Any


@dataclass(frozen=True)
class Accumulators:
    """The parts of one query over rows of one layout.

    `combine` is associative and commutative, `neutral` is its neutral element, and the state of several rows is their
    `lift`s combined.
    """

    parts: tuple[CircuitPart, ...]
    layout: BitLayout

    @cached_property
    def arguments(self) -> data.StructLayout:
        """What a module must know of a row: for each part with an argument its value and whether it is known."""
        members: dict[str, Any] = {}
        for place, part in enumerate(self.parts):
            if part.argument is not None:
                members |= {f"known{place}": 1}
                if part.function is not Function.COUNT:
                    members |= {f"value{place}": self._argument(part)}
        return data.StructLayout(members)

    @cached_property
    def state(self) -> data.StructLayout:
        members: dict[str, Any] = {"nonempty": 1}
        for place, part in enumerate(self.parts):
            members |= {f"value{place}": shape_of(part)}
            if part.is_nullable:
                members |= {f"seen{place}": 1}
        return data.StructLayout(members)

    @property
    def neutral(self) -> data.Const:
        """The state of no rows."""
        values = {f"value{place}": _start(part) for place, part in enumerate(self.parts)}
        return self.state.const(values)

    def evaluate(self, row: Any) -> Any:
        """The arguments of a packed row, in the bits of `arguments`."""
        fields = fields_of(self.layout, row)
        found: list[Any] = []
        for place, part in enumerate(self.parts):
            if part.argument is not None:
                wires = wire(part.argument, fields)
                found.append(wires.known)
                if part.function is not Function.COUNT:
                    found.append(_bits(wires.value, self.arguments[f"value{place}"].shape))
        return Cat(*found)

    def lift(self, arguments: Any) -> Any:
        """The state of one row, as a view of `state`: what is not known leaves the neutral value."""
        given = data.View(self.arguments, Value.cast(arguments))
        members = [Const(1, 1)]
        for place, part in enumerate(self.parts):
            wires = self._given(given, place, part)
            start = Const(_start(part), shape_of(part))
            members.append(_bits(Mux(wires.known, wires.value, start), shape_of(part)))
            if part.is_nullable:
                members.append(wires.known)
        return data.View(self.state, Cat(*members))

    def fits(self, arguments: Any) -> Any:
        """Whether every known argument lies within the width of its part."""
        given = data.View(self.arguments, Value.cast(arguments))
        missed = [Const(0, 1)]
        for place, part in enumerate(self.parts):
            wires = self._given(given, place, part)
            if not _holds(shape_of(part), wires.value.shape()):
                held = Value.cast(_bits(wires.value, shape_of(part)))
                held = held.as_signed() if part.signed else held
                missed.append(wires.known & (held != wires.value))
        return ~reduce(or_, missed)

    def combine(self, left: Any, right: Any) -> Combined:
        """Two views of `state` as one. `overflow` is wired to 0 where sums are wide enough for all rows of a window."""
        members, missed = [left.nonempty | right.nonempty], [Const(0, 1)]
        for place, part in enumerate(self.parts):
            mine, other = left[f"value{place}"], right[f"value{place}"]
            value = _combined(part, mine, other)
            members.append(_bits(value, shape_of(part)))
            if part.is_nullable:
                members.append(left[f"seen{place}"] | right[f"seen{place}"])
            if self.can_overflow(part):
                held = Value.cast(_bits(value, shape_of(part)))
                missed.append((held.as_signed() if part.signed else held) != value)
        return Combined(data.View(self.state, Cat(*members)), reduce(or_, missed))

    def can_overflow(self, part: CircuitPart) -> bool:
        """Whether 2 ** 32 - 1 rows in a window could be too much for a part."""
        if part.function in (Function.MIN, Function.MAX):
            return False
        width = 0 if part.function is Function.COUNT else self._argument(part).width
        return part.width < width + ROWS_BITS

    def results(self, state: Any) -> Any:
        """The fields of a result (the layout `WindowQuery.results`) from a view of `state`."""
        members: list[Any] = []
        for place, part in enumerate(self.parts):
            members.append(Value.cast(state[f"value{place}"])[: part.width])
            if part.is_nullable:
                members.append(~state[f"seen{place}"])
        return Cat(*members)

    def _argument(self, part: CircuitPart) -> Shape:
        assert part.argument is not None
        width, with_sign = argument_shape(part.argument, self.layout)
        return signed(width) if with_sign else unsigned(width)

    def _given(self, given: Any, place: int, part: CircuitPart) -> Wires:
        known = given[f"known{place}"] if part.argument is not None else Const(1, 1)
        return Wires(Const(1, 1) if part.function is Function.COUNT else given[f"value{place}"], known)


def shape_of(part: CircuitPart) -> Shape:
    return signed(part.width) if part.signed else unsigned(part.width)


def _start(part: CircuitPart) -> int:
    least, greatest = (-(1 << part.width - 1), (1 << part.width - 1) - 1) if part.signed else (0, (1 << part.width) - 1)
    return {Function.MIN: greatest, Function.MAX: least}.get(part.function, 0)


def _combined(part: CircuitPart, left: Any, right: Any) -> Any:
    if part.function is Function.MIN:
        return Mux(left < right, left, right)
    if part.function is Function.MAX:
        return Mux(left > right, left, right)
    return left + right


def _bits(value: Any, shape: Shape) -> Any:
    """The value in exactly the bits of the shape: extended by its sign where it has one, or cut."""
    value = Value.cast(value)
    if len(value) < shape.width:
        value = Cat(value, (value[-1] if value.shape().signed else Const(0, 1)).replicate(shape.width - len(value)))
    return value[: shape.width]


def _holds(shape: Shape, other: Shape) -> bool:
    if other.signed and not shape.signed:
        return False
    return bool(shape.width >= other.width + (shape.signed and not other.signed))
