"""From what a user writes as a path to the files meant, in arrival order, and their one kind."""

from __future__ import annotations

import os.path
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
    try:
        files = _meant(path, name) if str(text) else None
    except SourceError:
        raise
    except OSError as error:
        raise SourceError(
            f"must be a path that can be read ({(error.strerror or str(error)).lower()})",
            parameter=name,
            value=str(text),
            hint="check the path, and who may read it",
        ) from error
    if files is None:
        raise SourceError(
            "must be a file, a folder or a glob pattern that exists",
            parameter=name,
            value=str(text) or "nothing",
            hint=_nearest(path) if str(text) else "name one; for all files here, write ./",
        )
    if not files:
        raise SourceError(
            "must hold at least one file (names that begin with '.' or '_' do not count)",
            parameter=name,
            value=str(text),
            hint="check the folder or the pattern",
        )
    return tuple(files), _one_kind(files, text, name)


def _meant(path: Path, name: str) -> list[Path] | None:
    """The files that a path stands for; None where it is none and no pattern."""
    if path.is_file():
        return [path]
    if path.is_dir():
        return _files(_visible(path.iterdir()), name)
    if any(sign in str(path) for sign in "*?["):
        found = _visible(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
        return _files([one for one in found if kind_of(one) or not one.is_dir()], name)  # ** matches every folder
    return None


def _visible(paths: Iterable[Path]) -> list[Path]:
    return sorted((path for path in paths if path.name[0] not in "._"), key=lambda path: (path.name, str(path)))


def _files(found: list[Path], name: str) -> list[Path]:
    """Those of them that are files. A folder among them would be left out unseen, with all that is in it."""
    for path in found:
        if path.is_dir() and any(path.iterdir()):
            raise SourceError(
                "must be files, or a folder of files without folders in it",
                parameter=name,
                value=f"the folder {path}",
                hint="name the files with a pattern, such as folder/*.csv, or folder/**/*.csv with those below",
            )
    return [path for path in found if path.is_file()]


def _nearest(path: Path) -> str:
    """Which part of a path is missing."""
    if os.path.lexists(path):
        return f"{path} is {'a link that leads nowhere' if path.is_symlink() else 'a device or a pipe, not a file'}"
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
