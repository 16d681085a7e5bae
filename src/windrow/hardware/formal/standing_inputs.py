"""Inputs that are free but stand still: a proof is then about every value that they may have."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal


def as_at_first(m: Module, *ports: Signal) -> list[Signal]:
    """Inputs as they are in the first cycle, in all cycles."""
    is_first, found = Signal(init=1), []
    m.d.sync += is_first.eq(0)
    for port in ports:
        kept, value = Signal.like(port, name=f"kept_{port.name}"), Signal.like(port, name=f"same_{port.name}")
        with m.If(is_first):
            m.d.sync += kept.eq(port)
        m.d.comb += value.eq(Mux(is_first, port, kept))
        found.append(value)
    return found
