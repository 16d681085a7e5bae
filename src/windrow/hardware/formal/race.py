"""Two circuits, the same elements, each at its own pace: their results must be the same ones in the same order.

The elements are free but the same ones for both: they are read from the port `elements` in the first cycle and kept. So
is the place of the one result that is compared: what is true of any place is true of all, and a solver has far less to
keep than with all results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from windrow.hardware.formal.standing_inputs import as_at_first

Rule = Callable[[Module, Sequence[Any]], Value]
"""Which sequences of elements a proof is about, as a bit."""


@dataclass(frozen=True)
class Racer:
    """A circuit in a race. Where `waits` is set, gaps in its input and readers that are not ready are tried too."""

    component: wiring.Component
    waits: bool = False


class Race(wiring.Component):
    """`bad` rises when results differ, when one circuit gave more of them, or when one is not done in cycle `last`."""

    def __init__(self, first: Racer, second: Racer, *, elements: int, results: int, last: int, rule: Rule) -> None:
        self.runners, self.number, self.results, self.last, self.rule = (first, second), elements, results, last, rule
        self.element = first.component.input.payload.shape()
        self.result = first.component.output.payload.shape()
        ports: dict[str, Any] = {"elements": In(self.element.size * elements), "place": In(range(results))}
        for place, runner in zip("ab", self.runners, strict=True):
            if runner.waits:
                ports |= {f"{place}_offers": In(1), f"{place}_ready": In(1)}
            ports |= {f"{place}_takes": Out(1), f"{place}_element": Out(self.element)}
            ports |= {f"{place}_gives": Out(1), f"{place}_result": Out(self.result)}
        super().__init__({**ports, "bad": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        whole, chosen = as_at_first(m, self.elements, self.place)
        size = self.element.size
        elements = [data.View(self.element, whole[at * size : (at + 1) * size]) for at in range(self.number)]
        allowed = Signal()
        m.d.comb += allowed.eq(self.rule(m, elements))
        first, second = (
            self._run(m, place, runner, elements, chosen) for place, runner in zip("ab", self.runners, strict=True)
        )
        differs = (chosen < first.given) & (chosen < second.given) & (first.result != second.result)
        uneven = first.done & second.done & (first.given != second.given)
        cycle = Signal(range(self.last + 2))
        with m.If(cycle <= self.last):
            m.d.sync += cycle.eq(cycle + 1)
        overdue = (cycle == self.last) & ~(first.done & second.done)
        if any(runner.waits for runner in self.runners):
            overdue = overdue & 0  # who may wait for ever need not be done
        m.d.comb += self.bad.eq(allowed & (differs | uneven | overdue | first.full | second.full))
        return m

    def _run(self, m: Module, place: str, runner: Racer, elements: Sequence[Any], chosen: Signal) -> _Finish:
        """Feed a circuit and note what it gives."""
        m.submodules[f"circuit_{place}"] = circuit = runner.component
        takes, gives = getattr(self, f"{place}_takes"), getattr(self, f"{place}_gives")
        next_one = Signal(range(self.number + 1), name=f"{place}_next")
        holds = Signal(name=f"{place}_holds")
        finish = _Finish(
            Signal(self.result.size, name=f"{place}_chosen"),
            Signal(range(self.results + 1), name=f"{place}_given"),
            Signal(name=f"{place}_done"),
            Signal(name=f"{place}_full"),
        )
        offers = getattr(self, f"{place}_offers") if runner.waits else 1
        m.d.comb += [
            circuit.input.valid.eq((next_one < self.number) & (offers | holds)),
            circuit.input.payload.eq(Array(Value.cast(one) for one in elements)[next_one]),
            circuit.output.ready.eq(getattr(self, f"{place}_ready") if runner.waits else 1),
            takes.eq(circuit.input.valid & circuit.input.ready),
            gives.eq(circuit.output.valid & circuit.output.ready),
            Value.cast(getattr(self, f"{place}_element")).eq(Mux(takes, Value.cast(circuit.input.payload), 0)),
            Value.cast(getattr(self, f"{place}_result")).eq(Mux(gives, Value.cast(circuit.output.payload), 0)),
        ]
        m.d.sync += [next_one.eq(next_one + takes), holds.eq(circuit.input.valid & ~circuit.input.ready)]
        self._note(m, circuit.output.payload, gives, finish, chosen)
        return finish

    def _note(self, m: Module, payload: Any, gives: Value, finish: _Finish, chosen: Signal) -> None:
        done = 1 << self.result["done"].offset  # what else is in it is nobody's business
        with m.If(gives & ~finish.done):
            m.d.sync += finish.done.eq(payload.done)
            with m.If(finish.given == self.results):
                m.d.sync += finish.full.eq(1)
            with m.Else():
                m.d.sync += finish.given.eq(finish.given + 1)
            with m.If(finish.given == chosen):
                m.d.sync += finish.result.eq(Mux(payload.done, done, Value.cast(payload)))


@dataclass(frozen=True)
class _Finish:
    """What a circuit gave: the chosen result, how many, whether it was done, whether there were more than expected."""

    result: Signal
    given: Signal
    done: Signal
    full: Signal


def promised_order(*, ahead: int, behind: int) -> Rule:
    """The streams that aggregates are promised: promises do not go back, rows lie around the last promise.

    A row is less than `ahead` after the last promise and at most `behind` before it, a promise at most `behind` after
    the one before. The last element ends the stream, and no other does.
    """

    def rule(m: Module, elements: Sequence[Any]) -> Value:
        promise, checks = None, []
        for number, element in enumerate(elements):
            is_last = number == len(elements) - 1
            distance = Signal(signed(len(element.time)), name=f"distance{number}")
            m.d.comb += distance.eq(element.time - (0 if promise is None else promise))
            row = ~element.punctuation & (distance < ahead) & (distance >= -behind)
            step = element.punctuation & (distance >= 0) & (distance <= behind)
            checks.append((step if is_last else row | step) & (element.last == is_last))
            following = Signal.like(element.time, name=f"promise{number}")
            m.d.comb += following.eq(Mux(element.punctuation, element.time, 0 if promise is None else promise))
            promise = following
        return Cat(checks).all()

    return rule
