"""Joins in Python: the words of `join` and `asof_join` as plan nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from windrow.errors import QueryError
from windrow.plan.build.joins import Both, apart, between, last_rows, sliding, tumbling
from windrow.plan.build.queries import Length, choice, rename_streams
from windrow.plan.checks.joins import check_times
from windrow.plan.checks.nodes import shape_of
from windrow.plan.conditions import conjunction, split_interval
from windrow.plan.nodes import Join, JoinStrategy, JoinTime, Late, Node, Stream, walk
from windrow.plan.types.expressions import column_type
from windrow.semantics.joins import LEFT, RIGHT, AsOf, JoinKind, JoinWindow
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal

if TYPE_CHECKING:
    from windrow.sources.base import Source

Joined = TypeVar("Joined", bound="Joins")
On: TypeAlias = str | Expression | Sequence[str] | None
"""A condition as text (`a.key = b.key AND a.price > b.price`), or the names of columns that are equal."""
TwoLengths: TypeAlias = Length | tuple[Length, Length]
Windowing: TypeAlias = tuple[JoinWindow, Expression | None]
"""The window of a join, and what remains of its condition."""


def fresh_names(wanted: Mapping[str, Source], taken: Mapping[str, Source]) -> dict[str, str]:
    """A name for each stream that no other data has: `trades`, `trades_2`, ..."""
    names: dict[str, str] = {}
    for name, source in wanted.items():
        fresh, number = name, 1
        while fresh in names.values() or taken.get(fresh, source) is not source:
            number += 1
            fresh = f"{name}_{number}"
        names[name] = fresh
    return names


def _join_window(both: Both, on: Expression | None, origin: Any, **words: Any) -> Windowing:
    """The window that one of the words names; without one, an interval of times stands in the condition."""
    given = [word for word, value in words.items() if value is not None]
    if len(given) > 1:
        raise QueryError("does not go with " + given[1], parameter=given[0], hint="say one of them")
    word = given[0] if given else ""
    value: Any = words.get(word)
    if origin is not None and word != "tumbling":
        raise QueryError("goes with tumbling", parameter="origin", value=str(origin), hint="leave it out")
    if word == "range":
        return sliding(*_two(value, "range"), both.domain), on
    if word == "tumbling":
        return tumbling(value, both.domain, origin), on
    if word == "rows":
        return last_rows(*_two(value, "rows")), on
    if word == "between":
        if len(value) != 2:
            hint = "say between=('-5 s', '3 s')"
            raise QueryError("must be a pair", parameter="between", value=str(value), hint=hint)
        low, high = value
        return between(low, high, both.domain), on
    window, rest = split_interval(on, both.times, both.schema)
    if window is None:
        raise QueryError(
            "must be bounded in time, or every row would be kept for ever",
            parameter="join",
            hint="say range='3 min', tumbling='5 min', rows=100 or between=('-5 s', '3 s'), or compare the times in on",
        )
    return window, rest


def _two(value: Any, parameter: str) -> tuple[Length, Length]:
    """One for both sides, or a pair of them."""
    found = value if isinstance(value, tuple) else (value, value)
    if len(found) != 2:
        raise QueryError("must be one for both sides, or a pair", parameter=parameter, value=str(value))
    return found


class Joins:
    """The steps of a query that put it together with another, row by row."""

    plan: Node
    sources: Mapping[str, Source]

    def join(
        self: Joined,
        other: Joins,
        on: On = None,
        *,
        how: JoinKind | str = "inner",
        range: TwoLengths | None = None,
        tumbling: Length | None = None,
        origin: Length | datetime | date | None = None,
        rows: int | tuple[int, int] | None = None,
        between: tuple[Length, Length] | None = None,
        aliases: tuple[str, str] | None = None,
        time: JoinTime | str | None = None,
        late: Late | str | None = None,
        strategy: JoinStrategy | str = "auto",
    ) -> Joined:
        """Pairs of rows of both queries that are in each other's window and for which `on` is true.

        `on` is text over both sides by their aliases (`a.key = b.key`; the names of the streams unless `aliases` are
        given) or a list of columns that are equal. The window: `range` of both sides or a pair of them, `tumbling`, the
        last `rows` by arrival, or `between`: how long after the left row the right one may be. `how`: inner, left,
        right, full, semi or anti. `time`: whether progress is on the left, right, earlier or later time.
        """
        words = {"range": range, "tumbling": tumbling, "rows": rows, "between": between}
        settings = {"time": time, "late": late, "strategy": strategy}
        return self._joined(other, on, how, lambda both, on: _join_window(both, on, origin, **words), aliases, settings)

    def asof_join(
        self: Joined,
        other: Joins,
        on: On = None,
        *,
        how: JoinKind | str = "inner",
        within: Length | None = None,
        forward: bool = False,
        strict: bool = False,
        aliases: tuple[str, str] | None = None,
        late: Late | str | None = None,
        strategy: JoinStrategy | str = "auto",
    ) -> Joined:
        """Each row with the last row of the other query at or before its time; `forward`: the first at or after it.

        `strict` leaves out equal times, `within` bounds how far apart the two may be; `how` is inner or left.
        """

        def nearest(both: Both, on: Expression | None) -> Windowing:
            return AsOf(forward, strict, None if within is None else apart(within, both.domain)), on

        return self._joined(other, on, how, nearest, aliases, {"late": late, "strategy": strategy})

    def _joined(
        self: Joined,
        other: Joins,
        on: On,
        how: JoinKind | str,
        find_window: Callable[[Both, Expression | None], Windowing],
        aliases: tuple[str, str] | None,
        settings: Mapping[str, Any],
    ) -> Joined:
        if not isinstance(other, Joins):
            raise QueryError("must be a query", parameter="other", value=str(other), hint="wr.stream(...) makes one")
        names = fresh_names(other.sources, self.sources)
        right = rename_streams(other.plan, names)
        called = _checked(aliases or (_alias(self.plan), _alias(right)), self.plan)
        both = Both(self.plan, right, called, choice(JoinKind, how, "how"))
        check_times(called, both.shapes)
        window, condition = find_window(both, _read_on(on, both))
        kinds = {"late": Late, "strategy": JoinStrategy, "time": JoinTime}
        chosen = {name: choice(kinds[name], value, name) for name, value in settings.items() if value is not None}
        node = both.join(window, condition, **chosen)
        shape_of(node)
        sources = {**self.sources, **{names[name]: source for name, source in other.sources.items()}}
        return replace(self, plan=node, sources=sources)  # type: ignore[type-var]


def _alias(plan: Node) -> str:
    """What a side is called unless it is given a name: its first stream, or what was joined before."""
    if isinstance(plan, Join):
        return "_".join(plan.aliases)
    return next(node.name for node in walk(plan) if isinstance(node, Stream))


def _checked(aliases: tuple[str, str], left: Node) -> tuple[str, str]:
    if len(aliases) != 2:
        raise QueryError("must be a pair of names", parameter="aliases", value=str(aliases), hint="say ('a', 'b')")
    taken = [aliases[LEFT], *(left.aliases if isinstance(left, Join) else ())]
    if aliases[RIGHT].lower() in [name.lower() for name in taken]:
        raise QueryError(
            "must be two different names",
            parameter="aliases",
            value=", ".join(aliases),
            hint="say aliases=('a', 'b'), then on='a.key = b.key'",
        )
    return aliases


def _read_on(on: On, both: Both) -> Expression | None:
    """The condition of a join over the names that its columns have there."""
    if on is None or isinstance(on, (Column, Literal, Call)):
        return on
    if not isinstance(on, (str, list, tuple)) or not all(isinstance(name, str) for name in on):
        hint = "write on='a.key = b.key', or on=['key']"
        raise QueryError("must be text, or a list of columns", parameter="on", value=str(on), hint=hint)
    if isinstance(on, str):
        if all(on in shape.schema.names for shape in both.shapes):
            return _equal(on, both)
        from windrow.language import parse_condition

        return parse_condition(on, both)
    return conjunction([_equal(name, both) for name in on])


def _equal(name: str, both: Both) -> Expression:
    for shape in both.shapes:
        column_type(name, shape.schema)
    return Call("=", tuple(Column(both.called(side)[name]) for side in (LEFT, RIGHT)))
