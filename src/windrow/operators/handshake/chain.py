"""A chain of workers on threads of this process.

Each thread runs its worker until there is nothing to do, and sleeps then; what gives it something wakes it. Queues
need no lock: the two sides of each are different threads, and appending and taking are atomic. A lock guards only who
sleeps. As every thread is woken by one that is awake, or by the driver, nothing is under way when all sleep.

What workers find goes to the driver through an outlet: a worker waits there while much is waiting to be taken.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Generic, TypeAlias

from windrow.aggregates.kinds.base import Integers
from windrow.operators.handshake.protocol import Acknowledgement, Block, Local, Worker, linked
from windrow.semantics.joins import LEFT, RIGHT

Found: TypeAlias = tuple[Integers, Integers]
"""Ids of left and of right rows, pair by pair."""
PAIRS = 1 << 16
"""So many pairs wait before workers do."""
WAITING = 8
"""So many messages may wait at an end before the driver does."""


class Outlet:
    """Pairs that wait to be taken. Its lock is that of the chain, so that one wait of the driver sees all news."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.room = threading.Condition(self.lock)
        self.changed = threading.Condition(self.lock)
        """There is something new for the driver to look at."""
        self.parts: deque[Found] = deque()
        self.pairs = 0
        self.is_closed = False

    @property
    def is_full(self) -> bool:
        return self.pairs >= PAIRS

    def put(self, found: Found) -> None:
        """Pairs of a worker, once there is room; after the end they are dropped."""
        with self.lock:
            self.room.wait_for(lambda: not self.is_full or self.is_closed)
            if self.is_closed:
                return
            self.parts.append(found)
            self.pairs += len(found[0])
            if self.is_full:
                self.changed.notify_all()

    def take(self) -> list[Found]:
        with self.lock:
            taken = list(self.parts)
            self.parts.clear()
            self.pairs = 0
            self.room.notify_all()
        return taken

    def close(self) -> None:
        """With the lock held: nothing is taken any more."""
        self.is_closed = True
        self.room.notify_all()
        self.changed.notify_all()


