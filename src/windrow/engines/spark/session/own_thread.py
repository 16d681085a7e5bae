"""Work with Spark on a thread of its own, so that an interrupt never cuts a call to the JVM in two.

A call that is broken off leaves its answer behind on the thread's connection, where the next call takes it for its own;
from then on every answer is that of the call before. So the thread that may be interrupted waits, and another calls.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from windrow.engines.waiting import wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Given = TypeVar("Given")
GRACE = 10.0
"""Seconds that interrupted work has to end in good order."""


def on_own_thread(spark: SparkSession, work: Callable[[], Given], stop: Event) -> Given:
    """What `work` gives. When the caller is interrupted, `stop` is set and what runs in Spark is cancelled; the
    interrupt is raised when the work has ended, or at once by a second one.
    """
    from pyspark import InheritableThread

    done = Event()
    tag = f"windrow-{uuid4().hex}"
    given: list[Given] = []
    failed: list[BaseException] = []

    def body() -> None:
        try:
            spark.addTag(tag)
            given.append(work())
        except BaseException as error:
            failed.append(error)
        finally:
            done.set()

    thread = InheritableThread(target=body, session=spark, name="windrow-spark", daemon=True)
    try:
        thread.start()
        wait_for(done)
    except BaseException:
        stop.set()
        with suppress(Exception):  # a job that reads static data looks at no event; a JVM that is gone has none
            spark.interruptTag(tag)
        if thread.ident is not None:
            done.wait(GRACE)
        raise
    if failed:
        raise failed[0]
    return given[0]
