"""A front in a few lines that feeds an engine step by step, what must come out of it, and a simulation of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from amaranth.hdl import ResetInserter, Signal
from amaranth.sim import Simulator

from windrow.hardware.circuits.accumulators import Accumulators
from windrow.hardware.design import AggregateDesign, BitLayout, CircuitPart, Field, Function, WindowLevel, WindowQuery
from windrow.semantics.scalars.expressions import Column

LAYOUT = BitLayout((Field("x", 8, nullable=True),))
X = Column("x")
ALL = (
    CircuitPart(Function.COUNT, None, 32),
    CircuitPart(Function.SUM, X, 40, signed=True),
    CircuitPart(Function.MIN, X, 8, signed=True),
    CircuitPart(Function.MAX, X, 8, signed=True),
    CircuitPart(Function.COUNT, X, 32),
)


def design_of(query: WindowQuery, level: WindowLevel, **more: Any) -> AggregateDesign:
    return AggregateDesign(LAYOUT, (query,), time_width=20, window_level=level, **more)


@dataclass(frozen=True)
class Row:
    time: int
    group: int
    value: int | None


@dataclass
class Front:
    """Rows and closes as `engine.step_of` wants them, and the outcomes by brute force."""

    design: AggregateDesign
    rows: list[Row] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[tuple[Any, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.query,) = self.design.queries
        self.end = self.query.slide
        self.algebra = Accumulators(self.query.parts, self.design.layout)

    def row(self, row: Row) -> bool:
        """Give a row to the engine, if the front would: some open window may hold it and there is a module for it."""
        offset, slide = row.time - self.end, self.query.slide
        late = offset < -slide
        if not -self.query.range <= offset < -(-self.query.slack // slide) * slide or (
            late and not self.query.generous
        ):
            return False
        self.rows.append(row)
        known = row.value is not None
        arguments = {name: known if name.startswith("known") else row.value or 0 for name in self._arguments}
        self.steps.append({"time": offset, "late": late, "group": row.group, "arguments": arguments})
        return True

    @property
    def _arguments(self) -> list[str]:
        return [name for name, _ in self.algebra.arguments]

    def close(self) -> None:
        query, groups = self.query, max((row.group for row in self.rows), default=0)
        for group in range(groups + 1):
            step = {"close": 1, "time": self.end, "final": group == groups, "group": group}
            self.steps.append(step)
            inside = [r for r in self.rows if r.group == group and self.end - query.range <= r.time < self.end]
            if inside:
                self.outcomes.append((self.end, group, *(expected(part, inside) for part in query.parts)))
        self.end += query.slide

    @property
    def is_held(self) -> bool:
        return any(row.time >= self.end - self.query.range for row in self.rows)

    def skip(self, slides: int) -> None:
        """Cut a gap out: nothing is open that holds a row."""
        assert not self.is_held
        self.end += slides * self.query.slide

    def finish(self) -> None:
        while self.is_held:
            self.close()
        self.steps.append({"done": 1})


def expected(part: CircuitPart, rows: list[Row]) -> int | None:
    if part.argument is None:
        return len(rows)
    values = [row.value for row in rows if row.value is not None]
    if part.function is Function.COUNT:
        return len(values)
    functions: dict[Function, Any] = {Function.SUM: sum, Function.MIN: min, Function.MAX: max}
    return functions[part.function](values) if values else None


def random_front(design: AggregateDesign, seed: int, steps: int, *, late: float = 0.1, closes: float = 0.2) -> Front:
    """Rows with gaps and bursts of closes, some of them late."""
    random, front = Random(seed), Front(design)
    (query,) = design.queries
    reach = -(-query.slack // query.slide) * query.slide
    quiet = 0
    while len(front.steps) < steps:
        quiet = quiet - 1 if quiet else random.choice([0] * 30 + [random.randrange(3 * query.range // query.slide + 4)])
        if quiet or random.random() < closes:
            if not front.is_held and random.random() < 0.5:
                front.skip(random.randrange(5))
            front.close()
            continue
        low = -query.range if random.random() < late else -query.slide
        offset = random.randrange(low, reach) if low < reach else low
        value = random.choice([None, random.randrange(-128, 128), random.randrange(-128, 128)])
        front.row(Row(front.end + offset, random.randrange(query.groups), value))
    front.finish()
    return front


def simulated(engine: Any, front: Front, *, seed: int = 0, gaps: float = 0.0, waits: float = 0.0) -> list[Any]:
    """The outcomes of an engine, with cycles between steps and cycles in which nobody takes an outcome."""
    return simulated_in_turn(engine, (front,), seed=seed, gaps=gaps, waits=waits)[0]


def simulated_in_turn(
    engine: Any, fronts: tuple[Front, ...], *, seed: int = 0, gaps: float = 0.0, waits: float = 0.0
) -> list[list[Any]]:
    """The outcomes of an engine for one stream after another, with a reset after each."""
    random, reset = Random(seed), Signal()
    outcomes: list[list[Any]] = []

    async def feed(ctx: Any) -> None:
        for number, front in enumerate(fronts):
            for step in front.steps:
                while random.random() < gaps:
                    await ctx.tick()
                ctx.set(engine.steps.valid, 1)
                ctx.set(engine.steps.payload, step)
                await ctx.tick().until(engine.steps.ready)
                ctx.set(engine.steps.valid, 0)
            while len(outcomes) <= number:
                await ctx.tick()
            ctx.set(reset, 1)
            await ctx.tick()
            ctx.set(reset, 0)

    async def take(ctx: Any) -> None:
        found: list[Any] = []
        while len(outcomes) < len(fronts):
            ctx.set(engine.outcomes.ready, random.random() >= waits)
            _, _, valid, ready, payload = await ctx.tick().sample(
                engine.outcomes.valid, engine.outcomes.ready, engine.outcomes.payload
            )
            if valid and ready and payload.done:
                outcomes.append(found)
                found = []
            elif valid and ready:
                found.append(decoded(fronts[len(outcomes)], payload))

    run(ResetInserter(reset)(engine), feed, take)
    return outcomes


def overflows(engine: Any, front: Front) -> bool:
    """Whether the engine says for any cycle that a value did not fit."""
    found = []

    async def feed(ctx: Any) -> None:
        ctx.set(engine.outcomes.ready, 1)
        for step in front.steps:
            ctx.set(engine.steps.valid, 1)
            ctx.set(engine.steps.payload, step)
            await ctx.tick().until(engine.steps.ready)
        ctx.set(engine.steps.valid, 0)

    async def watch(ctx: Any) -> None:
        done = False
        while not done:
            _, _, overflow, valid, payload = await ctx.tick().sample(
                engine.overflow, engine.outcomes.valid, engine.outcomes.payload
            )
            found.append(overflow)
            done = valid and payload.done

    run(engine, feed, watch)
    return any(found)


def run(circuit: Any, *benches: Callable[[Any], Any]) -> None:
    simulator = Simulator(circuit)
    simulator.add_clock(1e-6)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run()


def decoded(front: Front, payload: Any) -> tuple[Any, ...]:
    bits, values = payload.parts, []
    for one in front.query.results.fields:
        value = bits & (1 << one.width) - 1
        if one.signed and value >> one.width - 1:
            value -= 1 << one.width
        bits >>= one.width
        if one.nullable:
            values.append(None if bits & 1 else value)
            bits >>= 1
        else:
            values.append(value)
    return (payload.end, payload.group, *values)
