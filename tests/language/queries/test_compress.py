"""COMPRESS: what it sets, what it is written back as, and where its mistakes are shown."""

from __future__ import annotations

import re

import pytest

from tests.language.streams import STREAMS, aggregate, complaint, plan, the
from windrow.errors import QueryError
from windrow.language import parse, to_sql
from windrow.plan.compression import LOSSLESS, Compression, CompressionMode
from windrow.plan.nodes import Join, Strategy, WindowAggregate

BLOCKS = CompressionMode.BLOCKS
FROM = "FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE WATTR time]"
QUERY = f"SELECT symbol, median(price) AS m, sum(volume) AS v {FROM} GROUP BY symbol"
JOIN = "SELECT * FROM packets AS a JOIN control AS b [RANGE TUMBLING 5] ON a.srcIP = b.srcIP"
OVER_JOIN = (
    "SELECT avg(a.len) [RANGE 5 WATTR a.ts] FROM packets AS a JOIN control AS b [RANGE TUMBLING 5] USING (srcIP)"
)


@pytest.mark.parametrize(
    ("expected", "clause"),
    [
        (LOSSLESS, ""),
        (LOSSLESS, "COMPRESS auto"),
        (Compression(BLOCKS), "COMPRESS blocks"),
        (Compression(CompressionMode.OFF), "compress OFF"),
        (Compression(within=(("price", 0.01),)), "COMPRESS price WITHIN 0.01"),
        (Compression(within=(("price", 0.5),)), "COMPRESS price WITHIN .5"),
        (Compression(within=(("price", 0.01), ("volume", 5.0))), "COMPRESS Price WITHIN 1e-2, trades.volume WITHIN +5"),
        (Compression(BLOCKS, (("price", 1.0),)), "COMPRESS blocks, price WITHIN 1"),
        (Compression(BLOCKS, (("price", 1.0),)), "COMPRESS price WITHIN '1', blocks"),
    ],
)
def test_what_it_sets(expected: Compression, clause: str) -> None:
    node = aggregate(f"{QUERY} {clause}")
    assert expected == node.compression
    assert (node,) == parse(to_sql(node), STREAMS).queries


def test_it_stands_beside_the_other_settings_in_any_order() -> None:
    node = aggregate(f"{QUERY} COMPRESS blocks, price WITHIN 2 STRATEGY buffer EMIT COMPLETE LATE REVISE WITHIN 1 HOUR")
    assert (Strategy.BUFFER, Compression(BLOCKS, (("price", 2.0),))) == (node.strategy, node.compression)
    assert to_sql(node).endswith("STRATEGY buffer COMPRESS blocks, price WITHIN 2")


def test_columns_that_need_quotes_read_back() -> None:
    node = aggregate(f"SELECT avg(bid-price) AS a {FROM} COMPRESS bid-price WITHIN 0.5")
    assert to_sql(node).endswith('COMPRESS "bid-price" WITHIN 0.5')
    assert (node,) == parse(to_sql(node), STREAMS).queries


def test_joins_take_the_mode() -> None:
    node = the(Join, plan(f"{JOIN} COMPRESS blocks"))
    assert Compression(BLOCKS) == node.compression
    assert to_sql(node).endswith("COMPRESS blocks")
    assert (node,) == parse(to_sql(node), STREAMS).queries


def test_over_a_join_the_mode_is_for_both_and_bounds_are_for_the_window() -> None:
    node = plan(f"{OVER_JOIN} COMPRESS off, a.len WITHIN 3")
    window = the(WindowAggregate, node)
    joined = the(Join, window.input)
    off = CompressionMode.OFF
    (name,) = (column.name for column in joined.names if (column.side, column.source) == (0, "len"))
    assert (Compression(off, ((name, 3.0),)), Compression(off)) == (window.compression, joined.compression)
    assert (node,) == parse(to_sql(node), STREAMS).queries


