"""What can be set while a circuit runs: a map of registers as data, the component that holds them, and who writes what.

A circuit starts with the parameters of its design. To change them, write registers and then `START`: everything begins
anew, as after a reset. From the first write to the end of the start the circuit takes no rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Shape, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from windrow.errors import ConfigurationError
from windrow.hardware.circuits.engine import settings_of, settings_values
from windrow.hardware.circuits.expressions import literals_of
from windrow.hardware.design import AggregateDesign, WindowQuery

START = 0
"""The address that starts the circuit with what was written; the value does not matter."""


@dataclass(frozen=True)
class Register:
    """A value that can be set: `name` is a setting of that query, or `constantN` for the Nth number in its WHERE."""

    address: int
    query: int
    name: str
    width: int
    signed: bool
    value: int
    """What it holds at reset: the parameter of the design."""

    @property
    def shape(self) -> Shape:
        return signed(self.width) if self.signed else unsigned(self.width)


def registers_of(design: AggregateDesign) -> tuple[Register, ...]:
    """The map of a configurable circuit, by ascending address from 1 on."""
    found: list[Register] = []
    for number, query in enumerate(design.queries):
        for name, shape, value in _values(design, query):
            found.append(Register(len(found) + 1, number, name, shape.width, shape.signed, value))
    return tuple(found)


def write_of(design: AggregateDesign) -> data.StructLayout:
    """A write to a register."""
    registers = registers_of(design)
    return data.StructLayout(
        {"address": len(registers).bit_length(), "value": signed(max(1 + register.width for register in registers))}
    )


def writes_for(design: AggregateDesign, queries: tuple[WindowQuery, ...]) -> list[tuple[int, int]]:
    """Addresses and values that make the circuit of `design` one for other queries, the start included.

    They must be the design's own but for range, slide, slack and whole numbers in WHERE, and need no more modules.
    """
    writes: list[tuple[int, int]] = []
    registers = iter(registers_of(design))
    for largest, query in zip(design.queries, queries, strict=True):
        check_room(design, largest, query)
        values = [*settings_values(design, query, largest=largest).values(), *_constants(query)]
        for register, value in zip(_of_query(registers, len(values)), values, strict=True):
            _check_width(register, value)
            writes.append((register.address, value))
    return [*writes, (START, 0)]


def check_room(design: AggregateDesign, largest: WindowQuery, query: WindowQuery) -> None:
    """Refuse parameters that take more modules than the circuit has, or are open for longer than it remembers."""
    have, need = design.modules(largest), design.modules(query)
    if need > have or query.window_modules > largest.window_modules:
        raise ConfigurationError(
            f"must not need more modules than the circuit has ({have})",
            parameter="range",
            value=f"RANGE {query.range}, SLIDE {query.slide}, SLACK {query.slack}",
            hint="make the circuit for the greatest RANGE / SLIDE",
        )


def constants_of(design: AggregateDesign) -> data.StructLayout:
    """The whole numbers of all conditions, by the names of `constant_name`."""
    registers = [one for one in registers_of(design) if one.name.startswith("constant")]
    return data.StructLayout({f"query{one.query}_{one.name}": one.shape for one in registers})


class Configuration(wiring.Component):
    """Holds the registers. `stopped` is 1 from the first write on until that to `START`.

    After that `restart` is 1 for one cycle, in which everything is reset, and in the next `start`, from which on it
    prepares itself; so it does after a reset of the circuit.
    """

    def __init__(self, design: AggregateDesign) -> None:
        self.design = design
        numbers = range(len(design.queries))
        super().__init__(
            {
                "configure": In(stream.Signature(write_of(design))),
                "constants": Out(constants_of(design)),
                "restart": Out(1),
                "start": Out(1),
                "stopped": Out(1),
                **{f"settings{number}": Out(settings_of(design)) for number in numbers},
            }
        )

    def elaborate(self, _: Any) -> Module:
        m = Module()
        write = self.configure.payload
        starts = self.configure.valid & (write.address == START)
        m.d.comb += self.configure.ready.eq(1)
        started = Signal(init=1)
        m.d.comb += self.start.eq(started)
        m.d.sync += [self.restart.eq(starts), started.eq(self.restart)]
        with m.If(self.configure.valid):
            m.d.sync += self.stopped.eq(~starts)
        for register in registers_of(self.design):
            held = Signal(register.shape, init=register.value, name=f"query{register.query}_{register.name}")
            with m.If(self.configure.valid & (write.address == register.address)):
                m.d.sync += held.eq(write.value)
            m.d.comb += self._place(register).eq(held)
        return m

    def _place(self, register: Register) -> Any:
        if register.name.startswith("constant"):
            return self.constants[f"query{register.query}_{register.name}"]
        return getattr(self, f"settings{register.query}")[register.name]


def _values(design: AggregateDesign, query: WindowQuery) -> Iterator[tuple[str, Shape, int]]:
    shapes = settings_of(design)
    for name, value in settings_values(design, query).items():
        yield name, Shape.cast(shapes[name].shape), value
    widest = max((one.width for one in design.layout.fields), default=1)
    for place, value in enumerate(_constants(query)):
        yield f"constant{place}", signed(1 + max(widest, value.bit_length())), value


def _constants(query: WindowQuery) -> list[int]:
    return [value for condition in query.where for value in literals_of(condition)]


def _of_query(registers: Iterator[Register], number: int) -> list[Register]:
    return [next(registers) for _ in range(number)]


def _check_width(register: Register, value: int) -> None:
    lowest = -(1 << register.width - 1) if register.signed else 0
    if not lowest <= value < lowest + (1 << register.width):
        raise ConfigurationError(
            f"must fit into the {register.width} bits of its register",
            parameter=register.name,
            value=value,
            hint="make the circuit for wider numbers",
        )
