"""Joins of kinds that there are not."""

from __future__ import annotations

import pytest

from tests.language.links import complaint

KINDS = "Hint: there are [INNER], LEFT, RIGHT and FULL JOIN, SEMI and ANTI JOIN, ASOF [LEFT] JOIN and CROSS JOIN."
AS_OF = "`join` must be ASOF JOIN or ASOF LEFT JOIN: each left row meets one right row"
ERRORS = [
    ("RIGHT SEMI JOIN", f"`RIGHT SEMI JOIN` is not available. {KINDS}"),
    ("RIGHT ANTI JOIN", f"`RIGHT ANTI JOIN` is not available. {KINDS}"),
    ("NATURAL JOIN", "`NATURAL JOIN` is not available. Hint: name the columns: JOIN b USING (key)."),
    ("ASOF RIGHT JOIN", f"{AS_OF}, got ASOF RIGHT. Hint: exchange the sides, or use a join with a window."),
    ("ASOF FULL JOIN", f"{AS_OF}, got ASOF FULL. Hint: exchange the sides, or use a join with a window."),
]


@pytest.mark.parametrize(("words", "message"), ERRORS)
def test_errors(words: str, message: str) -> None:
    assert (message, "r") == complaint(f"SELECT * FROM l {words} r [RANGE TUMBLING 5]")


def test_joins_in_parentheses() -> None:
    text = "SELECT * FROM (SELECT * FROM l) AS q JOIN LATERAL r [RANGE TUMBLING 5]"
    message = "`FROM` must be a stream, a subquery or a window function"
    assert complaint(text)[0].startswith(message)


def test_the_nearest_row_may_lie_in_another_tumbling_window() -> None:
    text = "SELECT * FROM l ASOF JOIN r [RANGE TUMBLING 5] ON l.k = r.k AND l.ts >= r.ts"
    assert complaint(text)[0].startswith("`window` cannot be tumbling for an as-of join")
