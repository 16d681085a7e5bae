"""An engine that hands its first source on as results, so that what surrounds engines is tested by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

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


class FakeEngine(ModuleType):
    """Remembers what it was asked for; fails after `fails_after` batches with `error`."""

    def __init__(self) -> None:
        super().__init__("windrow.engines.local")
        self.Options = Options
        self.Metrics = Metrics
        self.plans: list[Any] = []
        self.options: list[Options] = []
        self.late: list[pa.RecordBatch] = []
        self.error: Exception | None = None
        self.handed_over = 0

    def run(
        self,
        plan: Any,
        sources: Mapping[str, Any],
        *,
        on_result: Callable[[pa.RecordBatch], None],
        on_late: Callable[[pa.RecordBatch], None] | None,
        on_progress: Callable[[Metrics], None] | None,
        options: Options,
    ) -> Metrics:
        self.plans.append(plan)
        self.options.append(options)
        for batch in elements_of(next(iter(sources.values())), batch_rows=1):
            assert isinstance(batch, pa.RecordBatch)
            on_result(batch)
            self.handed_over += 1
            if on_progress:
                on_progress(Metrics(results=self.handed_over))
        for batch in self.late if on_late else []:
            assert on_late is not None
            on_late(batch)
        if self.error:
            raise self.error
        return Metrics(results=self.handed_over)

    def run_together(
        self, plans: Any, sources: Mapping[str, Any], deliveries: Any, **settings: Any
    ) -> tuple[list[Metrics], Metrics]:
        each = [
            self.run(plan, sources, on_result=on_result, on_late=on_late, **settings)
            for plan, (on_result, on_late) in zip(plans, deliveries, strict=True)
        ]
        return each, each[0]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> FakeEngine:
    """Instead of the local one. Its results do not fit every query, which counts as a fault: traces of it go apart."""
    fake = FakeEngine()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("faults")))
    monkeypatch.setitem(sys.modules, "windrow.engines.local", fake)
    return fake
