"""From what a user writes as a path to the files meant, in arrival order, and their one kind."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from windrow.errors import SourceError
from windrow.sources.addresses import own_path


class FileKind(Enum):
    """What a file holds, by how its name ends."""

    PARQUET = "Parquet"
    CSV = "CSV"
    TSV = "TSV"
    JSON = "JSON lines"


_TEXT = {
    ".csv": FileKind.CSV,
    ".tsv": FileKind.TSV,
    ".jsonl": FileKind.JSON,
    ".ndjson": FileKind.JSON,
    ".json": FileKind.JSON,
}
ENDINGS: dict[str, FileKind] = {
    ".parquet": FileKind.PARQUET,
    ".pq": FileKind.PARQUET,
    **_TEXT,
    **{f"{ending}.gz": kind for ending, kind in _TEXT.items()},
}


def kind_of(path: Path) -> FileKind | None:
    """The kind by ending, upper or lower case; None when the ending is not known.

    >>> kind_of(Path("a/trades.CSV.gz"))
    <FileKind.CSV: 'CSV'>
    """
    name = path.name.lower()
    return next((kind for ending, kind in ENDINGS.items() if name.endswith(ending)), None)


def find_files(text: str | Path, name: str) -> tuple[tuple[Path, ...], FileKind]:
    """The files a path, a folder or a glob pattern stands for, sorted by name, all of one kind."""
    path = own_path(text)
    if path.is_file():
        files = [path]
    elif path.is_dir():
        files = _visible(path.iterdir())
    elif any(sign in str(path) for sign in "*?["):
        files = _visible(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    else:
        raise SourceError(
            "must be a file, a folder or a glob pattern that exists",
            parameter=name,
            value=str(text),
            hint=_nearest(path),
        )
    if not files:
        raise SourceError(
            "must hold at least one file (names that begin with '.' or '_' do not count)",
            parameter=name,
            value=str(text),
            hint="check the folder or the pattern",
        )
    return tuple(files), _one_kind(files, text, name)


def _visible(paths: Iterable[Path]) -> list[Path]:
    found = [path for path in paths if path.is_file() and path.name[0] not in "._"]
    return sorted(found, key=lambda path: (path.name, str(path)))


def _nearest(path: Path) -> str:
    """Which part of a path is missing."""
    for parent in path.parents:
        if parent.is_dir():
            return f"the folder {parent} exists, {path.relative_to(parent)} is not in it"
    return "check the path"


def _one_kind(files: list[Path], text: str | Path, name: str) -> FileKind:
    kinds = {kind_of(path): path for path in files}
    if None in kinds:
        raise SourceError(
            "must be files with a known ending",
            parameter=name,
            value=str(kinds[None]),
            allowed=tuple(ENDINGS),
            hint="rename the file, or name the files of one kind with a pattern",
        )
    if len(kinds) > 1:
        raise SourceError(
            "must be files of one kind (found " + ", ".join(sorted(kind.value for kind in kinds if kind)) + ")",
            parameter=name,
            value=str(text),
            hint="name the files of one kind with a pattern such as 'folder/*.parquet'",
        )
    return next(kind for kind in kinds if kind)
