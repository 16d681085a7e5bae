"""Work with Spark on a thread of its own, so that an interrupt never cuts a call to the JVM in two.

A call that is broken off leaves its answer behind on the thread's connection, where the next call takes it for its own;
from then on every answer is that of the call before. So the thread that may be interrupted waits, and another calls.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from windrow.engines.waiting import wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Given = TypeVar("Given")
GRACE = 10.0
"""Seconds that interrupted work has to end in good order."""


def on_own_thread(spark: SparkSession, work: Callable[[], Given], stop: Event) -> Given:
    """What `work` gives. When the caller is interrupted, `stop` is set and what runs in Spark is cancelled."""
    from pyspark import InheritableThread

    tag = f"windrow-{uuid4().hex}"

    def tagged() -> Given:
        spark.addTag(tag)
        return work()

    def cancel() -> None:
        stop.set()
        spark.interruptTag(tag)  # a job that reads static data looks at no event

    return apart(tagged, cancel, partial(InheritableThread, session=spark))


def apart(work: Callable[[], Given], cancel: Callable[[], None], thread_of: Callable[..., Thread] = Thread) -> Given:
    """What `work` gives on another thread. When the caller is interrupted, `cancel` is called; the interrupt is raised
    when the work has ended, or at once by a second one.
    """
    done = Event()
    given: list[Given] = []
    failed: list[BaseException] = []

    def body() -> None:
        try:
            given.append(work())
        except BaseException as error:
            failed.append(error)
        finally:
            done.set()

    thread = thread_of(target=body, name="windrow-spark", daemon=True)
    try:
        thread.start()
        wait_for(done)
    except BaseException:
        with suppress(Exception):  # a JVM that is gone has nothing to cancel
            cancel()
        if thread.ident is not None:
            done.wait(GRACE)
        raise
    if failed:
        raise failed[0]
    return given[0]
