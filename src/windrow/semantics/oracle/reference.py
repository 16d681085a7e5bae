"""Aggregates by definition: from the whole extent at once, exact, and the same for every order of rows.

Each takes the `(t, value)` pairs of an extent and the constant parameters. NULL (None) is ignored everywhere;
`count(*)` passes True for every row. Over no values at all the answer is NULL, or 0 for counts, or an empty list.
NaN is the greatest number and equals itself; -0.0 equals 0.0 and is reported as 0.0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, TypeAlias

from windrow.errors import SumOverflowError
from windrow.semantics.oracle.sketch import DEFAULT_ERROR, approximate
from windrow.semantics.scalars.arithmetic import INT64
from windrow.semantics.scalars.ordering import normal, order_key

Pairs: TypeAlias = list[tuple[int, Any]]
Parameters: TypeAlias = tuple[Any, ...]
Reference: TypeAlias = Callable[[Pairs, Parameters], Any]


def _values(pairs: Pairs) -> list[Any]:
    return [normal(value) for _, value in pairs if value is not None]


def _sorted(pairs: Pairs) -> list[Any]:
    return sorted(_values(pairs), key=order_key)


def _by_time(pairs: Pairs) -> list[Any]:
    timed = [(t, normal(value)) for t, value in pairs if value is not None]
    return [value for _, value in sorted(timed, key=lambda pair: (pair[0], order_key(pair[1])))]


def _to_float(exact: Fraction) -> float:
    """The nearest float; beyond the largest, infinity."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _special(values: Iterable[Any]) -> float | None:
    """The sum when infinities or NaN decide it, else None."""
    odd = {value for value in map(normal, values) if isinstance(value, float) and not math.isfinite(value)}
    if not odd:
        return None
    return math.nan if len(odd) > 1 else next(iter(odd))


def float_sum(values: list[float]) -> float:
    """The exact sum, rounded once.

    >>> float_sum([1e308, 1e308, -1e308, 0.1]), float_sum([math.inf, -math.inf])
    (1e+308, nan)
    """
    special = _special(values)
    if special is not None:
        return special
    try:
        return math.fsum(values) + 0.0
    except OverflowError:  # fsum also gives up on sums that only pass through infinity
        return _to_float(sum(map(Fraction, values), Fraction()))


def _sum(pairs: Pairs, _: Parameters) -> int | float | None:
    values = _values(pairs)
    if not values:
        return None
    if any(isinstance(value, float) for value in values):
        return float_sum(values)
    total: int = sum(values)
    if total not in INT64:
        raise SumOverflowError(
            "must fit into 64 bits",
            parameter="sum",
            value=total,
            hint="sum a double instead: sum(CAST(x AS DOUBLE))",
        )
    return total


def _avg(pairs: Pairs, _: Parameters) -> float | None:
    values = _values(pairs)
    if not values:
        return None
    if any(isinstance(value, float) for value in values):
        return float_sum(values) / len(values)
    return _to_float(Fraction(sum(values), len(values)))


def _variance(pairs: Pairs, taken: int) -> float | None:
    """The sum of squared distances to the mean over the number of values less those `taken`, exact, rounded once."""
    values = _values(pairs)
    degrees = len(values) - taken
    if degrees < 1:
        return None
    if _special(values) is not None:
        return math.nan
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction()) / len(exact)
    return _to_float(sum(((value - mean) ** 2 for value in exact), Fraction()) / degrees)


def _root(value: float | None) -> float | None:
    return None if value is None else math.sqrt(value)


def _first_of(values: list[Any]) -> Any:
    return values[0] if values else None


def _last_of(values: list[Any]) -> Any:
    return values[-1] if values else None


def quantile_of(ordered: list[Any], q: float) -> float | None:
    """The value at position `q * (n - 1)` of the ordered values, between two of them by linear interpolation.

    >>> quantile_of([1, 2, 10], 0.5), quantile_of([1, 2, 10], 0.75), quantile_of([], 0.5)
    (2.0, 6.0, None)
    """
    if not ordered:
        return None
    position = q * (len(ordered) - 1)
    below = math.floor(position)
    share = position - below
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    return low if share == 0 or low == high else low * (1.0 - share) + high * share


def _ranked(pairs: Pairs) -> list[tuple[Any, int]]:
    """Each value with its count, most frequent first, ties by the smaller value."""
    return sorted(Counter(_values(pairs)).items(), key=lambda item: (-item[1], order_key(item[0])))


def _structs(ranked: Iterable[tuple[Any, int]]) -> list[dict[str, Any]]:
    return [{"value": value, "count": count} for value, count in ranked]


def _heavy_hitters(pairs: Pairs, parameters: Parameters) -> list[dict[str, Any]]:
    least = parameters[0] * len(_values(pairs))
    return _structs((value, count) for value, count in _ranked(pairs) if count >= least)


REFERENCE: dict[str, Reference] = {
    "count": lambda pairs, _: len(_values(pairs)),
    "count_distinct": lambda pairs, _: len(set(_values(pairs))),
    "approx_distinct": lambda pairs, parameters: approximate(set(_values(pairs)), *(parameters or (DEFAULT_ERROR,))),
    "sum": _sum,
    "avg": _avg,
    "min": lambda pairs, _: _first_of(_sorted(pairs)),
    "max": lambda pairs, _: _last_of(_sorted(pairs)),
    "variance": lambda pairs, _: _variance(pairs, 1),
    "var_pop": lambda pairs, _: _variance(pairs, 0),
    "stddev": lambda pairs, _: _root(_variance(pairs, 1)),
    "stddev_pop": lambda pairs, _: _root(_variance(pairs, 0)),
    "first": lambda pairs, _: _first_of(_by_time(pairs)),
    "last": lambda pairs, _: _last_of(_by_time(pairs)),
    "median": lambda pairs, _: quantile_of(_sorted(pairs), 0.5),
    "quantile": lambda pairs, parameters: quantile_of(_sorted(pairs), parameters[0]),
    "mode": lambda pairs, _: _first_of([value for value, _ in _ranked(pairs)]),
    "top_k": lambda pairs, parameters: _structs(_ranked(pairs)[: parameters[0]]),
    "heavy_hitters": _heavy_hitters,
    "collect": lambda pairs, _: _by_time(pairs),
}
"""Every aggregate by name; a name that is not here has no definition."""
