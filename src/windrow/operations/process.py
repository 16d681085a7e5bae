"""The process as its operator sees it: memory, open files, time on the processor; and which Windrow it is."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from windrow.operations.families import FamilyKind, MetricFamily, MetricSample

_COUNTER, _GAUGE = FamilyKind.COUNTER, FamilyKind.GAUGE


def of_process(engine: str, uptime: float) -> Iterator[MetricFamily]:
    """What is not known on this system is left out."""
    build = {"version": version(), "python": platform.python_version(), "engine": engine}
    yield _with(
        MetricFamily("windrow_build", FamilyKind.INFO, "The version of Windrow, and where the run works."), 1, build
    )
    yield _with(MetricFamily("windrow_uptime_seconds", _GAUGE, "Since the run was begun.", "seconds"), uptime)
    resident, files = resident_bytes(), open_files()
    if resident is not None:
        help_text = "Memory that the process has in use, without that of Spark's JVM."
        yield _with(MetricFamily("process_resident_memory_bytes", _GAUGE, help_text, "bytes"), resident)
    if files is not None:
        yield _with(MetricFamily("process_open_fds", _GAUGE, "Open files and sockets."), files)
    spent = MetricFamily("process_cpu_seconds", _COUNTER, "Time on processors, of all threads.", "seconds")
    yield _with(spent, time.process_time())


def version() -> str:
    """Which Windrow this is: the package itself says, which lies above all its parts."""
    return str(import_module("windrow").__version__)


def resident_bytes() -> int | None:
    """What of the process is in memory."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def open_files() -> int | None:
    """How many files and sockets are open."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            return len(os.listdir(folder)) - 1  # noqa: PTH208 - the listing has itself open
        except OSError:
            continue
    return None


def _with(family: MetricFamily, value: float, labels: dict[str, str] | None = None) -> MetricFamily:
    family.samples.append(MetricSample(labels or {}, value))
    return family
