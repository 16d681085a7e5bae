"""The aggregates by name, built-in and registered."""

from __future__ import annotations

from difflib import get_close_matches

from windrow.aggregates.approx_distinct import ApproxDistinct
from windrow.aggregates.holistic import Collect, CountDistinct, HeavyHitters, Median, Mode, Quantile, TopK
from windrow.aggregates.kinds.base import Aggregate
from windrow.aggregates.kinds.custom import UserAggregate
from windrow.aggregates.one_value import OneValue
from windrow.aggregates.sums import Avg, Count, Sum, Variance
from windrow.errors import ConfigurationError, QueryError

_BUILT_IN: tuple[Aggregate, ...] = (
    Count(),
    CountDistinct(),
    ApproxDistinct(),
    Sum(),
    Avg(),
    OneValue("min", timed=False, last=False),
    OneValue("max", timed=False, last=True),
    Variance("variance", sample=True, root=False),
    Variance("var_pop", sample=False, root=False),
    Variance("stddev", sample=True, root=True),
    Variance("stddev_pop", sample=False, root=True),
    OneValue("first", timed=True, last=False),
    OneValue("last", timed=True, last=True),
    Median(),
    Quantile(),
    Mode(),
    TopK(),
    HeavyHitters(),
    Collect(),
)
_BY_NAME: dict[str, Aggregate] = {aggregate.name: aggregate for aggregate in _BUILT_IN}
_registered: list[str] = []


def names() -> tuple[str, ...]:
    return tuple(_BY_NAME)


def lookup(name: str) -> Aggregate:
    """The aggregate of that name, or an error that names the nearest one."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    near = get_close_matches(name, _BY_NAME, n=1)
    hint = f"did you mean {near[0]}" if near else "the aggregates are " + ", ".join(sorted(_BY_NAME))
    raise QueryError("is not an aggregate", parameter=name, hint=hint)


def register(aggregate: UserAggregate) -> UserAggregate:
    """Make an aggregate of your own known by its name, in SQL and in Python."""
    if any(aggregate.name == built_in.name for built_in in _BUILT_IN):
        raise ConfigurationError(
            "is a built-in aggregate and cannot be replaced", parameter=aggregate.name, hint="give yours another name"
        )
    _BY_NAME[aggregate.name] = aggregate
    _registered.append(aggregate.name)
    return aggregate


def version() -> int:
    """A number that changes whenever an aggregate is registered: what was derived under another one may be stale."""
    return len(_registered)


__all__ = ["Aggregate", "UserAggregate", "lookup", "names", "register", "version"]
