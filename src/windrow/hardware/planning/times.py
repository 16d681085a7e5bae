"""The clock of a circuit: which times of the stream its unsigned numbers of so many bits stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, lcm

from windrow.errors import ConfigurationError, UnsupportedError
from windrow.hardware.planning.options import CircuitOptions
from windrow.plan.nodes import Stream
from windrow.plan.types.kinds import domain_of
from windrow.semantics.progress.partitions import partitioned_by
from windrow.semantics.progress.policies import AtEnd, External, Ordered, Slack, SlackRows
from windrow.semantics.scalars.amounts import Amount, Domain, render
from windrow.semantics.windows.kinds import Sliding


@dataclass(frozen=True)
class CircuitClock:
    """A time t of the stream is (t - origin) // unit in the circuit, of which the lowest `width` bits are kept.

    Windows of every query end at origin + k * slide. `step` is the grid of all of them: promises in between say
    nothing. At origin + k * `cycle` windows of all queries end: a clock may start there. `ahead` is how far rows may be
    ahead of the last promise; `domain` is how users read times.
    """

    unit: int
    origin: int
    width: int
    step: int
    cycle: int
    ahead: int
    domain: Domain

    @property
    def half(self) -> int:
        """Times this far apart, in units, can no longer be told which is before the other."""
        return 1 << (self.width - 1)

    def units(self, amount: int) -> int:
        """A length in units, rounded up."""
        return -(-amount // self.unit)


def clock_of(stream: Stream, windows: Sequence[Sliding], options: CircuitOptions) -> CircuitClock:
    """The clock for windows over a stream, or the reason why there is none."""
    domain = domain_of(stream.schema.field(stream.time).type)
    common = gcd(*(length for one in windows for length in (one.range, one.slide)))
    unit = _unit(options, common, domain)
    origin = _origin(windows)
    step = gcd(*(one.slide for one in windows))
    cycle = lcm(*(one.slide for one in windows))
    clock = CircuitClock(unit, origin, options.time_width, step, cycle, _ahead(stream, options, domain), domain)
    longest = max(one.range + one.slide for one in windows)
    needed = clock.units(longest + clock.ahead + step)
    if needed >= clock.half // 2:
        raise ConfigurationError(
            f"must have at least {needed.bit_length() + 2} bits, for RANGE, SLIDE and how far rows are ahead are "
            f"{needed} units of {render(unit, domain)}",
            parameter="time_width",
            value=options.time_width,
            hint="give more bits, or a coarser time unit",
        )
    return clock


def _unit(options: CircuitOptions, common: int, domain: Domain) -> int:
    if options.time_unit is None:
        return common
    unit = Amount.of(options.time_unit, "time_unit").resolve(domain, "time_unit")
    if unit < 1 or common % unit:
        raise ConfigurationError(
            f"must divide RANGE and SLIDE, and so {render(common, domain)}",
            parameter="time_unit",
            value=str(options.time_unit),
        )
    return unit


def _origin(windows: Sequence[Sliding]) -> int:
    """The one time, least above the first origin, at which windows of all queries could end."""
    origin, step = windows[0].origin % windows[0].slide, windows[0].slide
    for one in windows[1:]:
        for _ in range(one.slide // gcd(step, one.slide)):
            if (origin - one.origin) % one.slide == 0:
                break
            origin += step
        else:
            raise UnsupportedError(
                "must have one time at which windows of all queries of a circuit end",
                parameter="origin",
                value=", ".join(str(other.origin) for other in windows),
                hint="give the queries the same ORIGIN, or a circuit each",
            )
        step = lcm(step, one.slide)
    return origin


def _ahead(stream: Stream, options: CircuitOptions, domain: Domain) -> int:
    """How far rows may be ahead of the last promise: what the policy promises, else what the user says."""
    policy = stream.policy
    if options.ahead is not None:
        return Amount.of(options.ahead, "ahead").resolve(domain, "ahead")
    if isinstance(policy, Slack):
        return policy.amount.resolve(domain, "slack")
    if isinstance(policy, Ordered):
        return 0
    what = "slack in rows" if isinstance(policy, SlackRows) else "punctuations"
    raise ConfigurationError(
        f"must say how far rows may be ahead of the last promise, which {what} leave open",
        parameter="ahead",
        hint="give it as an amount of time, such as --ahead '60 s'; a simulation takes it from the data",
    )


def check_policy(stream: Stream) -> None:
    """Refuse a stream whose promises a circuit could not use."""
    policy = stream.policy
    if isinstance(policy, AtEnd):
        raise UnsupportedError(
            "must say how windows close in hardware: without promises none ever would",
            parameter="progress",
            value=f"none for {stream.name}",
            hint="say PROGRESS ON ... SLACK 60 SECONDS in CREATE STREAM, or progress=wr.slack('60 s')",
        )
    if isinstance(policy, External) and policy.per:
        raise UnsupportedError(
            "punctuations for single groups are not available in hardware: all groups have one clock",
            hint="punctuate all of the stream",
        )
    if partitioned_by(policy):
        raise UnsupportedError(
            "progress by partition is not available in hardware: the rows of a circuit have one clock",
            hint=f"leave out PER {', '.join(partitioned_by(policy))} of {stream.name} and give more slack, or run it "
            "with --engine local or spark",
        )
