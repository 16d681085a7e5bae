"""One worker of a chain: what it holds of both streams, and what it does with a message.

Blocks of the left stream enter at the left end and move right, those of the right stream the other way. A worker
compares a block that enters with all it holds of the other side; so any two blocks that pass each other meet.

Invariants, for a left block l and a right block r:
- Two blocks in one channel do not miss each other: a worker keeps a right block that it handed to its left neighbour,
  marked as forwarded, until the neighbour has acknowledged it. A left block that the neighbour sent before it saw r
  meets that copy, one sent later comes behind the acknowledgement, in the same queue, when the copy is gone.
- Left blocks are removed as they are sent: one worker keeps copies, the other does not, so no pair meets twice.
- At the ends the driver acknowledges what has left a window, in the queue by which the other stream enters: blocks
  before it still meet the expired one, blocks behind it do not. The acknowledgement waits at the head of its queue
  until the block it names has come through the chain, however short the windows are.

Where blocks lie decides nothing, so a worker forwards by load alone: when it holds more than its neighbour.

A chain at rest, with no message under way, can be *settled*: pairs that have yet to meet are compared, each on the
worker of one of the two, without moving anything. Pairs of blocks from before that are left out from then on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import Generic, Protocol, TypeAlias, TypeVar

from windrow.semantics.joins import LEFT, RIGHT


class Numbered(Sized, Protocol):
    """A block of rows: what moves, and what is acknowledged. Blocks of a stream are numbered as they enter."""

    @property
    def number(self) -> int: ...


Block = TypeVar("Block", bound=Numbered)
Contra = TypeVar("Contra", bound=Numbered, contravariant=True)


@dataclass(frozen=True)
class Acknowledgement:
    """The block of this number, of the stream that flows against the channel, may go."""

    number: int


class Local(Protocol[Contra]):
    """The rows of one worker, oldest first, and how they are compared: a scan, a table, an index."""

    def compare(self, side: int, block: Contra, start: int, end: int) -> None:
        """Pairs of a block of `side` and the rows of the other side at places [start, end)."""

    def insert(self, side: int, block: Contra) -> None: ...

    def remove(self, side: int, block: Contra) -> None:
        """The oldest block of a side goes."""


class Channel(Generic[Block]):
    """A queue with one sender and one receiver; blocks and acknowledgements keep their order."""

    def __init__(self, limit: int | None = None) -> None:
        self.messages: deque[Block | Acknowledgement] = deque()
        self.limit = limit
        self.sent = 0
        """Rows, counted by the sender alone; `received` by the receiver alone: no lock is needed."""
        self.received = 0

    @property
    def rows(self) -> int:
        """Rows under way."""
        return self.sent - self.received

    def has_room(self) -> bool:
        return self.limit is None or len(self.messages) < self.limit

    def send(self, message: Block | Acknowledgement) -> None:
        if not isinstance(message, Acknowledgement):
            self.sent += len(message)
        self.messages.append(message)

    def take(self) -> None:
        """The first message is done."""
        message = self.messages.popleft()
        if not isinstance(message, Acknowledgement):
            self.received += len(message)


@dataclass
class Segment(Generic[Block]):
    """What a worker holds of one stream, oldest first."""

    blocks: deque[Block] = field(default_factory=deque)
    rows: int = 0
    forwarded: int = 0
    """So many of the oldest blocks were sent on and wait for their acknowledgement."""
    forwarded_rows: int = 0
    settled_rows: int = 0
    """So many of the oldest rows are of blocks from before the chain was settled."""

    @property
    def load(self) -> int:
        return self.rows - self.forwarded_rows

    def insert(self, block: Block, is_settled: bool) -> None:
        self.blocks.append(block)
        self.rows += len(block)
        self.settled_rows += len(block) if is_settled else 0

    def remove(self) -> Block:
        """The oldest block."""
        block = self.blocks.popleft()
        self.rows -= len(block)
        self.settled_rows = max(0, self.settled_rows - len(block))
        if self.forwarded:
            self.forwarded -= 1
            self.forwarded_rows -= len(block)
        return block

    def mark(self) -> None:
        """The oldest block that was not sent on is now."""
        self.forwarded_rows += len(self.blocks[self.forwarded])
        self.forwarded += 1


Pipes: TypeAlias = tuple[Channel[Block], Channel[Block]]


class Worker(Generic[Block]):
    """`inbox[LEFT]` comes from the left: left blocks and acknowledgements of right ones; `outbox[LEFT]` goes there."""

    def __init__(self, local: Local[Block], inbox: Pipes[Block], outbox: Pipes[Block]) -> None:
        self.local = local
        self.inbox = inbox
        self.outbox = outbox
        self.neighbours: list[Worker[Block] | None] = [None, None]
        """To the left and to the right; only their loads are looked at."""
        self.segments: tuple[Segment[Block], Segment[Block]] = Segment(), Segment()
        self.settled = [0, 0]
        """Blocks of lower numbers were there when the chain was last settled."""

    def step(self) -> bool:
        """Take a message from either side and forward what should be; False when there was nothing to do."""
        received = [self.receive(side) for side in (LEFT, RIGHT)]
        forwarded = [self.forward(side) for side in (LEFT, RIGHT)]
        return any(received) or any(forwarded)

    def can_step(self) -> bool:
        return any(self._can_receive(side) or self._can_forward(side) for side in (LEFT, RIGHT))

    def receive(self, side: int) -> bool:
        if not self._can_receive(side):
            return False
        message = self.inbox[side].messages[0]
        if isinstance(message, Acknowledgement):
            self._remove(1 - side)
        else:
            self._enter(side, message)
        self.inbox[side].take()
        return True

    def _can_receive(self, side: int) -> bool:
        messages = self.inbox[side].messages
        if not messages:
            return False
        message = messages[0]
        if isinstance(message, Acknowledgement):
            held = self.segments[1 - side].blocks
            return bool(held) and held[0].number == message.number
        return side == LEFT or self.neighbours[RIGHT] is None or self.outbox[RIGHT].has_room()

    def _enter(self, side: int, block: Block) -> None:
        other = self.segments[1 - side]
        was_settled = block.number < self.settled[side]
        self.local.compare(side, block, other.settled_rows if was_settled else 0, other.rows)
        self.local.insert(side, block)
        self.segments[side].insert(block, was_settled)
        if side == RIGHT and self.neighbours[RIGHT] is not None:
            self.outbox[RIGHT].send(Acknowledgement(block.number))

    def _remove(self, side: int) -> Block:
        block = self.segments[side].remove()
        self.local.remove(side, block)
        return block

    def forward(self, side: int) -> bool:
        """Hand the oldest block of a side on, if the neighbour in its way holds less."""
        if not self._can_forward(side):
            return False
        segment, channel = self.segments[side], self.outbox[1 - side]
        block = segment.blocks[segment.forwarded]
        if side == RIGHT:
            segment.mark()
        else:
            self._remove(side)
        channel.send(block)
        return True

    def _can_forward(self, side: int) -> bool:
        towards, segment = self.neighbours[1 - side], self.segments[side]
        if towards is None or segment.forwarded == len(segment.blocks):
            return False
        channel = self.outbox[1 - side]
        return channel.has_room() and segment.load > towards.segments[side].load + channel.rows

    def fresh(self, side: int) -> list[Block]:
        """The blocks that came since the chain was last settled."""
        newest_first = takewhile(lambda block: block.number >= self.settled[side], reversed(self.segments[side].blocks))
        return list(newest_first)[::-1]

    def settle(self, lefts: Iterable[Block], rights: Iterable[Block], numbers: Sequence[int]) -> None:
        """Meet the fresh left blocks of all workers to the left, and the fresh right ones of those to the right.

        Two fresh blocks would find each other on either's worker: that of the right one compares them.
        `numbers` are those of the next blocks to come.
        """
        for block in lefts:
            self.local.compare(LEFT, block, 0, self.segments[RIGHT].rows)
        for block in rights:
            self.local.compare(RIGHT, block, 0, self.segments[LEFT].settled_rows)
        self.settled = list(numbers)
        for segment in self.segments:
            segment.settled_rows = segment.rows

    def adopt(self, side: int, block: Block) -> None:
        """Hold a block that has met all blocks there are."""
        self.local.insert(side, block)
        self.segments[side].insert(block, True)


def linked(
    locals_: Sequence[Local[Block]], limit: int | None = None, make: type[Worker[Block]] = Worker
) -> list[Worker[Block]]:
    """A chain of workers with a channel each way between neighbours; the outer ones belong to the driver."""
    rightward: list[Channel[Block]] = [Channel(limit) for _ in range(len(locals_) + 1)]
    leftward: list[Channel[Block]] = [Channel(limit) for _ in range(len(locals_) + 1)]
    workers = [
        make(local, (rightward[i], leftward[i + 1]), (leftward[i], rightward[i + 1])) for i, local in enumerate(locals_)
    ]
    for left, right in pairwise(workers):
        left.neighbours[RIGHT] = right
        right.neighbours[LEFT] = left
    return workers
