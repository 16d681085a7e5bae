from __future__ import annotations

from windrow.semantics.scalars.expressions import Call, Column, Literal, columns_of

PRICE = Call(">", (Column("price"), Call("+", (Column("low"), Column("price")))))


def test_columns_in_order_with_repeats() -> None:
    assert ["price", "low", "price"] == list(columns_of(PRICE))
    assert [] == list(columns_of(Literal(1)))


def test_expressions_print_as_sql() -> None:
    assert "(price > (low + price))" == str(PRICE)
    assert "coalesce('it''s', NULL, TRUE, 1)" == str(
        Call("coalesce", (Literal("it's"), Literal(None), Literal(True), Literal(1)))
    )
