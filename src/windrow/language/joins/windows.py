"""The window clauses of a join's two sides, read together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from windrow.errors import Position, QueryError
from windrow.language.expressions.names import Side
from windrow.language.expressions.positions import pointing
from windrow.language.grammar.clauses import UNBOUNDED, Clause, ClausePart
from windrow.language.queries.relations import Relation
from windrow.language.queries.windows import origin_of
from windrow.plan.build.joins import last_rows, sliding, tumbling
from windrow.semantics.joins import JoinWindow
from windrow.semantics.scalars.amounts import Amount, Domain

_REFUSED = {
    "SLIDE": (
        "does not go with the window of a join, which moves with every row",
        "leave it out; an aggregate may have one: count(*) [RANGE 2 MINUTES SLIDE 1 MINUTE WATTR a.ts]",
    ),
    **dict.fromkeys(
        ("GAP", "PATTR", "RATTR", "SATTR", "ORDER BY"),
        (
            "does not go with the window of a join",
            "write [RANGE 3 MINUTES WATTR ts], [RANGE TUMBLING 5 MINUTES WATTR ts] or [RANGE 100 ROWS]",
        ),
    ),
}


@dataclass(frozen=True)
class JoinInput:
    """One input of FROM, and the window clause next to it; that of a join is what the next one may go on with."""

    relation: Relation
    clause: Clause | None
    syntax: exp.Expr
    is_join: bool = False

    @property
    def side(self) -> Side:
        return self.relation.scope.sides[0]

    @property
    def where(self) -> Position:
        assert self.clause is not None
        return self.clause.where

    @property
    def part(self) -> ClausePart:
        part = self.clause.part("RANGE") if self.clause else None
        assert part is not None
        return part

    @property
    def range(self) -> Amount:
        value = self.part.value
        assert isinstance(value, Amount)
        assert self.clause is not None
        return Amount(value.number, "rows") if self.relation.counts_rows(self.clause) else value

    @property
    def is_tumbling(self) -> bool:
        return self.clause is not None and self.clause.tumbling

    def check(self) -> None:
        """Refuse what has no meaning in the window of a join."""
        if self.clause is not None:
            for parameter, rule, hint, where in _wrong_parts(self.clause):
                raise QueryError(rule, parameter=parameter, hint=hint, position=where)
            self.relation.counts_rows(self.clause)
            self.relation.attribute(self.clause)


def read_join_window(left: JoinInput, right: JoinInput, domain: Domain) -> JoinWindow | None:
    """The window of a join; None where neither side has a clause.

    One `RANGE TUMBLING` after the right side is for both.
    """
    for side in (left, right):
        side.check()
    if left.clause is None and right.clause is None:
        return None
    if left.clause is None and right.is_tumbling:
        left = right
    if left.clause is None or right.clause is None:
        raise _one_sided(left, right)
    if left.is_tumbling or right.is_tumbling:
        return _tumbling(left, right, domain)
    if left.range.is_rows != right.range.is_rows:
        raise QueryError(
            "must be in rows on both sides, or in time on both",
            parameter="range",
            value=f"{left.range} and {right.range}",
            hint="write [RANGE 100 ROWS] after both, or [RANGE 3 MINUTES] after both",
            position=right.part.where,
        )
    window = last_rows if left.range.is_rows else partial(sliding, domain=domain)
    for side in (left, right):
        with pointing(side.part.where):
            window(side.range, side.range)
    return window(left.range, right.range)


def _wrong_parts(clause: Clause) -> Iterator[tuple[str, str, str, Position]]:
    """What is refused: parameter, rule, hint and place."""
    for part in clause.parts:
        rule, hint = _REFUSED.get(part.keyword, ("", ""))
        if part.value == UNBOUNDED:
            rule, hint = "must be bounded in a join, or every row would be kept for ever", "write RANGE 3 MINUTES"
        if rule:
            yield part.keyword.lower().replace(" ", "_"), rule, hint, part.where
    if clause.part("ORIGIN") is not None and not clause.tumbling:
        rule = "goes with RANGE TUMBLING: other windows of a join move with every row"
        yield "origin", rule, "leave it out", clause.where
    if clause.part("RANGE") is None:
        yield "range", "must be given in a window clause", "write [RANGE 3 MINUTES WATTR ts]", clause.where


def _one_sided(left: JoinInput, right: JoinInput) -> QueryError:
    given, other = (left, right) if right.clause is None else (right, left)
    return QueryError(
        "must be given for both sides of a join, or for neither",
        parameter="window",
        value=f"only for {given.side.alias}",
        hint=f"put [RANGE 3 MINUTES] after {other.side.alias} too, or [RANGE TUMBLING 5 MINUTES] after "
        f"{right.side.alias} for both",
        position=given.where,
    )


def _tumbling(left: JoinInput, right: JoinInput, domain: Domain) -> JoinWindow:
    if not (left.is_tumbling and right.is_tumbling):
        raise QueryError(
            "must be tumbling on both sides, or on neither",
            parameter="window",
            hint="write RANGE TUMBLING for both, or once, after the last stream",
            position=(right if left.is_tumbling else left).where,
        )
    made = []
    for side in (left, right):
        assert side.clause is not None
        with pointing(side.part.where):
            if side.range.is_rows:
                raise QueryError(
                    "must be in time for tumbling windows of a join",
                    parameter="range",
                    value=str(side.range),
                    hint="write [RANGE 100 ROWS] after both streams, which counts rows as they come",
                )
            made.append(tumbling(side.range, domain, origin_of(side.clause)))
    if made[0] != made[1]:
        raise QueryError(
            "must be the same on both sides: rows join that are in the same window",
            parameter="range",
            value=f"{left.range} and {right.range}",
            hint="write it once, after the last stream",
            position=right.part.where,
        )
    return made[0]
