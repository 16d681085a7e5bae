"""Four hours of a stream in minutes: memory and open files stay as they are, and the answer is right to the end."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from time import sleep

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.pipeline.metrics import Metrics

HOURS = 4
RATE = 2_000
"""Rows a second of the stream's own time."""
KINDS: dict[str, pa.DataType] = {"time": pa.timestamp("us"), "sensor": pa.int64(), "value": pa.int64()}
SCHEMA = pa.schema(KINDS)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def batches() -> Iterator[pa.RecordBatch]:
    """Ten seconds each, in disorder of up to two seconds; sensors come and go, some rows are late."""
    draw = np.random.default_rng(7)
    size = 10 * RATE
    for number in range(HOURS * 360):
        times = number * 10_000_000 + np.arange(size) * (1_000_000 // RATE) - draw.integers(0, 2_000_000, size)
        times[draw.integers(0, size, 3)] -= 60_000_000
        sensors = number // 60 + draw.integers(0, 500, size)
        columns = [pa.array(times).cast(pa.timestamp("us")), pa.array(sensors), pa.array(draw.integers(0, 100, size))]
        yield pa.record_batch(columns, schema=SCHEMA)


class Watch:
    """What the process holds, measured as the stream goes on."""

    def __init__(self) -> None:
        self.memory: list[int] = []
        self.files: list[int] = []

    def __call__(self, metrics: Metrics) -> None:
        self.memory.append(resident())
        self.files.append(descriptors())

    def check(self) -> None:
        """After a first quarter, in which caches fill, a line through memory is flat within noise."""
        memory = np.array(self.memory[len(self.memory) // 4 :], float)
        slope = np.polyfit(np.linspace(0, 1, len(memory)), memory, 1)[0]
        held = f"{memory.mean() / 1e6:.0f} MB, {slope / 1e6:+.1f} MB over three hours, {self.files[-1]} files"
        print(f"{len(memory)} looks: {held}")
        assert slope < 0.05 * memory.mean()
        assert max(self.files[len(self.files) // 4 :]) <= max(self.files[: len(self.files) // 4]) + 2


@pytest.mark.soak
def test_four_hours(tmp_path: Path) -> None:
    """Checkpoints every second, files of a folder as output, late rows aside."""
    watch, given = Watch(), 0

    stream = wr.stream(None, time="time", progress=wr.slack("2 s"), name="sensors", schema=SCHEMA)
    query = (
        stream.group_by("sensor")
        .window(range="60 s", slide="10 s")
        .agg(n=wr.count(), top=wr.max("value"), middle=wr.median("value"))
    )
    with query.late("side").start(
        checkpoint=str(tmp_path / "state"), checkpoint_every=200_000, on_progress=watch
    ) as run:

        def push() -> None:
            for batch in batches():
                run.push(batch)
            run.close()

        pushing = Thread(target=push)
        pushing.start()
        for batch in run:
            given += batch["n"].to_numpy().sum()
            run.late()
        pushing.join()
        metrics = run.metrics
    rows = HOURS * 3600 * RATE
    assert (rows, rows) == (metrics.rows_in, metrics.rows_used + metrics.rows_late)
    assert 0 < metrics.rows_late < 0.001 * rows
    assert 6 * metrics.rows_used <= given <= 6 * rows
    watch.check()


@pytest.mark.soak
def test_clients_come_and_go(tmp_path: Path) -> None:
    """Three thousand connections and a folder in which files appear and go leave no descriptor behind."""
    watch = Watch()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    schema = pa.schema([("t", pa.int64())])
    stream = wr.stream(f"tcp://127.0.0.1:{port}?listen=true", time="t", progress=wr.ordered(), name="s", schema=schema)
    with stream.window(range=10).agg(n=wr.count()).start(on_progress=watch) as run:
        number = given = 0
        while number < 3000:
            try:
                with socket.create_connection(("127.0.0.1", port), 10) as client:
                    client.sendall((json.dumps({"t": number}) + "\n").encode() * 2 + b"half")
                    client.shutdown(socket.SHUT_WR)
                    assert b"" == client.recv(1)
                number += 1
            except ConnectionRefusedError:
                continue
            if number % 10 == 1 and number > 1:
                given += next(run)["n"][0].as_py()
        assert 2 * 2990 == given
        while run.metrics.rows_rejected < 3000:
            sleep(0.1)
        assert 3000 == run.metrics.rows_rejected
    assert max(watch.files) <= min(watch.files) + 6
