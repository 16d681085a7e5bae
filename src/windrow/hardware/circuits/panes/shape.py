"""How a slide is cut into panes, and what follows from it: panes of a window, modules, words of the buffer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil

from windrow.hardware.design import WindowQuery


@dataclass(frozen=True)
class Cut:
    """A pane of every slide: where it begins after the slide does, and how long it is."""

    begin: int
    length: int

    @property
    def end(self) -> int:
        return self.begin + self.length


@dataclass(frozen=True)
class PaneShape:
    """Panes that windows are made of: never more than two of a slide, whatever the greatest common divisor is.

    The paper cuts every slide into panes of gcd(RANGE, SLIDE); one that is small against the slack needs many
    modules (RANGE 600, SLIDE 61: panes of 1). Cutting where a window begins is enough: every window begins RANGE mod
    SLIDE before the end of a slide. Where SLIDE divides RANGE both cuts are the same, and so is the number of modules.

    >>> PaneShape(range=600, slide=60, slack=60)
    PaneShape(range=600, slide=60, slack=60)
    >>> PaneShape(range=600, slide=60, slack=60).cuts, PaneShape(range=600, slide=60, slack=60).per_window
    ((Cut(begin=0, length=60),), 10)
    >>> PaneShape(range=600, slide=61, slack=60).cuts, PaneShape(range=600, slide=61, slack=60).per_window
    ((Cut(begin=0, length=10), Cut(begin=10, length=51)), 19)
    >>> PaneShape(range=10, slide=1000, slack=0).cuts
    (Cut(begin=990, length=10),)
    """

    range: int
    slide: int
    slack: int

    @classmethod
    def of(cls, query: WindowQuery) -> PaneShape:
        return cls(query.range, query.slide, query.slack)

    @cached_property
    def cuts(self) -> tuple[Cut, ...]:
        """The panes of a slide that windows use: of one that is longer than its windows only the last part."""
        rest = self.range % self.slide
        if not rest:
            return (Cut(0, self.slide),)
        last = Cut(self.slide - rest, rest)
        return (last,) if self.range < self.slide else (Cut(0, self.slide - rest), last)

    @property
    def per_slide(self) -> int:
        """PPS."""
        return len(self.cuts)

    @property
    def per_window(self) -> int:
        """PPW."""
        return self.range // self.slide * self.per_slide + bool(self.range % self.slide)

    @property
    def slides(self) -> int:
        """How many slides have modules: the next to close, and as many as rows may be ahead of a promise by the slack.

        A promise lies less than a slide after the end of the last closed window, and a row less than slack after that:
        rows are below SLIDE + SLACK from that end.
        """
        return 1 + ceil(self.slack / self.slide)

    @property
    def modules(self) -> int:
        """N of the paper's equation 5, where a slide is one pane."""
        return self.slides * self.per_slide


def power_of_two(least: int) -> int:
    """The least power of two that is not below.

    >>> power_of_two(1), power_of_two(12), power_of_two(64)
    (1, 16, 64)
    """
    return 1 << max(least - 1, 0).bit_length()
