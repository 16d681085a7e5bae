"""Hypothesis strategies for disordered streams, windows and aggregates, shared by all tests.

A row is `{"ts": int, "k": str | None, "g": int | None, "x": int | None, "y": float | None}`.

    elements(late=True)      rows and punctuations in order of arrival; with late=False no row is below the bound
    windows()                sliding (tumbling, uneven, with holes, any origin), landmark and session windows
    aggregate_lists()        lists of (name, function, column, parameters); `calls` turns one into aggregate calls
    comparable(results)      results as values that `==` can compare, in an order that does not depend on theirs
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import strategies as st

from windrow.semantics.progress.policies import END, START, Punctuation
from windrow.semantics.scalars.expressions import Column, Expression
from windrow.semantics.windows.kinds import Landmark, Session, SlideBy, SlideByTuple, Sliding, Window

Aggregate: TypeAlias = tuple[str, str, str | None, tuple[Any, ...]]
Element: TypeAlias = dict[str, Any] | Punctuation

SPREAD = 120
"""How far apart the values of one stream lie, unless a test asks for more: brute force must stay cheap."""
BASES = (0, 0, 0, -60, 1_700_000_000_000_000, -(1 << 50), (1 << 50) - SPREAD)
"""Where a stream begins; the attribute's values may be huge or negative."""
KEYS = ("a", "b", "c", "", None)
EXTREME_INTS = ((1 << 63) - 1, -(1 << 63), (1 << 62), -(1 << 62), (1 << 53) + 1)
EXTREME_FLOATS = (math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1.7e308, -1.7e308, 1e-200, 0.1)


def xs(*, extremes: bool = True) -> st.SearchStrategy[int | None]:
    """Small whole numbers with many ties, NULL, and rarely the ends of 64 bits."""
    usual = st.integers(-5, 5)
    wide = st.integers(-(10**6), 10**6)
    rare = [st.sampled_from(EXTREME_INTS)] if extremes else []
    return st.one_of(usual, usual, usual, wide, st.none(), *rare)


def ys(*, extremes: bool = True) -> st.SearchStrategy[float | None]:
    """Floats with ties, NULL, and rarely NaN, infinities, zeros of both signs, the tiniest and the hugest."""
    usual = st.sampled_from((-1.5, -1.0, 0.25, 0.5, 1.0, 2.0, 3.75))
    wide = st.floats(-1e9, 1e9)
    rare = [st.sampled_from(EXTREME_FLOATS)] if extremes else []
    return st.one_of(usual, usual, wide, st.none(), *rare)


def rows(ts: st.SearchStrategy[int], *, extremes: bool = True) -> st.SearchStrategy[dict[str, Any]]:
    """One row with its value of the progressing attribute from `ts`."""
    return st.fixed_dictionaries(
        {
            "ts": ts,
            "k": st.sampled_from(KEYS),
            "g": st.sampled_from((0, 1, 2, None)),
            "x": xs(extremes=extremes),
            "y": ys(extremes=extremes),
        }
    )


def punctuations(by: str | None = None) -> st.SearchStrategy[tuple[int, tuple[Any, ...] | None]]:
    """How far a punctuation is ahead of the last one, and the group it is for; `by` names the group's column."""
    advances = st.one_of(st.just(0), st.integers(0, 12), st.integers(0, SPREAD))
    values = {"k": KEYS, "g": (0, 1, 2, None)}[by] if by else ()
    groups = st.one_of(st.none(), st.sampled_from(values).map(lambda value: (value,))) if by else st.none()
    return st.tuples(advances, groups)


