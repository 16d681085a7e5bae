"""Users' words about joins as plan nodes."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa
import pytest

from windrow.errors import QueryError
from windrow.plan.build.joins import Both, apart, between, is_timed_by, last_rows, other_times, sliding, tumbling
from windrow.plan.nodes import JoinTime, Stream
from windrow.semantics.joins import AsOf, Between, JoinKind, LastRows, SameWindow
from windrow.semantics.scalars.amounts import Domain
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal

FLOW: dict[str, pa.DataType] = {"k": pa.int64(), "ts": pa.int64()}
BOTH = Both(Stream("l", pa.schema(FLOW), "ts"), Stream("r", pa.schema(FLOW), "ts"), ("a", "b"), JoinKind.INNER)
SECOND = 1_000_000


def test_windows_from_words() -> None:
    assert Between(-1 * SECOND + 1, 2 * SECOND - 1) == sliding("2 s", "1 s", Domain.TIME)
    assert SameWindow(5) == tumbling(5, Domain.INTEGER)
    origin = datetime(1970, 1, 1, 0, 0, 3, tzinfo=timezone.utc)
    assert SameWindow(5 * SECOND, 3 * SECOND) == tumbling("5 s", Domain.TIME, origin)
    assert LastRows(5, 6) == last_rows(5, "6 rows")
    assert Between(-5, 3) == between(-5, 3, Domain.INTEGER)
    assert SECOND == apart("1 s", Domain.TIME)


def test_columns_and_times_under_their_names() -> None:
    assert ["a_k", "a_ts", "b_k", "b_ts"] == BOTH.schema.names
    assert ("a_ts", "b_ts") == BOTH.times
    assert {"k": "b_k", "ts": "b_ts"} == BOTH.called(1)


def compared(operator: str, offset: int = 0) -> Expression:
    moved = Call("+", (Column("b_ts"), Literal(offset))) if offset else Column("b_ts")
    return Call(operator, (Column("a_ts"), moved))


@pytest.mark.parametrize(
    ("parts", "window"),
    [
        ([compared(">=")], AsOf()),
        ([compared(">")], AsOf(strict=True)),
        ([compared(">="), compared("<=", 9)], AsOf(within=9)),
        ([compared("<"), compared(">=", -9)], AsOf(forward=True, strict=True, within=9)),
        ([compared(">", 3)], None),
        ([compared(">="), compared("<=", -9)], None),
    ],
)
def test_as_of_from_comparisons(parts: list[Expression], window: AsOf | None) -> None:
    on = parts[0] if len(parts) == 1 else Call("and", tuple(parts))
    found, rest = BOTH.as_of(on)
    assert (window, None if window else on) == (found, rest)


def test_conditions_are_put_in_a_row() -> None:
    equal = Call("=", (Column("a_k"), Column("b_k")))
    node = BOTH.join(SameWindow(5), Call("and", (equal, Call("and", (equal, equal)))))
    assert Call("and", (Call("and", (equal, equal)), equal)) == node.on


def test_the_other_times_of_a_join() -> None:
    node = BOTH.join(SameWindow(5), None)
    ((name, timed),) = other_times(node)
    assert ("b_ts", True, False) == (name, is_timed_by(timed, "b_ts"), is_timed_by(node, "b_ts"))
    outer = Both(BOTH.left, BOTH.right, BOTH.aliases, JoinKind.LEFT).join(SameWindow(5), None, time=JoinTime.LEFT)
    assert [] == other_times(outer)


def test_amounts_that_say_nothing_are_refused() -> None:
    with pytest.raises(QueryError, match=r"\A`within` must not be negative, got -1 s\. Hint: as in '5 min'\.\Z"):
        apart("-1 s", Domain.TIME)
    with pytest.raises(QueryError, match=r"\A`range` must be positive, got 0\. Hint: a window holds something"):
        tumbling(0, Domain.INTEGER)
