"""UDP on this machine: tuples of 16 bytes through parse, filter, window and result; the highest rate without a loss.

SELECT time, count(*) FROM trades [RANGE 600 SECONDS SLIDE ... WATTR time] WHERE symbol = 'UBSN', as in the papers whose
circuit took 760 Mbit/s. A sender in a process and on a core of its own sends frames of at most 1,472 bytes over
loopback, one datagram at a time (bar 1 Gbit/s, goal 2.5), or in pieces that the kernel cuts and puts together again
(bar 10 Gbit/s, goal 25). Gbit/s are those of the tuples alone. Steps go up until datagrams are lost, or the sender is
as fast as it can be. Beside it a loop in Python that only receives.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from _figures import Figure, Unit
from _harness import Settings, benchmark, table, verdict
from _udp_sender import SCHEMA, TYPES

import windrow as wr
from windrow.engines.local import LocalOptions
from windrow.engines.local.run import Runner
from windrow.sources.datagrams.sockets import coalesce, dropped, grow

RANGE = 600_000
RATIOS = (10, 64, 512, 4096)
BUFFER = "256MB"
BARS = {False: (1e9, 2.5e9), True: (10e9, 25e9)}
NAMES = {False: "one at a time", True: "with offload"}
FIRST = {False: 4e6, True: 20e6}
"""Tuples a second of the first step."""
GROWTH, KEPT = 1.25, 0.97
"""From one step to the next; a sender that reaches less of what it was asked for is as fast as it can be."""


@dataclass(frozen=True)
class Step:
    """What was sent at a rate, and what came."""

    asked: float
    sent: int
    came: int
    lost: int
    tuples: int
    seconds: float

    @property
    def rate(self) -> float:
        """Tuples a second that were sent."""
        return self.tuples / self.seconds

    @property
    def bits(self) -> float:
        return self.rate * 16 * 8

    @property
    def is_whole(self) -> bool:
        return self.lost == 0


class SenderProcess:
    """The other process, at work."""

    def __init__(self) -> None:
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        own = cores[-1] if len(cores) > 1 else -1
        if own >= 0:
            os.sched_setaffinity(0, set(cores[:-1]))
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("_udp_sender.py")), str(own)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.frame = self.answer()

    def ask(self, **order: Any) -> None:
        pipe = self.process.stdin
        assert pipe is not None
        pipe.write(json.dumps(order) + "\n")
        pipe.flush()

    def answer(self) -> dict[str, Any]:
        pipe: IO[str] | None = self.process.stdout
        assert pipe is not None
        found: dict[str, Any] = json.loads(pipe.readline())
        return found


@contextmanager
def sending() -> Iterator[SenderProcess]:
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    sender = SenderProcess()
    try:
        yield sender
    finally:
        if cores:
            os.sched_setaffinity(0, cores)
        sender.process.kill()
        sender.process.wait()


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def through_query(sender: SenderProcess, rate: float, seconds: float, *, offload: bool, ratio: int = 10) -> Step:
    """One step through the whole query, whose results are checked."""
    port, slide = free_port(), RANGE // ratio
    options = f"types={TYPES}&buffer={BUFFER}&offload={'on' if offload else 'off'}"
    stream = wr.stream(
        f"udp://127.0.0.1:{port}?{options}", schema=SCHEMA, time="time", progress=wr.slack(30_000), name="trades"
    )
    text = f"""SELECT time, count(*) AS number FROM trades [RANGE {slide * ratio} SLIDE {slide} WATTR time]
        WHERE symbol = 'UBSN'"""
    asked = wr.sql(text, trades=stream)
    runner = Runner(asked.plan, asked.sources, LocalOptions())
    counted: list[int] = []
    runner.pipeline.ends[0].on_result = lambda batch: counted.append(int(np.asarray(batch["number"]).sum()))
    sender.ask(port=port, rate=rate, seconds=seconds, offload=offload, moves=True)
    metrics = runner.run()
    sent = sender.answer()
    each, lost = sender.frame["each"], metrics.datagrams_lost
    if metrics.rows_in != (sent["datagrams"] - lost) * each or metrics.rows_late:
        raise SystemExit(
            f"sent {sent}, but {metrics.rows_in} rows came, {lost} datagrams were lost, {metrics.rows_late} late"
        )
    if not lost and sum(counted) != ratio * sent["wanted"]:
        raise SystemExit(f"the results count {sum(counted)} rows, {ratio} times {sent['wanted']} were sent")
    return Step(rate, sent["datagrams"], metrics.rows_in // each, lost, sent["tuples"], sent["seconds"])


def through_loop(sender: SenderProcess, rate: float, seconds: float, *, offload: bool) -> Step:
    """The same datagrams, received by a loop in Python and forgotten."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind(("127.0.0.1", 0))
        grow(made, 256 << 20)
        if offload:
            coalesce(made)
        sender.ask(port=made.getsockname()[1], rate=rate, seconds=seconds, offload=offload, moves=False)
        memory, size, total = bytearray(65536), sender.frame["size"], 0
        while (found := made.recv_into(memory)) != 20:  # a frame without records is the end
            total += found
        sent = sender.answer()
        came = total // size
        lost = max(dropped(made), sent["datagrams"] - came) if offload else dropped(made)
    return Step(rate, sent["datagrams"], came, lost, sent["tuples"], sent["seconds"])


