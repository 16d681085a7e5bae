"""Damage to the files of a checkpoint, and what a restore makes of it: the right answer, or a refusal in words.

An engine comes in as a folder with the checkpoint of a run that broke off, and a function that restores a copy of it
and gives the answer. Whatever is raised but a `WindrowError`, and every other answer than the right one, is a fault.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

from windrow.errors import DamagedCheckpointWarning, LateRowsWarning, WindrowError

Answer: TypeAlias = Any
"""Anything that compares equal when it is right."""

RIGHT, RESCUED, REFUSED = "right", "right, from the checkpoint before", "refused"


def damage(folder: Path, chance: random.Random) -> str:
    """Flip one bit or cut at one byte, in any file of a folder; returns what was done."""
    path = chance.choice(sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size))
    content = bytearray(path.read_bytes())
    place = chance.randrange(len(content))
    if chance.random() < 0.3:
        path.write_bytes(content[:place])
        return f"{path.relative_to(folder)} cut at byte {place} of {len(content)}"
    bit = chance.randrange(8)
    content[place] ^= 1 << bit
    path.write_bytes(content)
    return f"{path.relative_to(folder)} with bit {bit} of byte {place} of {len(content)} flipped"


def restored(restore: Callable[[], Answer], expected: Answer) -> str:
    """What becomes of a restore in this process; a wrong answer, or another error than ours, fails."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = restore()
        except WindrowError:
            return REFUSED
    assert expected == found
    kinds = {warning.category for warning in told}
    assert {DamagedCheckpointWarning, LateRowsWarning} >= kinds
    return RESCUED if DamagedCheckpointWarning in kinds else RIGHT


def trials(
    whole: Path,
    scratch: Path,
    restore: Callable[[Path], Answer],
    expected: Answer,
    *,
    seeds: Iterable[Any],
    judge: Callable[[Callable[[], Answer], Answer], str] = restored,
) -> Counter[str]:
    """Damage a copy of a whole checkpoint once for each seed and restore it; how often each outcome came."""
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(whole, scratch)
        done = damage(scratch, random.Random(seed))
        try:
            outcomes[judge(lambda: restore(scratch), expected)] += 1
        except BaseException as error:
            raise AssertionError(f"seed {seed!r}: {done}") from error
    return outcomes


def command_line(*arguments: str, cwd: Path) -> str:
    """What becomes of `windrow ...` in a process of its own; an exit code but 0 and 2, or a traceback, fails."""
    command = [sys.executable, "-c", "from windrow.cli import main; main()", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    assert done.returncode in (0, 2), done.stderr
    assert done.returncode == 0 or "Error: `" in done.stderr, done.stderr
    return REFUSED if done.returncode else RESCUED if "Warning: " in done.stderr else RIGHT
