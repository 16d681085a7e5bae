"""When the end of the streams is told, by what Spark asks of a source under each of its triggers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from windrow.engines.spark.connect.end_of_stream import WRAPPER, ClosingStream, SilentStream, check_closing
from windrow.engines.spark.session.loaded_later import LoadedLater
from windrow.errors import ConfigurationError
from windrow.sharded.pre_aggregate import PreAggregation

NONE: LoadedLater[tuple[PreAggregation, ...]] = LoadedLater(())
ON, OVER = {"ended": 0}, {"ended": 1}


def asked(stream: ClosingStream, calls: str) -> list[dict[str, int]]:
    """The offsets after `?`, a question, where `!` is a commit; as Spark does both with a processing time."""
    limit = stream.getDefaultReadLimit()
    found = []
    for call in calls:
        if call == "!":
            stream.commit(ON)
        else:
            found.append(stream.latestOffset(ON, limit))
    return found


def test_the_one_micro_batch_of_all_that_is_there_has_the_end() -> None:
    assert not isinstance(ClosingStream(NONE), SupportsTriggerAvailableNow)
    assert OVER == ClosingStream(NONE).latestOffset(ON, ReadAllAvailable())


def test_the_end_is_told_after_a_question_that_led_to_no_micro_batch() -> None:
    #        micro-batch 0, 1, 2, then none
    assert [ON, ON, ON, ON, OVER] == asked(ClosingStream(NONE), "??!?!??")
    #        micro-batch 0 alone; it has nothing to commit
    assert [ON, ON, OVER] == asked(ClosingStream(NONE), "???")
    #        from a checkpoint: micro-batches 5 and 6, each commits the one before
    assert [ON, ON, ON, OVER] == asked(ClosingStream(NONE), "?!?!??")


def test_streams_that_are_not_closed_go_on() -> None:
    stream = SilentStream(NONE)
    limits: list[ReadLimit] = [ReadAllAvailable(), stream.getDefaultReadLimit()]
    assert [ON, ON] == [stream.latestOffset(ON, limit) for limit in limits]
    assert [] == stream.partitions(ON, ON)
    assert [OVER] == [stream.latestOffset(OVER, limits[0])]


def test_a_session_that_hides_what_was_read_is_refused() -> None:
    set_to: dict[str, str] = {}
    session: Any = SimpleNamespace(conf=set_to)
    check_closing(session)
    set_to[WRAPPER] = "true"
    message = (
        rf"\A`{WRAPPER}` must be false where streams are closed: with it no source learns that everything was read, "
        rf"got true\. Hint: say spark\.conf\.set\('{WRAPPER}', 'false'\)\.\Z"
    )
    with pytest.raises(ConfigurationError, match=message):
        check_closing(session)