class Chain(Generic[Block]):
    """What the driver sees: blocks in, expiries in, and rest.

    What may have to wait is an iterator that is to be run to its end: it pauses when the outlet is full.
    """

    def __init__(self, locals_: Sequence[Local[Block]], outlet: Outlet | None = None) -> None:
        """`outlet` is where the workers put what they find, if they do."""
        self.crew = _Crew(linked(locals_), outlet or Outlet())
        self.numbers = [0, 0]
        """Of the next block of each side."""
        # The threads know the crew alone: a chain that is no longer referred to lets them go.
        weakref.finalize(self, self.crew.stop)

    def enter(self, side: int, block: Block) -> Iterator[None]:
        """A block into its end of the chain, once there is room."""
        yield from self.crew.room(side)
        self.numbers[side] = block.number + 1
        self.crew.send(side, block)

    def expire(self, side: int, number: int) -> None:
        """A block may go, when all that entered before have met it; it comes out at the other end."""
        self.crew.send(1 - side, Acknowledgement(number))

    def settle(self) -> Iterator[None]:
        """Come to rest, then let all pairs meet that have not yet."""
        crew = self.crew
        if not crew.is_started:
            return
        yield from crew.rest()
        fresh = [(worker.fresh(LEFT), worker.fresh(RIGHT)) for worker in crew.workers]
        if not any(left or right for left, right in fresh):
            return
        for place, worker in enumerate(crew.workers):
            lefts = [block for one, _ in fresh[:place] for block in one]
            rights = [block for _, one in fresh[place + 1 :] for block in one]
            crew.order(place, partial(worker.settle, lefts, rights, list(self.numbers)))
        yield from crew.rest()

    def spread(self, side: int, blocks: Sequence[Block]) -> None:
        """Blocks that have met all there is, oldest first, over the workers of a chain where nothing has met yet."""
        self.crew.start()
        for _ in self.crew.rest():
            pass
        workers = self.crew.workers[:: -1 if side == LEFT else 1]
        for place, block in enumerate(blocks):
            workers[place * len(workers) // len(blocks)].adopt(side, block)
        for worker in workers:
            worker.settled[side] = self.numbers[side]


class _Crew(Generic[Block]):
    """The workers, and who of them sleeps."""

    def __init__(self, workers: list[Worker[Block]], outlet: Outlet) -> None:
        self.workers = workers
        self.outlet = outlet
        self.lock = outlet.lock
        self.alarms = [threading.Condition(self.lock) for _ in workers]
        self.asleep = [False] * len(workers)
        self.orders: list[Callable[[], None] | None] = [None] * len(workers)
        self.awake = len(workers)
        self.changed = outlet.changed
        """All sleep, there is room at an end, or much was found."""
        self.is_driver_waiting = False
        self.is_stopped = False
        self.failure: BaseException | None = None
        self.threads = [
            threading.Thread(target=self.run, args=(place,), daemon=True, name=f"handshake {place}")
            for place in range(len(workers))
        ]

    # The driver's part

    @property
    def is_started(self) -> bool:
        return self.threads[0].ident is not None

    def start(self) -> None:
        """With the first rows: a plan that is only looked at needs no threads."""
        if not self.is_started:
            for thread in self.threads:
                thread.start()

    def room(self, end: int) -> Iterator[None]:
        """Until one more message may wait at an end."""
        messages = self._end(end).inbox[end].messages
        if len(messages) >= WAITING:
            yield from self._wait(lambda: len(messages) < WAITING)

    def send(self, end: int, message: Block | Acknowledgement) -> None:
        self.start()
        worker = self._end(end)
        worker.inbox[end].send(message)
        self._wake(self.workers.index(worker))

    def _end(self, end: int) -> Worker[Block]:
        return self.workers[0 if end == LEFT else -1]

    def rest(self) -> Iterator[None]:
        yield from self._wait(lambda: self.awake == 0)

    def _wait(self, until: Callable[[], bool]) -> Iterator[None]:
        """Until something holds; pauses as long as workers wait for what they found to be taken."""
        is_over = False
        while not is_over:
            with self.lock:
                self.is_driver_waiting = True
                self.changed.wait_for(lambda: until() or self.is_stopped or self.outlet.is_full)
                self.is_driver_waiting = False
                is_over = until() or self.is_stopped
            if self.failure is not None:
                raise self.failure
            if not is_over:
                yield

    def order(self, place: int, work: Callable[[], None]) -> None:
        """Something to be done on a worker's own thread; it must be asleep."""
        self.orders[place] = work
        self._wake(place)

    def stop(self) -> None:
        with self.lock:
            self.is_stopped = True
            self.outlet.close()
            for alarm in self.alarms:
                alarm.notify()

    # The threads' part

    def run(self, place: int) -> None:
        try:
            while self._sleep(place):
                self._work(place)
        except BaseException as failure:
            self.failure = failure
            self.stop()

    def _work(self, place: int) -> None:
        worker, order = self.workers[place], self.orders[place]
        if order is not None:
            self.orders[place] = None
            order()
        while not self.is_stopped and worker.step():
            for near in (place - 1, place + 1):
                if 0 <= near < len(self.workers) and self.asleep[near]:
                    self._wake(near)  # which looks itself: what it holds may change as others look
            if self.is_driver_waiting:
                with self.lock:
                    self.changed.notify_all()

    def _sleep(self, place: int) -> bool:
        """Until there is something to do; False when the chain is stopped."""
        with self.lock:
            # First asleep, then look: what is sent after the look finds it asleep.
            self.asleep[place] = True
            if self.orders[place] is None and not self.workers[place].can_step():
                self.awake -= 1
                self.changed.notify_all()
                self.alarms[place].wait_for(lambda: not self.asleep[place] or self.is_stopped)
            self.asleep[place] = False
            return not self.is_stopped

    def _wake(self, place: int) -> None:
        if self.asleep[place]:
            with self.lock:
                if self.asleep[place]:
                    self.asleep[place] = False
                    self.awake += 1
                    self.alarms[place].notify()
