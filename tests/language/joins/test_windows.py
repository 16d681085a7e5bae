"""What is wrong with the window clauses of a join."""

from __future__ import annotations

import pytest

from tests.language.links import complaint

ERRORS = [
    (
        "A JOIN B [RANGE 3 min]",
        "`window` must be given for both sides of a join, or for neither, got only for B. "
        "Hint: put [RANGE 3 MINUTES] after A too, or [RANGE TUMBLING 5 MINUTES] after B for both.",
        "[RANGE 3 min]",
    ),
    (
        "A [RANGE TUMBLING 3 min] JOIN B",
        "`window` must be given for both sides of a join, or for neither, got only for A. "
        "Hint: put [RANGE 3 MINUTES] after B too, or [RANGE TUMBLING 5 MINUTES] after B for both.",
        "[RANGE TUMBLING 3 min]",
    ),
    (
        "A [RANGE TUMBLING 1 min] JOIN B [RANGE TUMBLING 3 min]",
        "`range` must be the same on both sides: rows join that are in the same window, got 1 min and 3 min. "
        "Hint: write it once, after the last stream.",
        "RANGE TUMBLING 3 min",
    ),
    (
        "A [RANGE TUMBLING 1 min] JOIN B [RANGE 3 min]",
        "`window` must be tumbling on both sides, or on neither. "
        "Hint: write RANGE TUMBLING for both, or once, after the last stream.",
        "[RANGE 3 min]",
    ),
    (
        "A [RANGE 10 ROWS] JOIN B [RANGE 3 min]",
        "`range` must be in rows on both sides, or in time on both, got 10 rows and 3 min. "
        "Hint: write [RANGE 100 ROWS] after both, or [RANGE 3 MINUTES] after both.",
        "RANGE 3 min",
    ),
    (
        "A JOIN B [RANGE TUMBLING 10 ROWS]",
        "`range` must be in time for tumbling windows of a join, got 10 rows. "
        "Hint: write [RANGE 100 ROWS] after both streams, which counts rows as they come.",
        "RANGE TUMBLING 10 ROWS",
    ),
    (
        "A [RANGE 3 min SLIDE 1 min] JOIN B [RANGE 3 min]",
        "`slide` does not go with the window of a join, which moves with every row. Hint: leave it out; "
        "an aggregate may have one: count(*) [RANGE 2 MINUTES SLIDE 1 MINUTE WATTR a.ts].",
        "SLIDE 1 min",
    ),
    (
        "HOP(TABLE A, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '2' MINUTE) JOIN B [RANGE 3 min]",
        "`slide` does not go with the window of a join, which moves with every row. Hint: leave it out; "
        "an aggregate may have one: count(*) [RANGE 2 MINUTES SLIDE 1 MINUTE WATTR a.ts].",
        "'1'",
    ),
    (
        "A [RANGE 3 min PATTR srcIP] JOIN B [RANGE 3 min]",
        "`pattr` does not go with the window of a join. "
        "Hint: write [RANGE 3 MINUTES WATTR ts], [RANGE TUMBLING 5 MINUTES WATTR ts] or [RANGE 100 ROWS].",
        "PATTR srcIP",
    ),
    (
        "A [RANGE ALL] JOIN B [RANGE 3 min]",
        "`range` must be bounded in a join, or every row would be kept for ever. Hint: write RANGE 3 MINUTES.",
        "RANGE ALL",
    ),
    (
        "A [RANGE 3 min ORIGIN 5] JOIN B [RANGE 3 min]",
        "`origin` goes with RANGE TUMBLING: other windows of a join move with every row. Hint: leave it out.",
        "[RANGE 3 min ORIGIN 5]",
    ),
    (
        "A [WATTR ts] JOIN B [RANGE 3 min]",
        "`range` must be given in a window clause. Hint: write [RANGE 3 MINUTES WATTR ts].",
        "[WATTR ts]",
    ),
    (
        "A [RANGE 0 s] JOIN B [RANGE 3 min]",
        "`range` must be positive, got 0 s. Hint: a window holds something, as in RANGE 3 MINUTES.",
        "RANGE 0 s",
    ),
    (
        "A [RANGE 3 s] JOIN B [RANGE 0 min]",
        "`range` must be positive, got 0 min. Hint: a window holds something, as in RANGE 3 MINUTES.",
        "RANGE 0 min",
    ),
    (
        "A [RANGE 3 ROWS] JOIN B [RANGE 0 ROWS]",
        "`rows` must be positive, got 0. Hint: a window holds something, as in RANGE 3 MINUTES.",
        "RANGE 0 ROWS",
    ),
    (
        "A JOIN B [RANGE TUMBLING 3]",
        "`range` needs a time unit because the attribute is a timestamp, got 3. "
        "Hint: write 3 SECONDS, or another unit.",
        "RANGE TUMBLING 3",
    ),
    (
        "A [RANGE 3 min WATTR srcPort] JOIN B [RANGE 3 min]",
        "`wattr` must be the progressing attribute, which is ts, got srcPort. Hint: write WATTR ts.",
        "srcPort",
    ),
    (
        "A [RANGE 3 min] UNION C [RANGE 3 min] JOIN B [RANGE 3 min]",
        "`window` must be given only once for a side of a join. Hint: write it after the last stream of a union.",
        "[RANGE 3 min]",
    ),
]


@pytest.mark.parametrize(("source", "message", "pointed"), ERRORS)
def test_errors(source: str, message: str, pointed: str) -> None:
    assert (message, pointed) == complaint(f"SELECT * FROM {source} ON A.srcIP = B.srcIP")