def climb(step: Callable[[float], Step], first: float) -> tuple[Step, list[Step]]:
    """The fastest step without a loss, found by going up and then between; and all that were tried."""
    tried, best, rate, slower = list[Step](), step(first / 4), first, 0
    while True:
        tried.append(step(rate))
        if not tried[-1].is_whole:
            break
        slower = slower + 1 if tried[-1].rate < KEPT * rate else 0
        best = max(best, tried[-1], key=lambda one: one.rate)
        if slower == 2:
            return best, tried
        rate *= GROWTH
    low, high = best.rate, rate
    for _ in range(3):
        found = step((low + high) / 2)
        tried.append(found)
        low, high = (found.asked, high) if found.is_whole else (low, found.asked)
        best = max(best, found, key=lambda one: one.rate * one.is_whole)
    return best, tried


HEADERS = ["Gbit/s", "M tuples/s", "datagrams sent", "came", "lost"]


def cells(one: Step) -> list[object]:
    return [f"{one.bits / 1e9:.2f}", f"{one.rate / 1e6:.1f}", f"{one.sent:,}", f"{one.came:,}", f"{one.lost:,}"]


def measure(settings: Settings, sender: SenderProcess, offload: bool) -> None:
    seconds = 0.5 if settings.quick else 1.5
    works: dict[str, Callable[[float], Step]] = {
        "query": lambda rate: through_query(sender, rate, seconds, offload=offload),
        "bare loop": lambda rate: through_loop(sender, rate, seconds, offload=offload),
    }
    works["query"](1e6)  # compiles what is not compiled yet
    found = {name: climb(work, FIRST[offload]) for name, work in works.items()}
    for name, (_, tried) in found.items():
        title = f"{NAMES[offload]}, {name}: steps of {seconds} s"
        table(title, ["asked, M tuples/s", *HEADERS], [[f"{one.asked / 1e6:.1f}", *cells(one)] for one in tried])
    bar, goal = BARS[offload]
    best, loop = found["query"][0], found["bare loop"][0]
    figures = Figure.once(best.bits, Unit.RATE), Figure.once(best.rate, Unit.RATE)
    line = [NAMES[offload], *figures, f"{loop.bits / 1e9:.2f} Gbit/s", f"{best.rate / loop.rate:.2f}"]
    headers = ["highest rate without a loss", "bit/s", "tuples/s", "bare loop", "of the bare loop"]
    settings.report(
        f"{NAMES[offload]}: frames of {sender.frame['size']} bytes",
        [*headers, f"bar {bar / 1e9:g} Gbit/s", f"goal {goal / 1e9:g}"],
        [[*line, verdict(best.bits, bar), verdict(best.bits, goal)]],
    )
    flat(sender, offload, 0.8 * best.rate, seconds)
    above = through_query(sender, 2 * best.rate, seconds, offload=offload)
    table(f"{NAMES[offload]}: twice as much asked for", ["", *HEADERS], [["sent = came + lost", *cells(above)]])


def flat(sender: SenderProcess, offload: bool, rate: float, seconds: float) -> None:
    """The same for every ratio of RANGE to SLIDE, at four fifths of the highest rate."""
    steps = {ratio: through_query(sender, rate, seconds, offload=offload, ratio=ratio) for ratio in RATIOS}
    lines = [[f"{NAMES[offload]}, {ratio}", *cells(one)] for ratio, one in steps.items()]
    table(f"{NAMES[offload]}: by RANGE/SLIDE, at 0.8 of the highest rate", ["RANGE/SLIDE", *HEADERS], lines)


def main(settings: Settings) -> None:
    with sending() as sender:
        for offload in (False, True):
            measure(settings, sender, offload)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
