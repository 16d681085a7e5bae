"""What a policy promises after the rows so far: the arithmetic of order, slack and slack in rows, in one place.

One process and many tasks use it alike. Its slow namesake, row by row, is `semantics.progress.policies.bounds`.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from windrow.plan.nodes import Stream
from windrow.plan.types.schema import domain_of
from windrow.semantics.progress.policies import START, External, Ordered, Policy, Slack, SlackRows, lead_of
from windrow.semantics.scalars.amounts import Domain

Trail = TypeVar("Trail", list[int], npt.NDArray[np.int64])


def implied(policy: Policy, slack: int, *, high: int, settled: int) -> int:
    """The bound after rows of which `high` is the largest time, and `settled` the largest that slack in rows leaves."""
    if isinstance(policy, Ordered):
        return high
    if isinstance(policy, Slack):
        return high if high == START else high - slack
    return settled if isinstance(policy, SlackRows) else START


def moved_by(policy: Policy, *, high: int, settled: int, promised: int) -> int:
    """What moves the bound: punctuations, rows that are settled, or all rows."""
    if isinstance(policy, External):
        return promised
    return settled if isinstance(policy, SlackRows) else high


def settle(trail: Trail, rows: int, settled: int) -> tuple[int, Trail]:
    """All but the last `rows` rows of a trail are settled: the largest settled time, and the rows that are not.

    >>> settle([5, 9, 3], rows=2, settled=4)
    (5, [9, 3])
    """
    done = max(0, len(trail) - rows)
    return max(settled, int(np.max(trail[:done]))) if done else settled, trail[done:]


def slack_of(stream: Stream) -> int:
    """Slack in time, in units of the attribute."""
    return stream.policy.amount.resolve(_domain(stream), "slack") if isinstance(stream.policy, Slack) else 0


def slack_rows_of(stream: Stream) -> int:
    return stream.policy.rows if isinstance(stream.policy, SlackRows) else 0


def lead_among_rows(stream: Stream) -> int | None:
    """How far a row may be ahead of the others of its stream; None without such a bound, or where the clock decides."""
    lead = lead_of(stream.policy)
    return None if lead is None or lead.wall_clock else lead.amount.resolve(_domain(stream), "lead")


def _domain(stream: Stream) -> Domain:
    return domain_of(stream.schema.field(stream.time).type)
