"""What is noted of micro-batches with rows below what was promised before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import pyarrow as pa
import pytest

from windrow.operators.input.disorder import Disorder
from windrow.plan.nodes import Stream
from windrow.semantics.progress.lateness import Jump
from windrow.semantics.progress.policies import START, External, Ordered, Policy, Slack, SlackRows
from windrow.semantics.scalars.amounts import Amount
from windrow.sharded.task_progress import Progress, Sighting

FAR = 1 << 50
STEADY = [list(range(start, start + 100, 10)) for start in range(0, 2000, 100)]


def seen(times: Sequence[int], order: int = 0, promised: int = START, slack_rows: int = 0) -> Sighting:
    settled, recent = (times[:-slack_rows], times[-slack_rows:]) if slack_rows else ([], [])
    return Sighting(
        order=order,
        rows=len(times),
        high=max(times, default=START),
        least=min(times, default=Sighting.least),
        promised=promised,
        recent=list(recent),
        before=max(settled, default=START),
    )


def progress_of(batches: Sequence[Sequence[Sighting]], policy: Policy) -> Progress:
    """After these micro-batches, each of which was saved and restored."""
    stream = Stream("s", pa.schema([("t", pa.int64())]), "t", policy)
    progress = Progress()
    for batch in batches:
        progress.see(batch, stream)
        progress.advance(stream)
        progress = Progress(**asdict(progress))
    return progress


def told(batches: Sequence[Sequence[Sighting]], policy: Policy, slack: int = 0) -> tuple[int | None, Jump | None]:
    progress = progress_of(batches, policy)
    disorder = Disorder(progress.notes)
    return disorder.behind, disorder.jump(progress.rows, slack, "micro-batch")


def test_rows_are_measured_by_what_was_promised_before_their_micro_batch() -> None:
    assert (None, None) == told([[seen([10, 1, 30])], [seen([28, 40])]], Slack(Amount.of(5)), 5)
    assert (19, None) == told([[seen([10, 1, 30])], [seen([40]), seen([11, 50], 1)]], Slack(Amount.of(5)), 5)
    assert (9, None) == told([[seen([1]), seen([30], 1)], [], [seen([21])]], Ordered())


@pytest.mark.parametrize("policy", [Ordered(), Slack(Amount.of(30)), SlackRows(2)])
@pytest.mark.parametrize("place", [1, 7])
def test_the_micro_batch_that_moved_progress_is_named(policy: Policy, place: int) -> None:
    rows = policy.rows if isinstance(policy, SlackRows) else 0
    batches = [[seen([FAR, *times] if i == place else times, slack_rows=rows)] for i, times in enumerate(STEADY)]
    base = STEADY[place - 1][-1 - rows]
    expected = Jump(place, FAR, FAR - base, 10 * (len(STEADY) - place - 1), "micro-batch")
    assert (FAR - STEADY[place + 1][0], expected) == told(batches, policy)


def test_the_first_micro_batch_and_further_rows_far_ahead() -> None:
    first = [[seen([FAR, *STEADY[0]])], *([seen(times)] for times in STEADY[1:])]
    assert Jump(0, FAR, FAR - STEADY[-1][-1], 190, "micro-batch") == told(first, Ordered())[1]
    again = [[seen([*times, FAR + 9 * i] if i % 4 == 3 else times)] for i, times in enumerate(STEADY)]
    assert Jump(3, FAR + 27, FAR + 27 - STEADY[2][-1], 120, "micro-batch") == told(again, Ordered())[1]


def test_steady_streams_and_lulls_name_nothing() -> None:
    steady = [[seen(times)] for times in STEADY]
    assert (None, None) == told(steady, Ordered())
    lull = [*steady[:10], *([seen([FAR + time for time in times])] for times in STEADY[10:])]
    assert (None, None) == told(lull, Ordered())


def test_punctuations() -> None:
    steady = [[seen(times, promised=times[0])] for times in STEADY[:5]]
    behind = [[seen(times, promised=FAR)] for times in STEADY[5:]]
    expected = Jump(5, FAR, FAR - STEADY[4][0], 140, "micro-batch")
    assert (FAR - STEADY[6][0], expected) == told([*steady, *behind], External())


def test_what_comes_after_the_end_says_nothing_of_slack() -> None:
    ended = Sighting(ends=True)
    assert (None, None) == told([[seen([10])], [ended], [seen([3])]], Ordered())
