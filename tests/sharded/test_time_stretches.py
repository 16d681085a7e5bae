from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import DataError
from windrow.plan.nodes import Stream
from windrow.semantics.progress.lead import reach
from windrow.semantics.progress.policies import START, SlackRows, bounds
from windrow.sharded import time_stretches as stretches
from windrow.sharded.task_progress import Progress, Sighting
from windrow.sharded.time_stretches import Stretches

TIMES = st.lists(st.one_of(st.integers(0, 40), st.integers(-300, 300)), max_size=14)


def sighted(times: list[int], lead: int, slack_rows: int, cuts: set[int], order: int) -> Sighting:
    """What a task tells of its rows, which it read in batches, and which went over the wire."""
    found = Stretches("s", lead, slack_rows)
    places = [0, *sorted(cut for cut in cuts if cut < len(times)), len(times)]
    for start, end in pairwise(places):
        found.add(np.array(times[start:end], np.int64))
    seen = Sighting(order=order, rows=len(times), high=max(times, default=START))
    seen.stretches = seen.passed = found.found
    return Sighting.from_json(seen.to_json())


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
    monkeypatch.setattr(stretches, "MOST", 3)
    found = Stretches("trades", 5)
    found.add(np.array([0, 10, 20]))
    with pytest.raises(
        DataError,
        match=r"^`lead` must be longer: in one micro-batch, rows of trades lie further apart in 3 places, got 5\. Hint",
    ):
        found.add(np.array([30]))
