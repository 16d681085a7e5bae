"""What figures depend on: processor, cores, versions and commit, and how fast the machine is at the moment."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

import windrow

PACKAGES = ("numpy", "numba", "pyarrow", "pyspark", "duckdb", "polars", "windrow")
PACE_ROWS, PACE_REPEATS = 1_000_000, 5


@dataclass(frozen=True)
class Machine:
    """Where and with what a benchmark runs.

    >>> print(Machine("Some CPU", 2, "python 3.12.1, numpy 2.2.0", "80f0b6c"))
    Some CPU, 2 cores; python 3.12.1, numpy 2.2.0; commit 80f0b6c
    """

    processor: str
    cores: int
    versions: str
    commit: str

    @property
    def name(self) -> str:
        """What the history tells machines apart by: the same processor with as many cores is the same machine."""
        return f"{self.processor}, {self.cores} cores"

    def __str__(self) -> str:
        return f"{self.name}; {self.versions}; commit {self.commit}"


def this_machine() -> Machine:
    """The machine of this process, with the versions that are installed and the commit that is checked out."""
    found = [f"python {platform.python_version()}", *filter(None, map(_installed, PACKAGES))]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Machine(_processor(), cores, ", ".join(found), commit_of(Path(__file__).parents[1]))


def paces() -> list[float]:
    """Seconds to sort a million numbers, a few times: if these change, it was not Windrow that changed."""
    numbers = np.random.default_rng(0).integers(0, 1 << 40, PACE_ROWS)
    seconds = []
    for _ in range(PACE_REPEATS):
        started = time.perf_counter()
        np.sort(numbers, kind="stable")
        seconds.append(time.perf_counter() - started)
    return seconds


def _installed(package: str) -> str | None:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:  # run from the source tree, or one that is not compared
        return f"windrow {windrow.__version__}" if package == "windrow" else None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def commit_of(root: Path) -> str:
    """The commit that is checked out, with a `+` where files have changed since; lines of the history do not count."""
    changed = ["status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude)benchmarks/history"]
    try:
        return _git(root, "rev-parse", "--short=12", "HEAD") + "+" * bool(_git(root, *changed))
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(root: Path, *command: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *command], capture_output=True, text=True, check=True)
    return done.stdout.strip()
