"""Spark's own files in a checkpoint: its logs of micro-batches, their checksums, and the places they name.

A log is a folder with a file for each micro-batch: `offsets` says what it reads and is written before it, `commits`
that it is done, and `_spark_metadata` beside Parquet files which of them it gave. Each file `a` that Hadoop wrote to a
disk of this machine has its checksums in `.a.crc`.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from windrow.durable.sealed_files import Damaged

SINK = "_spark_metadata"
_NUMBER = re.compile(r"(\d+)(\.compact)?")
_PIECE = 512
"""Bytes under one checksum, as Hadoop has it unless it is set otherwise."""
_MAGIC = b"crc\0"
_OWN = re.compile(r'"(?:file:)?/(?:[^"\\]|\\.)*/(state/\d+/_stateSchema/[^"\\]+)"')
"""A file of the checkpoint, by the place it had when it was written."""


def entries(log: Path) -> dict[int, Path]:
    """The files of a log by their micro-batches; of two for one, that which has all before it as well."""
    found = {}
    for path in sorted(log.glob("*")):
        named = _NUMBER.fullmatch(path.name)
        if named:
            found[int(named[1])] = path
    return found


def last(log: Path) -> int:
    """The last micro-batch of a log, -1 when there is none."""
    return max(entries(log), default=-1)


def check_logs(checkpoint: Path, given: Path | None = None) -> None:
    """Raise `Damaged` unless the logs of a checkpoint, and of the files it gave, are whole and fit together.

    Each micro-batch is written to `offsets`, then to the log of what is given, then to `commits`; a run may have ended
    between any two of these. Whatever else is missing was lost, and Spark would take it for never having been there.
    """
    names = ("metadata", "offsets/*", "commits/*", "sources/*/*", "state/*/_metadata/*/*", "state/*/_stateSchema/*/*")
    logs = [path for name in names for path in sorted(checkpoint.glob(name))]
    for path in [*logs, *(given / SINK).glob("*")] if given else logs:
        if path.is_file() and not path.name.startswith("."):
            check_sums(path)
    planned, done = checkpoint / "offsets", checkpoint / "commits"
    order = [(planned, done, 0), (done, planned, 1)]  # each log reaches as far as another, or that many less
    order += [(planned, given / SINK, 0), (given / SINK, done, 0)] if given else []
    for log, other, behind in order:
        if last(log) < last(other) - behind:
            raise Damaged(log / str(last(other) - behind), "is missing")


def given_files(given: Path, but: Collection[Path] = ()) -> list[Path]:
    """The files that the log of a folder names, wherever it was then; those in `but` may have gone."""
    found = entries(given / SINK)
    whole = max((number for number, path in found.items() if path.suffix), default=0)
    names: list[Path] = []
    for number in range(whole, max(found, default=-1) + 1):
        if number not in found:
            raise Damaged(given / SINK / str(number), "is missing")
        names += [_given(given, entry, but) for entry in _lines(found[number])]
    return names


def _given(given: Path, entry: dict[str, Any], but: Collection[Path]) -> Path:
    path = given / unquote(entry["path"].rpartition("/")[2])
    if path in but:
        return path
    try:
        size = path.stat().st_size
    except OSError as error:
        raise Damaged(path, "is missing") from error
    if size != entry["size"]:
        raise Damaged(path, f"has {size:,} bytes where {entry['size']:,} were written")
    return path


def places_of(given: Path) -> set[str]:
    """The folders that a log says its files are in."""
    lines = [line for path in entries(given / SINK).values() for line in _lines(path)]
    return {unquote(re.sub(r"\Afile:/+", "/", line["path"].rpartition("/")[0])) for line in lines}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON of a log's file, behind the line with its version."""
    try:
        for line in path.read_text(encoding="utf-8").splitlines()[1:]:
            yield json.loads(line)
    except ValueError as error:
        raise Damaged(path, "is not what Spark writes there") from error


def relocate(checkpoint: Path) -> None:
    """Where a checkpoint was moved or copied, have it name its own files: Spark writes down where it was."""
    for path in sorted(checkpoint.glob("state/*/_metadata/*/[!.]*")):
        text = path.read_text(encoding="utf-8")
        here = _OWN.sub(lambda found: json.dumps(f"file:{checkpoint}/{found[1]}", ensure_ascii=False), text)
        if text != here:
            _rewrite(path, here.encode())


def _rewrite(path: Path, content: bytes) -> None:
    """A file that had other content, with its checksums; without them, which is fine, for the moment in between."""
    sums, draft = _sums_of(path), path.with_name(f".{path.name}.draft")
    draft.write_bytes(content)
    sums.unlink(missing_ok=True)
    draft.replace(path)
    pieces = [zlib.crc32(content[start : start + _PIECE]) for start in range(0, len(content), _PIECE)]
    draft.write_bytes(_MAGIC + struct.pack(f">i{len(pieces)}I", _PIECE, *pieces))
    draft.replace(sums)


def forget(path: Path) -> None:
    """Remove a file and its checksums."""
    path.unlink(missing_ok=True)
    _sums_of(path).unlink(missing_ok=True)


def _sums_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")


def check_sums(path: Path) -> None:
    """Raise `Damaged` unless a file is as its checksums say; one without checksums passes."""
    try:
        sums = _sums_of(path).read_bytes()
    except FileNotFoundError:
        return
    content = path.read_bytes()
    size, count = struct.unpack(">i", sums[4:8])[0] if len(sums) >= 8 else 0, (len(sums) - 8) // 4
    if sums[:4] != _MAGIC or size < 1 or len(sums) % 4 or count != -(-len(content) // size):
        raise Damaged(path, "is cut off, or its checksums are")
    pieces = [zlib.crc32(content[start : start + size]) for start in range(0, len(content), size)]
    if list(struct.unpack(f">{count}I", sums[8:])) != pieces:
        raise Damaged(path, "has changed since it was written: its checksum differs")
