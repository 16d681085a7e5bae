"""What a query is, line by line, and where another one differs: for the message about a checkpoint of another query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from windrow.physical.explain.plans import explain
from windrow.plan.nodes import Node

_RAILS = re.compile(r"\A[│├└─\s]+")


def words_of(plans: Sequence[Node]) -> list[str]:
    """The lines in which `explain` tells the plans, without the drawing."""
    return [" ".join(_RAILS.sub("", line).split()) for plan in plans for line in explain(plan).splitlines()]


def first_difference(saved: Sequence[str], mine: Sequence[str]) -> tuple[str, str]:
    """The first line that one has and the other has not; the same words twice where no line tells them apart.

    >>> first_difference(["window RANGE 5", "keys k"], ["window RANGE 6", "keys k"])
    ('window RANGE 5', 'window RANGE 6')
    """
    pairs = zip_longest(saved, mine, fillvalue="nothing more")
    return next(((theirs, ours) for theirs, ours in pairs if theirs != ours), ("another plan", "another plan"))
