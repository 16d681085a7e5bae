"""Costs as a share of a chip and as a table."""

from __future__ import annotations

from windrow.hardware.cost.chips import ECP5_85, LX240T, ChipCost, table


def test_the_clock_is_the_one_in_the_middle() -> None:
    assert 165.0 == ChipCost(ECP5_85, 1, 1, 0, 0, {}, (159.0, 165.0, 168.0)).clock
    assert ChipCost(LX240T, 1, 1, 0, 0, {}).clock is None


def test_the_share_is_that_of_what_there_is_least_of() -> None:
    assert 0.5 == ChipCost(LX240T, 1, 1, 208, 0, {}).share


def test_a_table_has_a_line_for_each() -> None:
    lines = table(
        {"one": ChipCost(LX240T, 10, 20, 0.5, 0, {}), "another": ChipCost(LX240T, 1, 2, 0, 0, {})}
    ).splitlines()
    assert ["circuit", "one", "another"] == [line.split()[0] for line in lines]
    assert "0.5" in lines[1]
    assert 1 == len({len(line) for line in lines})
