"""A run: the one handle of queries that run, by which their results come out and by which they are stopped.

An engine pushes what it makes into a `Receiver` and heeds `Requests`. Who asked for the run either is that receiver,
and then everything happens in its own thread; or it reads from the `Run`, and then the engine has a thread of its own,
at most a few results wait between the two, and the engine waits while the reader is busy.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from threading import Condition, Event, Thread, current_thread
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

import pyarrow as pa

from windrow.engines.pulse import Pulse
from windrow.engines.waiting import wait_for_end, wait_until
from windrow.errors import ConfigurationError
from windrow.pipeline.metrics import Metrics, SourceMetrics
from windrow.sinks.base import Sink
from windrow.sources.live.pushed import PushChannel

Item = TypeVar("Item")
Outcome: TypeAlias = tuple[list[Metrics], Metrics]
"""The metrics of each query of a run that has ended, and of all of them."""
MOST_REJECTED = 1000
"""Batches of rejected messages that wait for the reader at most; the oldest are only counted."""
ROOM = 8
"""Result batches that wait for the reader at most."""


class Stopped(Exception):
    """The run was asked to stop, and did."""


@dataclass(frozen=True)
class Receiver:
    """Where everything that a run gives goes as it comes, with the place of the query that gave it."""

    on_result: Callable[[int, pa.RecordBatch], None]
    on_late: Callable[[int, pa.RecordBatch], None] | None = None
    on_progress: Callable[[Metrics], None] | None = None
    on_reject: Callable[[pa.RecordBatch], None] | None = None
    """Takes what no row could be made of, by the columns of `REJECTS`."""
    sinks: Mapping[str, Sink] = field(default_factory=dict)
    """Where it all ends up, by name, of a run that may never end: a checkpoint is made with them, and nothing that
    was given before it is given again. Without, everything given is kept, and a restored run gives it anew."""
    on_each: Callable[[int, Metrics], None] | None = None
    """Progress of each query by itself, where several run together."""

    @classmethod
    def of_one(
        cls, on_result: Callable[[pa.RecordBatch], None], on_late: Callable[[pa.RecordBatch], None] | None = None
    ) -> Receiver:
        """For a single query, whose place is known."""
        return cls(lambda _, batch: on_result(batch), on_late and (lambda _, batch: on_late(batch)))


class Requests:
    """What is asked of a run while it runs: to end now, with or without what it has, or at the end of what is there."""

    def __init__(self, *, follow: bool = False) -> None:
        self.stop = Event()
        self.close = Event()
        self.leave = Event()
        """To end before the next element, as after the last one, but with all windows open: where there is a checkpoint
        folder, a last checkpoint is written, from which another run goes on."""
        self.left = False
        """Whether the run did so."""
        self.pulse = Pulse()
        self.follow = follow
        """Whether streams without an end are followed until one of the two is set; else what is there now is read."""
        self.on_idle: Callable[[], None] | None = None
        """Called by the thread that runs, now and then while nothing comes."""

    def heed(self) -> None:
        """Raise `Stopped` if the run shall end now."""
        if self.stop.is_set():
            raise Stopped

    def leaves(self) -> bool:
        """Whether the run shall end here, keeping what it has; it does then."""
        self.left = self.left or self.leave.is_set()
        return self.left

    def heed_waiting(self) -> bool:
        """The same while a source has nothing to give; whether it counts as ended."""
        self.heed()
        if self.on_idle is not None:
            self.on_idle()
        return self.close.is_set()


Work: TypeAlias = Callable[[Receiver], Outcome]


class _Mailbox:
    """What lies between the thread that runs and the one that reads; knows nothing of the `Run` that reads it.

    So a run that nobody holds any more is collected, and thereby stopped, although its thread is alive.
    """

    def __init__(self, requests: Requests, *, keep_late: bool) -> None:
        self.requests = requests
        self.keep_late = keep_late
        self.changed = Condition()
        self.results: deque[tuple[int, pa.RecordBatch]] = deque()
        self.late: deque[tuple[int, pa.RecordBatch]] = deque()
        self.rejected: deque[pa.RecordBatch] = deque(maxlen=MOST_REJECTED)
        self.is_read = True
        self.has_ended = False
        self.error: BaseException | None = None
        self.metrics = Metrics()
        self.each: list[Metrics] = []

    @property
    def receiver(self) -> Receiver:
        on_late = (lambda query, batch: self.late.append((query, batch))) if self.keep_late else None
        return Receiver(self._put, on_late, partial(setattr, self, "metrics"), self.rejected.append)

    def _put(self, query: int, batch: pa.RecordBatch) -> None:
        with self.changed:
            wait_until(self.changed, self._has_room)
            self.requests.heed()
            if self.is_read:
                self.results.append((query, batch))
                self.changed.notify_all()

    def _has_room(self) -> bool:
        return len(self.results) < ROOM or not self.is_read or self.requests.stop.is_set()

    def carry_out(self, work: Work) -> None:
        """The whole life of the thread that runs."""
        try:
            self.settle(work(self.receiver))
        except Stopped:
            pass
        except BaseException as error:
            self.error = error
        with self.changed:
            self.has_ended = True
            self.changed.notify_all()

    def settle(self, outcome: Outcome) -> None:
        self.each, self.metrics = outcome
        self.has_ended = True

    def take(self) -> tuple[int, pa.RecordBatch] | None:
        """The next result, once there is one; None when there will be none."""
        with self.changed:
            wait_until(self.changed, lambda: bool(self.results) or self.has_ended)
            self.changed.notify_all()
            if self.results:
                return self.results.popleft()
        if self.error is not None:
            raise self.error
        return None

    def stop_reading(self) -> None:
        with self.changed:
            self.is_read = False
            self.results.clear()
            self.changed.notify_all()

    def stop(self) -> None:
        """The run ends at its next result, or soon while it waits for a source."""
        self.requests.stop.set()
        self.stop_reading()


class Run(Generic[Item]):
    """Queries that run: iterate over it to get their results as windows close, each once.

    The run waits while the reader is busy. Its errors are raised in the reader. In a `with` block it is stopped when
    the block is left, and so is a run that nobody holds any more.
    """

    def __init__(
        self,
        work: Work,
        requests: Requests,
        item: Callable[[int, pa.RecordBatch], Item],
        *,
        into: Receiver | None = None,
        keep_late: bool = True,
        on_end: Callable[[list[Metrics]], None] | None = None,
        channels: Mapping[str, PushChannel] = MappingProxyType({}),
    ) -> None:
        """With `into`, everything is handed over there, and the run has ended when this returns.

        `item` makes what the reader gets. `on_end` is called once, by the reader, when the run has come to its end.
        `channels` lead to the streams whose rows are pushed.
        """
        self._channels = channels
        self._mailbox = _Mailbox(requests, keep_late=keep_late)
        self._unserve: Callable[[], object] = lambda: None
        self.metrics_url: str | None = None
        """Where metrics and health are served over HTTP, with `metrics_port`."""
        self._item = item
        self._on_end = on_end
        self._thread: Thread | None = None
        if into is not None:
            self._mailbox.settle(work(into))
            return
        weakref.finalize(self, self._mailbox.stop).atexit = False
        target, arguments = copy_context().run, (self._mailbox.carry_out, work)
        self._thread = Thread(target=target, args=arguments, name="windrow-run", daemon=True)
        self._thread.start()

    def push(self, rows: Any, *, to: str | None = None, timeout: float | None = None) -> None:
        """Give rows to the stream `to` (which need not be said of one alone): a dict, a list of dicts, or Arrow data.

        Waits while the run has enough to do, at most `timeout` seconds, and raises what is wrong with the rows.
        """
        self._channel(to).push(rows, timeout)

    def punctuate(self, value: Any, *, group: tuple[Any, ...] | None = None, to: str | None = None) -> None:
        """Promise that no later row of the stream has a lower time (in its group), where it is `punctuated`."""
        self._channel(to).punctuate(value, group)

    def _channel(self, name: str | None) -> PushChannel:
        if name is None and len(self._channels) == 1:
            return next(iter(self._channels.values()))
        if name is None or name not in self._channels:
            raise ConfigurationError(
                "must be a stream whose rows are pushed",
                parameter="to",
                value=name,
                allowed=tuple(self._channels),
                hint="make one with wr.stream(None, time=..., schema=...)",
            )
        return self._channels[name]

    def __iter__(self) -> Iterator[Item]:
        return self

    def __aiter__(self) -> AsyncIterator[Item]:
        return self._items()

    async def _items(self) -> AsyncIterator[Item]:
        """The same, while others run in the event loop."""
        from asyncio import to_thread

        while (taken := await to_thread(self._mailbox.take)) is not None:
            yield self._item(*taken)
        self._finish()

    def __next__(self) -> Item:
        taken = self._mailbox.take()
        if taken is None:
            self._finish()
            raise StopIteration
        return self._item(*taken)

    def late(self) -> list[Item]:
        """The late rows (under LATE SIDE) that came since this was last called, batch by batch; never waits.

        They are kept until they are taken.
        """
        late = self._mailbox.late
        return [self._item(*late.popleft()) for _ in range(len(late))]

    def rejected(self) -> list[pa.RecordBatch]:
        """The messages that no row could be made of, since this was last called: where they came from, and why.

        Those of long ago are only counted.
        """
        rejected = self._mailbox.rejected
        return [rejected.popleft() for _ in range(len(rejected))]

    @property
    def metrics(self) -> Metrics:
        """What was counted up to now, of all queries together; a moment old while the run goes on."""
        return self._mailbox.metrics

    @property
    def each(self) -> list[Metrics]:
        """The metrics of each query; there when the run has come to its end."""
        return list(self._mailbox.each)

    @property
    def progress(self) -> Mapping[str, SourceMetrics]:
        """How far each source is: its rows, its largest time, what it promised, whether it has ended."""
        return self.metrics.sources

    @property
    def has_ended(self) -> bool:
        """Whether nothing runs any more; results that were not read may still be there."""
        return self._mailbox.has_ended

    def stop(self) -> None:
        """End now and wait until that is done: what was read stays, what is open is not reported."""
        self._mailbox.stop()
        self._join()
        self._unserve()

    def served(self, url: str, end: Callable[[], None]) -> Run[Item]:
        """Its metrics are served at an address, until it is stopped or held by nobody; then `end` is called, once."""
        self.metrics_url = url
        self._unserve = finalizer = weakref.finalize(self, end)
        finalizer.atexit = False
        if self._thread is None:
            self._unserve()
        return self

    def close(self) -> None:
        """Let the run finish at the end of what is there: sources that wait count as ended, and all windows close.

        Returns at once: the last results are to be read like all others, or waited for.
        """
        for channel in self._channels.values():
            channel.end()  # what was pushed up to now still counts
        self._mailbox.requests.close.set()

    def wait(self) -> Metrics:
        """Wait for the end, and raise what the run raised; results that were not read until now are let go."""
        self._mailbox.stop_reading()
        self._join()
        self._mailbox.take()
        self._finish()
        return self.metrics

    def _join(self) -> None:
        if self._thread is not None and self._thread is not current_thread():
            wait_for_end(self._thread)

    def _finish(self) -> None:
        on_end, self._on_end = self._on_end, None
        if on_end is not None and self._mailbox.each:
            on_end(self._mailbox.each)

    def __enter__(self) -> Run[Item]:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def tagged(query: int, batch: pa.RecordBatch) -> tuple[int, pa.RecordBatch]:
    """What the reader of several queries gets."""
    return query, batch


def untagged(_query: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    """What the reader of a single query gets."""
    return batch