def test_a_subquery_has_its_own() -> None:
    inner = f"SELECT symbol, avg(price) AS p {FROM} GROUP BY symbol COMPRESS price WITHIN 1"
    outer = aggregate(f"SELECT avg(p) FROM ({inner}) [RANGE 1 HOUR] COMPRESS blocks, p WITHIN 2")
    below = the(WindowAggregate, outer.input)
    assert (Compression(BLOCKS, (("p", 2.0),)), Compression(within=(("price", 1.0),))) == (
        outer.compression,
        below.compression,
    )


REFUSED = [
    (
        r"`compress` must be a known word \(one of auto, off, blocks\), got price\. "
        r"Hint: a column has a bound: COMPRESS price WITHIN 0\.01\.",
        "price",
        "COMPRESS price 0.01",
    ),
    (r"`compress` must be given only once\.", "off", "COMPRESS blocks, off"),
    (r"`compress` must be given only once\.", "COMPRESS off", "COMPRESS blocks COMPRESS off"),
    (r"`prise` is not a column of the input\. Hint: did you mean price\?", "prise", "COMPRESS prise WITHIN 1"),
    (
        r"`within` must be a number in the unit of its column, got much\. Hint: as in COMPRESS price WITHIN 0\.01\.",
        "much",
        "COMPRESS price WITHIN much",
    ),
    *(
        (rf"`within` must be a positive number, got price within {bound}\. Hint: say how far", "price", clause)
        for bound, clause in (
            ("0", "COMPRESS price WITHIN 0"),
            ("-1", "COMPRESS price WITHIN -1"),
            ("nan", "COMPRESS price WITHIN NaN"),
            ("inf", "COMPRESS price WITHIN inf"),
            ("inf", "COMPRESS volume WITHIN 5, price WITHIN 1e999"),
        )
    ),
    (
        r"`within` must be given once for each column, got price within 2\. Hint: leave one of them out\.",
        "Price",
        "COMPRESS price WITHIN 1, Price WITHIN 2",
    ),
    (
        r"`within` must not be of a column that is grouped by, got symbol within 1\.",
        "symbol",
        "COMPRESS symbol WITHIN 1",
    ),
    (
        r"`within` must not be of a time that windows or progress depend on, got time within 1\.",
        "time",
        "COMPRESS volume WITHIN 1, time WITHIN 1",
    ),
]


@pytest.mark.parametrize(("message", "where", "clause"), REFUSED)
def test_mistakes_are_shown_where_they_stand(message: str, where: str, clause: str) -> None:
    said, place = complaint(f"{QUERY} {clause}", QueryError)
    assert re.match(message, said), said
    assert where == place


def test_a_word_must_follow() -> None:
    said, _ = complaint(f"{QUERY} COMPRESS", QueryError)
    assert "`query` needs a word after COMPRESS here, got the end of the text." == said


def test_bounds_of_a_join_are_refused() -> None:
    said, place = complaint(f"{JOIN} COMPRESS blocks, a.len WITHIN 1", QueryError)
    expected = (
        "`within` goes with the aggregates of a window: a join compares its columns and gives them as they came, "
    )
    assert said.startswith(f"{expected}got len within 1.")
    assert "a.len" == place


def test_it_needs_something_that_keeps_rows() -> None:
    said, place = complaint("SELECT price FROM trades COMPRESS blocks", QueryError)
    assert said.startswith(
        "`compress` belongs to a window, and this query has none. Hint: leave it out, or put a window"
    )
    assert "COMPRESS blocks" == place


def test_having_over_an_answer_within_a_bound_is_refused() -> None:
    said, place = complaint(f"{QUERY} HAVING m > 5 COMPRESS price WITHIN 1", QueryError)
    assert said.startswith(
        "`m` must not be compared: COMPRESS ... WITHIN gives median(price) near the exact answer only, got within 1."
    )
    assert "m > 5" in place


def test_having_over_an_exact_answer_stays() -> None:
    assert plan(f"{QUERY} HAVING v > 5 AND count(price) > 2 COMPRESS price WITHIN 1") is not None
    assert plan(f"{QUERY.replace('GROUP', 'WHERE price > 3 GROUP')} COMPRESS price WITHIN 1") is not None
