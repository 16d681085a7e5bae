"""How slides are cut into panes: every window is whole panes, and no row within the slack lacks a module."""

from __future__ import annotations

from itertools import product

from windrow.hardware.circuits.panes.shape import PaneShape


def test_every_window_is_made_of_whole_panes() -> None:
    for length, slide in product(range(1, 25), range(1, 12)):
        shape = PaneShape(length, slide, 0)
        assert shape.per_slide <= 2
        begins = [at * slide + cut.begin for at in range(-length, 1) for cut in shape.cuts]
        ends = [at * slide + cut.end for at in range(-length, 1) for cut in shape.cuts]
        assert slide == ends[-1]
        assert slide - length == begins[-shape.per_window]
        inside = list(zip(begins, ends, strict=True))[-shape.per_window :]
        assert length == sum(end - begin for begin, end in inside)


def test_rows_within_the_slack_have_a_module() -> None:
    """A promise of up to slide - 1 after the last closed end, and a row of the slack after it."""
    for slide, slack in product(range(1, 12), range(25)):
        shape = PaneShape(slide, slide, slack)
        assert (shape.slides - 1) * slide < slide + slack <= shape.slides * slide
