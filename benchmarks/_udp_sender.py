"""The sender of `udp.py`, a process of its own: it gets orders on standard input and answers with what it sent.

The tuples of the papers, 16 bytes each, in frames with sequence numbers. A few of them are sent again and again, each
time with later times.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.frames.header import HEADER
from windrow.frames.packing import Datagrams, Packer
from windrow.frames.tuples import TupleLayout
from windrow.generate import trades
from windrow.sinks.datagrams.sender import Sender

TYPES = "s4,i4,i4,i4"
_KINDS: dict[str, pa.DataType] = {
    "symbol": pa.string(),
    "price": pa.int64(),
    "volume": pa.int64(),
    "time": pa.int64(),
}
SCHEMA = pa.schema(_KINDS)
LAYOUT = TupleLayout.of(SCHEMA, TYPES)
RATE = 10_000
"""Tuples a second of event time, which is told in milliseconds."""
FRAMES = 44 * 64
TOGETHER = 44
"""Datagrams that the kernel makes of one piece."""


class Stock:
    """Frames that are there, sent round and round."""

    def __init__(self) -> None:
        each = Packer(LAYOUT).rows_each
        made = trades(FRAMES * each, seed=1, rate=RATE).table().combine_chunks()
        millis = np.asarray(made["time"].cast(pa.int64())) // 1000
        self.span = len(millis) * 1000 // RATE
        columns: list[Any] = [made[name].combine_chunks() for name in ("symbol", "price", "volume")]
        batch = pa.RecordBatch.from_arrays([*columns, pa.array(self._disordered(millis - millis[0]))], SCHEMA.names)
        found = Packer(LAYOUT).rows(batch)
        self.size, self.each = found.size, each
        self.data = found.data
        frames = self.data.reshape(FRAMES, self.size)
        self.numbers = frames[:, 12:20]
        records = frames[:, HEADER.size :].reshape(FRAMES, each, LAYOUT.size)
        self.times: Any = np.lib.stride_tricks.as_strided(
            self.data[HEADER.size + 12 :].view(np.int32) if (HEADER.size + 12) % 4 == 0 else records,
            (FRAMES, each),
            (self.size, LAYOUT.size),
        )
        self.wanted = (records[:, :, :4] == np.frombuffer(b"UBSN", np.uint8)).all(axis=2).sum(axis=1)

    def _disordered(self, millis: Any) -> Any:
        """Up to 30 seconds late, within a round."""
        late = np.random.default_rng(2).integers(0, 30_000, len(millis))
        return np.minimum(np.maximum(millis * self.span // (int(millis[-1]) + 1) - late, 0), self.span - 1)


def send(stock: Stock, order: dict[str, Any]) -> dict[str, Any]:
    """Frames at a rate of tuples a second, for so many seconds."""
    sender = Sender("127.0.0.1", order["port"], offload=order["offload"])
    step = TOGETHER if order["offload"] else 32
    rate, total = order["rate"] / stock.each, int(order["rate"] * order["seconds"]) // stock.each
    sent = wanted = at = 0
    base = stock.times.copy()
    began = time.perf_counter()
    while sent < total:
        now = time.perf_counter() - began
        due = min(int(now * rate) + step - sent, 16 * step, FRAMES - at)
        if due < step and at + step <= FRAMES:
            time.sleep(max(0.0, (sent + step) / rate - now - 20e-6) if step / rate > 100e-6 else 0)
            continue
        numbers = np.arange(sent, sent + due, dtype="<u8")
        stock.numbers[at : at + due] = numbers.view(np.uint8).reshape(due, 8)
        sender.send(Datagrams(stock.data[at * stock.size : (at + due) * stock.size], stock.size))
        wanted += int(stock.wanted[at : at + due].sum())
        if order["moves"]:
            stock.times[at : at + due] += stock.span  # for the next round
        sent, at = sent + due, (at + due) % FRAMES
    seconds = time.perf_counter() - began
    packer = Packer(LAYOUT)
    packer.number = sent
    time.sleep(0.2)  # what is lost is lost by now, and the end finds room
    for _ in range(3):
        sender.send(packer.end())
    sender.close()
    stock.times[:] = base
    return {"datagrams": sent, "tuples": sent * stock.each, "wanted": wanted, "seconds": seconds}


def main() -> None:
    core = int(sys.argv[1])
    if core >= 0 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    stock = Stock()
    print(json.dumps({"size": stock.size, "each": stock.each}), flush=True)
    for line in sys.stdin:
        print(json.dumps(send(stock, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
