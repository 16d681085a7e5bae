"""The window clauses of a join's two sides, read together."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.errors import Position, QueryError
from windrow.language.expressions.positions import pointing, position
from windrow.language.grammar.clauses import Clause, ClausePart, Unbounded
from windrow.language.queries.windows import WindowReader
from windrow.plan.build.joins import last_rows, sliding, tumbling
from windrow.semantics.joins import JoinWindow
from windrow.semantics.scalars.amounts import Amount, Domain

_OTHERS = ("GAP", "PATTR", "RATTR", "SATTR", "ORDER BY")


@dataclass(frozen=True)
class Windowed:
    """One side of a join: its name, its window clause if it has one, and what reads it."""

    name: str
    clause: Clause | None
    reader: WindowReader

    @property
    def where(self) -> Position:
        assert self.clause is not None
        return position(self.reader.text, self.clause.span)

    @property
    def part(self) -> ClausePart:
        assert self.clause is not None
        part = self.clause.part("RANGE")
        assert part is not None
        return part

    @property
    def range(self) -> Amount:
        assert isinstance(self.part.value, Amount)
        assert self.clause is not None
        counted = self.reader.counts_rows(self.clause)
        return Amount(self.part.value.number, "rows") if counted else self.part.value

    @property
    def is_tumbling(self) -> bool:
        return self.clause is not None and self.clause.tumbling

    @property
    def origin(self) -> Amount | str | None:
        part = self.clause.part("ORIGIN") if self.clause else None
        return part.value if part is not None and isinstance(part.value, (Amount, str)) else None

    def check(self) -> None:
        """Refuse what has no meaning in the window of a join."""
        if self.clause is None:
            return
        _check_parts(self.clause, self.reader.text)
        self.reader.counts_rows(self.clause)
        self.reader.attribute(self.clause)


def read_join_window(left: Windowed, right: Windowed, domain: Domain) -> JoinWindow | None:
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
    if left.range.is_rows or right.range.is_rows:
        return _rows(left, right)
    for side in (left, right):
        with pointing(position(side.reader.text, side.part.span)):
            sliding(side.range, side.range, domain)
    return sliding(left.range, right.range, domain)


def _check_parts(clause: Clause, text: str) -> None:
    for part in clause.parts:
        where = position(text, part.span)
        if part.keyword == "SLIDE":
            raise QueryError(
                "does not go with the window of a join, which moves with every row",
                parameter="slide",
                hint="leave it out; an aggregate may have one: count(*) [RANGE 2 MINUTES SLIDE 1 MINUTE WATTR a.ts]",
                position=where,
            )
        if part.keyword in _OTHERS:
            raise QueryError(
                "does not go with the window of a join",
                parameter=part.keyword.lower().replace(" ", "_"),
                hint="write [RANGE 3 MINUTES WATTR ts], [RANGE TUMBLING 5 MINUTES WATTR ts] or [RANGE 100 ROWS]",
                position=where,
            )
        if isinstance(part.value, Unbounded):
            raise QueryError(
                "must be bounded in a join, or every row would be kept for ever",
                parameter="range",
                hint="write RANGE 3 MINUTES",
                position=where,
            )
    if clause.part("ORIGIN") is not None and not clause.tumbling:
        raise QueryError(
            "goes with RANGE TUMBLING: other windows of a join move with every row",
            parameter="origin",
            hint="leave it out",
            position=position(text, clause.span),
        )
    if clause.part("RANGE") is None:
        raise QueryError(
            "must be given in a window clause",
            parameter="range",
            hint="write [RANGE 3 MINUTES WATTR ts]",
            position=position(text, clause.span),
        )


def _one_sided(left: Windowed, right: Windowed) -> QueryError:
    given, other = (left, right) if right.clause is None else (right, left)
    return QueryError(
        "must be given for both sides of a join, or for neither",
        parameter="window",
        value=f"only for {given.name}",
        hint=f"put [RANGE 3 MINUTES] after {other.name} too, or [RANGE TUMBLING 5 MINUTES] after {right.name} for both",
        position=given.where,
    )


def _tumbling(left: Windowed, right: Windowed, domain: Domain) -> JoinWindow:
    if not (left.is_tumbling and right.is_tumbling):
        raise QueryError(
            "must be tumbling on both sides, or on neither",
            parameter="window",
            hint="write RANGE TUMBLING for both, or once, after the last stream",
            position=(right if left.is_tumbling else left).where,
        )
    made = []
    for side in (left, right):
        with pointing(position(side.reader.text, side.part.span)):
            if side.range.is_rows:
                raise QueryError(
                    "must be in time for tumbling windows of a join",
                    parameter="range",
                    value=str(side.range),
                    hint="write [RANGE 100 ROWS] after both streams, which counts rows as they come",
                )
            made.append(tumbling(side.range, domain, side.origin))
    if made[0] != made[1]:
        raise QueryError(
            "must be the same on both sides: rows join that are in the same window",
            parameter="range",
            value=f"{left.range} and {right.range}",
            hint="write it once, after the last stream",
            position=position(right.reader.text, right.part.span),
        )
    return made[0]


def _rows(left: Windowed, right: Windowed) -> JoinWindow:
    if not (left.range.is_rows and right.range.is_rows):
        raise QueryError(
            "must be in rows on both sides, or in time on both",
            parameter="range",
            value=f"{left.range} and {right.range}",
            hint="write [RANGE 100 ROWS] after both, or [RANGE 3 MINUTES] after both",
            position=position(right.reader.text, right.part.span),
        )
    for side in (left, right):
        with pointing(position(side.reader.text, side.part.span)):
            last_rows(side.range, side.range)
    return last_rows(left.range, right.range)
