"""What tasks report of micro-batches: rows below what was promised before them, and rows too far ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import DataError
from windrow.operators.input.policy import Disorder
from windrow.plan.nodes import Stream
from windrow.semantics.progress.lateness import Jump
from windrow.semantics.progress.lead import reach
from windrow.semantics.progress.policies import START, External, Ordered, Policy, Slack, SlackRows, bounds
from windrow.semantics.scalars.amounts import Amount
from windrow.sharded import task_progress
from windrow.sharded.task_progress import Progress, Sighting, Stretches

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


TIMES = st.lists(st.one_of(st.integers(0, 40), st.integers(-300, 300)), max_size=14)


def sighted(times: list[int], lead: int, slack_rows: int, cuts: set[int], order: int) -> Sighting:
    """What a task tells of its rows, which it read in batches, and which went over the wire."""
    found = Stretches("s", lead, slack_rows)
    places = [0, *sorted(cut for cut in cuts if cut < len(times)), len(times)]
    for start, end in pairwise(places):
        found.add(np.array(times[start:end], np.int64))
    seen = Sighting(order=order, rows=len(times), high=max(times, default=START))
    seen.stretches = seen.passed = found.found
    return Sighting.from_json(asdict(seen))


BATCHES = st.lists(st.lists(TIMES, max_size=3), max_size=4)


@given(BATCHES, st.integers(1, 30), st.integers(1, 4), st.sets(st.integers(1, 9)))
def test_all_tasks_together_find_what_the_definition_says(
    batches: list[list[list[int]]], lead: int, slack_rows: int, cuts: set[int]
) -> None:
    stream = Stream("s", pa.schema([("t", pa.int64())]), "t", SlackRows(slack_rows))
    progress, high, counting, early = Progress(), START, [], 0
    for tasks in batches:
        high = reach([time for times in tasks for time in times], lead, high)
        counting += [time for times in tasks for time in times if time <= high]
        early += sum(time > high for times in tasks for time in times)
        seen = [sighted(times, lead, slack_rows, cuts, order) for order, times in enumerate(tasks)]
        assert high == progress.reach(reversed(seen), lead)
        progress.see([one.up_to(high, slack_rows) for one in seen], stream)
        *_, settled = bounds([*counting, 0], SlackRows(slack_rows))
        assert (settled, early) == (progress.settled, progress.early)
        assert max(counting, default=START) == progress.high == progress.latest


def test_a_lead_that_is_much_too_short_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_progress, "MOST", 3)
    found = Stretches("trades", 5)
    found.add(np.array([0, 10, 20]))
    with pytest.raises(
        DataError,
        match=r"^`lead` must be longer: in one micro-batch, rows of trades lie further apart in 3 places, got 5\. Hint",
    ):
        found.add(np.array([30]))