@st.composite
def elements(
    draw: st.DrawFn,
    late: bool = True,
    *,
    by: str | None = None,
    extremes: bool = True,
    spread: int = SPREAD,
    max_size: int = 40,
) -> list[Element]:
    """Rows and punctuations in order of arrival, from none to `max_size`; punctuations never go back.

    Rows come in any order within `spread`, with ties. With `late=False` no row lies below the bound in force.
    With `by="k"` or `"g"` some punctuations are for one group of that column. `spread=1 << 51` gives streams
    whose values lie far apart (not for landmark windows or empty ones: there would be too many).
    """
    base = draw(st.sampled_from(BASES)) if spread <= SPREAD else -(spread // 2)
    offsets = st.one_of(st.integers(0, min(spread, 12)), st.integers(0, spread))
    row = rows(offsets, extremes=extremes)
    size = draw(st.sampled_from((0, 0, max_size // 4, max_size // 2, max_size // 2)))  # lists alone stay too short
    parts = draw(st.lists(st.one_of(row, row, row, punctuations(by)), min_size=size, max_size=max_size))
    return list(_arrange(parts, base, late, by))


def _arrange(parts: Iterable[Any], base: int, late: bool, by: str | None) -> Iterable[Element]:
    """Offsets become values; advances become punctuations above the last one of their group."""
    bounds: dict[Any, int] = {None: START}
    for part in parts:
        if isinstance(part, tuple):
            advance, group = part
            bounds[group] = max(bounds.get(group, START), base) + advance
            yield Punctuation(bounds[group], group)
        else:
            bound = max(bounds[None], bounds.get((part[by],), START) if by else START)
            ts = base + part["ts"]
            yield {**part, "ts": ts if late else min(max(ts, bound), END - 1)}


def sliding(attribute: str = "ts") -> st.SearchStrategy[Sliding]:
    """Tumbling and sliding windows: slides that do not divide the range, or exceed it; origins on both sides."""
    lengths = st.one_of(st.integers(1, 12), st.integers(1, 60))
    origins = st.one_of(st.just(0), st.integers(-20, 20), st.sampled_from((-(1 << 50), 1 << 50)))
    uneven = st.builds(Sliding, st.just(attribute), lengths, lengths, origins)
    tumbling = st.builds(lambda n, origin: Sliding(attribute, n, n, origin), lengths, origins)
    small = st.integers(1, 8)
    even = st.builds(lambda s, n, origin: Sliding(attribute, s * n, s, origin), small, small, origins)
    return st.one_of(uneven, tumbling, even)


def landmarks(attribute: str = "ts") -> st.SearchStrategy[Landmark]:
    return st.builds(Landmark, st.just(attribute), st.integers(3, 50), st.integers(-20, 20))


def sessions(attribute: str = "ts") -> st.SearchStrategy[Session]:
    return st.builds(Session, st.just(attribute), st.integers(1, 20))


def slide_by_tuple(attribute: str = "ts", partition: tuple[str, ...] = ()) -> st.SearchStrategy[SlideByTuple]:
    """Windows that end with every row, or every n-th by arrival or by rank."""
    lengths = st.one_of(st.integers(1, 12), st.integers(1, 60), st.just(1 << 40))
    every = st.sampled_from((1, 1, 1, 2, 3, 7))
    return st.builds(SlideByTuple, st.just(attribute), lengths, every, st.sampled_from(SlideBy), st.just(partition))


def windows(attribute: str = "ts") -> st.SearchStrategy[Window]:
    """Windows on a progressing attribute, of every kind that an engine runs."""
    # Hypothesis counts the three ways of `sliding` one by one, so the others are named more than once.
    others = landmarks(attribute), sessions(attribute)
    return st.one_of(sliding(attribute), *others, *others)


_NUMERIC = ("sum", "avg", "variance", "var_pop", "stddev", "stddev_pop", "median")
_ANY = ("count", "count_distinct", "approx_distinct", "min", "max", "first", "last", "mode", "collect")
_FUNCTIONS = (*_NUMERIC, *_ANY, "quantile", "top_k", "heavy_hitters")


def _shapes(functions: Sequence[str]) -> st.SearchStrategy[tuple[str, str | None, tuple[Any, ...]]]:
    """One of `functions`, the column it reads (None: `*`) and its parameters."""
    numbers, columns, nothing = st.sampled_from(("x", "y")), st.sampled_from(("x", "y", "k")), st.just(())
    kinds = (
        (("count",), st.none(), nothing),
        (_NUMERIC, numbers, nothing),
        (_ANY, columns, nothing),
        (("quantile",), numbers, st.tuples(st.sampled_from((0.0, 0.1, 0.25, 0.9, 1.0)))),
        (("top_k",), columns, st.tuples(st.integers(1, 3))),
        (("heavy_hitters",), columns, st.tuples(st.sampled_from((0.1, 0.3, 0.5)))),
    )
    wanted = [([name for name in names if name in functions], *rest) for names, *rest in kinds]
    return st.one_of(*(st.tuples(st.sampled_from(names), *rest) for names, *rest in wanted if names))


def aggregate_lists(functions: Sequence[str] | None = None, *, max_size: int = 4) -> st.SearchStrategy[list[Aggregate]]:
    """Lists of (name, function, column, parameters) with different names; only of `functions` when given."""
    named = st.lists(_shapes(_FUNCTIONS if functions is None else functions), min_size=1, max_size=max_size)
    return named.map(lambda found: [(f"a{i}", *shape) for i, shape in enumerate(found)])


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate in the shape that the oracle reads."""

    name: str
    function: str
    argument: Expression | None = None
    parameters: tuple[Any, ...] = ()


def calls(aggregates: Iterable[Aggregate]) -> list[AggregateCall]:
    return [AggregateCall(n, f, None if c is None else Column(c), p) for n, f, c, p in aggregates]


def _plain(value: Any) -> Any:
    """A value that equals itself: NaN by name, zero without sign, structs as tuples."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, Mapping):
        return tuple((name, _plain(inner)) for name, inner in value.items())
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def comparable(results: Iterable[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """Results that `==` compares as one wants, sorted, so that only their content counts."""
    return sorted((_plain(result) for result in results), key=repr)
