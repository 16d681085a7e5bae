"""Ways in which rows arrive: each has data for a stream, takes rows to be sent on, and comes to an end."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import socket
import termios
from abc import ABC, abstractmethod
from array import array
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.sources.datagrams.test_source import free_port, wait_for
from windrow.engines.run import Run

Rows = Sequence[Mapping[str, Any]]


class Feeder(ABC):
    """One stream whose rows are still to come."""

    data: Any = None
    closes = True
    """Whether the stream ends when its sender does; others end when the run is closed."""
    takes_lines = True
    """Whether any bytes may be sent."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self.folder, self.schema = folder, schema

    def begin(self, run: Run[pa.RecordBatch]) -> None:  # noqa: B027 - most have nothing to do
        """The query runs."""

    def send(self, rows: Rows) -> None:
        self.send_bytes("".join(json.dumps(row) + "\n" for row in rows).encode())

    def send_bytes(self, content: bytes) -> None:
        raise NotImplementedError

    @abstractmethod
    def end(self) -> None:
        """Nothing more is sent."""

    def clean(self) -> None:  # noqa: B027
        """The test is over."""


class Pipe(Feeder):
    """A named pipe."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        super().__init__(folder, schema)
        self.data = str(folder / "pipe")
        os.mkfifo(self.data)
        self.number = os.open(self.data, os.O_RDWR)  # which need not wait for who reads

    def send_bytes(self, content: bytes) -> None:
        os.write(self.number, content)

    def end(self) -> None:
        waiting = array("i", [1])
        while waiting[0]:  # what nobody has read would be gone
            fcntl.ioctl(self.number, termios.FIONREAD, waiting)
        os.close(self.number)


class Server(Feeder):
    """A server that the run connects to."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        super().__init__(folder, schema)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.data = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.connection: socket.socket | None = None

    def send_bytes(self, content: bytes) -> None:
        self.connection = self.connection or self.listener.accept()[0]
        self.connection.sendall(content)

    def end(self) -> None:
        connection = self.connection or self.listener.accept()[0]
        connection.close()
        self.listener.close()


class Clients(Feeder):
    """Clients that connect to the run, a new one for each piece, none of which is kept open for long."""

    closes = False

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        super().__init__(folder, schema)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.data = f"tcp://127.0.0.1:{self.port}?listen=true"

    def send_bytes(self, content: bytes) -> None:
        for _ in range(500):  # until the run listens
            with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", self.port), 10) as client:
                client.sendall(content)
                client.shutdown(socket.SHUT_WR)
                assert b"" == client.recv(1)  # it was read
                return
        raise AssertionError("nobody listens")

    def end(self) -> None:
        """The run is closed."""


class Datagrams(Feeder):
    """A datagram of JSON for each piece, or for each few lines of it."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        super().__init__(folder, schema)
        self.port = free_port()
        self.data = f"udp://127.0.0.1:{self.port}?frames=json"
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def begin(self, run: Run[pa.RecordBatch]) -> None:
        wait_for(self.port)

    def send_bytes(self, content: bytes) -> None:
        lines = content.splitlines(keepends=True)
        for start in range(0, len(lines), 20):
            self.socket.sendto(b"".join(lines[start : start + 20]), ("127.0.0.1", self.port))

    def end(self) -> None:
        self.socket.sendto(b"", ("127.0.0.1", self.port))

    def clean(self) -> None:
        self.socket.close()


class Followed(Feeder):
    """A file that grows, also in the middle of a line."""

    closes = False

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        super().__init__(folder, schema)
        self.path = folder / "rows.jsonl"
        self.data = f"follow:{self.path}"

    def send_bytes(self, content: bytes) -> None:
        for piece in (content[: len(content) // 3], content[len(content) // 3 :]):
            with self.path.open("ab") as file:
                file.write(piece)

    def end(self) -> None:
        """The run is closed."""


class Folder(Feeder):
    """A folder that gets another Parquet file for each piece."""

    closes = takes_lines = False

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        super().__init__(folder, schema)
        self.path = folder / "rows"
        self.path.mkdir()
        self.data = f"follow:{self.path}?format=parquet"
        self.count = 0

    def send(self, rows: Rows) -> None:
        self.count += 1
        hidden = self.path / ".next"
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows], self.schema), hidden)
        hidden.rename(self.path / f"{self.count:04}.parquet")

    def end(self) -> None:
        """The run is closed."""


class Pushed(Feeder):
    """A program that pushes, in all the forms that it may."""

    closes = takes_lines = False
    run: Run[pa.RecordBatch]

    def begin(self, run: Run[pa.RecordBatch]) -> None:
        self.run = run
        self.count = 0

    def send(self, rows: Rows) -> None:
        self.count += 1
        table = pa.Table.from_pylist([dict(row) for row in rows], self.schema)
        forms: list[Sequence[Any]] = [[list(rows)], [table], rows]
        for form in forms[self.count % 3]:
            self.run.push(form)

    def end(self) -> None:
        """The run is closed."""


class Asynchronous(Feeder):
    """An asynchronous iterator in an event loop of its own."""

    takes_lines = False

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        super().__init__(folder, schema)
        self.queue: Queue[Any] = Queue()
        self.data = self.came()

    async def came(self) -> AsyncIterator[Any]:
        while (row := await asyncio.to_thread(self.queue.get)) is not None:
            yield row

    def send(self, rows: Rows) -> None:
        for row in rows:
            self.queue.put(row)

    def end(self) -> None:
        self.queue.put(None)


class InLoop(Asynchronous):
    """An asynchronous iterator that lives in an event loop of the user's, which runs."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        super().__init__(folder, schema)
        self.loop = asyncio.new_event_loop()
        self.thread = Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.rows: asyncio.Queue[Any] = asyncio.run_coroutine_threadsafe(self.make(), self.loop).result()

    async def make(self) -> asyncio.Queue[Any]:
        from windrow.sources.iterables.asynchronous import waited_for

        self.data = waited_for(self.came())
        return asyncio.Queue()

    async def came(self) -> AsyncIterator[Any]:
        while (row := await self.rows.get()) is not None:
            yield row

    def send(self, rows: Rows) -> None:
        for row in rows:
            self.loop.call_soon_threadsafe(self.rows.put_nowait, row)

    def end(self) -> None:
        self.loop.call_soon_threadsafe(self.rows.put_nowait, None)

    def clean(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


FEEDERS: dict[str, type[Feeder]] = {
    "a pipe": Pipe,
    "a server": Server,
    "clients": Clients,
    "datagrams": Datagrams,
    "a file that grows": Followed,
    "a folder that fills": Folder,
    "pushed rows": Pushed,
    "an async iterator": Asynchronous,
    "an async iterator of a loop that runs": InLoop,
}
