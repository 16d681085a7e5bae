"""Runs of the local engine that break off behind one of their checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import windrow as wr
from tests.soak.queries import BATCH_ROWS
from tests.strategies import comparable
from windrow.engines.local.background import BackgroundWriter
from windrow.engines.local.checkpoint import Checkpoints, Draft


class Broken(BaseException):
    """The power went off; nobody may catch that, and the command line makes no message of it."""


@contextmanager
def breaking_after(saves: int) -> Iterator[None]:
    """The power goes off as soon as so many checkpoints were written."""
    done: list[Any] = []
    write = Checkpoints.write

    def write_and_break(self: Checkpoints, draft: Draft) -> Any:
        done.append(write(self, draft))
        if len(done) == saves:
            raise Broken
        return done[-1]

    with every_checkpoint(), mock.patch.object(Checkpoints, "write", write_and_break), suppress(Broken):
        yield


@contextmanager
def every_checkpoint() -> Iterator[None]:
    """None is skipped: each is waited for before the next element."""

    def waits(writer: BackgroundWriter) -> bool:
        writer.wait()
        return False

    with mock.patch.object(BackgroundWriter, "is_busy", property(waits)):
        yield


def leave_checkpoint(query: wr.Query, folder: Path, saves: int) -> None:
    """The checkpoint of a run that broke off after so many."""
    with breaking_after(saves):
        query.run(engine="local", checkpoint=str(folder), checkpoint_every=1, batch_rows=BATCH_ROWS)


def answer(query: wr.Query, **options: Any) -> tuple[list[Any], list[Any]]:
    """Results and late rows, in any order."""
    result = query.run(engine="local", batch_rows=BATCH_ROWS, **options)
    return comparable(result.table.to_pylist()), comparable(result.late.to_pylist())
