"""The words in front of JOIN: which kind they ask for."""

from __future__ import annotations

from sqlglot import exp

from windrow.errors import QueryError, UnsupportedError
from windrow.language.expressions.positions import place
from windrow.semantics.joins import JoinKind

_KINDS = {
    **dict.fromkeys((("", ""), ("", "INNER"), ("", "CROSS")), JoinKind.INNER),
    **dict.fromkeys((("LEFT", ""), ("LEFT", "OUTER")), JoinKind.LEFT),
    **dict.fromkeys((("RIGHT", ""), ("RIGHT", "OUTER")), JoinKind.RIGHT),
    **dict.fromkeys((("FULL", ""), ("FULL", "OUTER"), ("", "OUTER")), JoinKind.FULL),
    **dict.fromkeys((("", "SEMI"), ("LEFT", "SEMI")), JoinKind.SEMI),
    **dict.fromkeys((("", "ANTI"), ("LEFT", "ANTI")), JoinKind.ANTI),
}
_UNDERSTOOD = frozenset({"this", "side", "kind", "method", "on", "using"})


def is_as_of(join: exp.Join) -> bool:
    return bool(join.method == "ASOF")


def kind_of(join: exp.Join) -> JoinKind:
    """The kind that a join asks for, or an error for what there is not."""
    where = place(join.this)
    words = " ".join(filter(None, (join.method, join.side, join.kind)))
    kind = _KINDS.get((join.side, join.kind))
    if is_as_of(join) and kind not in (JoinKind.INNER, JoinKind.LEFT):
        raise QueryError(
            "must be ASOF JOIN or ASOF LEFT JOIN: each left row meets one right row",
            parameter="join",
            value=words,
            hint="exchange the sides, or use a join with a window",
            position=where,
        )
    if kind is None or join.method not in ("", "ASOF"):
        hint = "there are [INNER], LEFT, RIGHT and FULL JOIN, SEMI and ANTI JOIN, ASOF [LEFT] JOIN and CROSS JOIN"
        if join.method == "NATURAL":
            hint = "name the columns: JOIN b USING (key)"
        raise UnsupportedError("is not available", parameter=f"{words} JOIN", hint=hint, position=where)
    for word, value in join.args.items():
        if value and word not in _UNDERSTOOD:
            raise UnsupportedError("is not available in a join", parameter=word.upper(), position=where)
    return kind
