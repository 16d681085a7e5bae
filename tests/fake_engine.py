"""An engine that hands its first source on as results, so that what surrounds engines is tested by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from windrow.engines.base import ENGINES, Engine
from windrow.engines.run import Outcome, Receiver, Requests
from windrow.pipeline.metrics import Metrics as RealMetrics
from windrow.sources import elements_of


@dataclass
class Metrics(RealMetrics):
    """Those of a run that this engine pretends."""

    rows_in: int = 10
    rows_used: int = 7
    rows_late: int = 1
    rows_filtered: int = 2
    low_watermark: int | None = 60_000_000
    open_windows: int = 3
    elapsed: float = 0.5


@dataclass(frozen=True)
class Options:
    threads: int = 1
    batch_rows: int = 1 << 17
    checkpoint: str | None = None
    checkpoint_every: int | None = None
    restore: bool = False

    def check(self) -> None:
        """All is well."""


class FakeEngine(Engine):
    """Remembers what it was asked for; fails after all batches with `error`."""

    name = "local"
    options = Options

    def __init__(self) -> None:
        self.plans: list[Any] = []
        self.asked: list[Options] = []
        self.late: list[pa.RecordBatch] = []
        self.error: Exception | None = None
        self.handed_over = 0

    def run(
        self,
        plans: Sequence[Any],
        sources: Mapping[str, Any],
        receiver: Receiver,
        options: Any,
        requests: Requests,
    ) -> Outcome:
        each = [self._run_one(query, plan, sources, receiver, options) for query, plan in enumerate(plans)]
        return each, each[0]

    def _run_one(
        self, query: int, plan: Any, sources: Mapping[str, Any], receiver: Receiver, options: Options
    ) -> RealMetrics:
        self.plans.append(plan)
        self.asked.append(options)
        for batch in elements_of(next(iter(sources.values())), batch_rows=1):
            assert isinstance(batch, pa.RecordBatch)
            receiver.on_result(query, batch)
            self.handed_over += 1
            if receiver.on_progress:
                receiver.on_progress(Metrics(results=self.handed_over))
        for batch in self.late if receiver.on_late else []:
            assert receiver.on_late is not None
            receiver.on_late(query, batch)
        if self.error:
            raise self.error
        return Metrics(results=self.handed_over)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> FakeEngine:
    """Instead of the local one. Its results do not fit every query, which counts as a fault: traces of it go apart."""
    fake = FakeEngine()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("faults")))
    monkeypatch.setitem(ENGINES, "local", fake)
    return fake
