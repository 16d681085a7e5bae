"""Where data lies, by whatever name: paths, patterns and addresses of Spark's, and how two of them meet.

So a run is refused before it begins if it would write over what it reads, or twice to one place; on both engines.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from windrow.durable.folder_lock import Identity, identity
from windrow.engines.spark.connect.addresses import split
from windrow.errors import ConfigurationError
from windrow.sources.addresses import FILES, STORES, own_path, refuse_address

if TYPE_CHECKING:
    from windrow.sources.base import Source

_SIGNS = re.compile(r"[*?\[]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_KAFKA = re.compile(r"//([^/?]+)/([^/?]+)")
_ONE_STORE = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "wasbs": "wasb"}
"""Schemes that are other words for the same store."""


class Meeting(Enum):
    """How one place, which is written, lies to another."""

    SAME = "same"
    INSIDE = "inside"
    MATCHES = "matches"
    HOLDS = "holds"


@dataclass(frozen=True)
class Place:
    """One file, folder, pattern of them, table or topic; `store` is empty for this machine.

    `path` is free of links and of `..` as far as it exists; `pattern` are the parts behind it from the first one with a
    sign on. In a folder that is `private`, hidden files count, too.
    """

    text: str
    store: str
    path: PurePath
    pattern: tuple[str, ...] = ()
    is_folder: bool = False
    private: bool = False

    def meets(self, other: Place) -> Meeting | None:
        """How this place, when it is written, would change the other or become a part of it; None when it does not."""
        if self.store != other.store:
            return None
        if not other.pattern and self._is(other.path):
            return Meeting.SAME
        if other.pattern and self._is_matched(other):
            return Meeting.MATCHES
        if other.is_folder and _is_inside(self.path, other.path) and (other.private or _is_seen(self.path, other.path)):
            return Meeting.INSIDE
        if self.is_folder and any(_is_inside(path, self.path) for path in (other.path, *other.linked_files())):
            return Meeting.HOLDS
        if _identity(self.path) is not None and any(self._is(path) for path in other.files()):
            return Meeting.SAME
        return None

    def _is(self, path: PurePath) -> bool:
        mine = _identity(self.path)
        return self.path == path or (mine is not None and mine == _identity(path))

    def _is_matched(self, other: Place) -> bool:
        if other.path not in self.path.parents or not _is_seen(self.path, other.path):
            return False
        parts = self.path.relative_to(other.path).parts
        ends = range(1, len(parts) + 1) if other.is_folder else (len(parts),)  # Spark reads folders that match, too
        return any(_matches(parts[:end], other.pattern) for end in ends)

    def files(self) -> Iterator[Path]:
        """The files of a folder or a pattern on this machine."""
        if isinstance(self.path, Path) and (self.pattern or self.path.is_dir()):
            yield from (path for path in self.path.glob("/".join(self.pattern) or "*") if path.is_file())

    def linked_files(self) -> Iterator[Path]:
        """Those of them that may lie elsewhere in truth, as they lie there."""
        return (_real(path) for path in self.files() if self.pattern or path.is_symlink())


def places_of(text: str | Path, *, folder: bool = False, written: bool = False) -> tuple[Place, ...]:
    """The places that a path or an address names, a `folder` although none may be there yet; none for a terminal.

    What is `written` is named as it is: there are no patterns.
    """
    text = str(text)
    scheme, rest = split(text)
    if not rest or text == "-" or "\0" in text:
        return ()
    if scheme in FILES:
        paths = [rest] if written else _expanded(rest)
        found = (one for path in paths for one in places_of(path, folder=True, written=written))
        return tuple(replace(one, text=text) for one in found)
    if scheme == "kafka" and (named := _KAFKA.match(rest)):
        servers = ",".join(sorted(one if ":" in one else f"{one}:9092" for one in named[1].split(",")))
        return (Place(text.partition("?")[0], f"kafka {servers}", PurePosixPath(named[2])),)  # no secret is shown
    if scheme == "table":
        return (Place(text, "table", PurePosixPath(rest.replace("`", "").lower())),)
    if scheme in STORES and scheme != "file":
        return (_remote(text, _ONE_STORE.get(scheme, scheme), rest, folder, written),)
    if scheme in ("", "file"):
        return _local(text, _decoded(rest) if scheme else rest, folder, written)
    return ()


def _remote(text: str, scheme: str, rest: str, folder: bool, written: bool) -> Place:
    found = urlsplit(f"{scheme}:{rest}")
    path, pattern = _cut(PurePosixPath(posixpath.normpath(found.path or "/")).parts, written)
    return Place(text, f"{scheme}://{found.netloc}", PurePosixPath(*path), pattern, folder or not pattern)


def _local(text: str, spelled: str, folder: bool, written: bool) -> tuple[Place, ...]:
    path = own_path(spelled)
    if _identity(path) is None:
        before, pattern = _cut(path.parts, written)
        return (Place(text, "", _real(Path(*before)), pattern, folder),)
    if not path.is_file() and not path.is_dir():  # a device takes what it is given
        return ()
    return (Place(text, "", _real(path), (), folder or path.is_dir()),)


def _cut(parts: tuple[str, ...], written: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The parts of a path before the first that is a pattern, and the others."""
    signs = (place for place, part in enumerate(parts) if not written and _SIGNS.search(part))
    first = next(signs, len(parts))
    return parts[:first], parts[first:]


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _decoded(rest: str) -> str:
    """The path of a `file:` URI, which may be spelled with percent signs."""
    path = urlsplit(f"file:{rest}").path
    return unquote(path) if _identity(Path(path)) is None else path


def _expanded(text: str) -> list[str]:
    """The paths that Spark reads braces as: `/data/{a,b}` is two."""
    found = _BRACES.search(text)
    if found is None:
        return [text]
    return [
        one for part in found[1].split(",") for one in _expanded(text[: found.start()] + part + text[found.end() :])
    ]


def _identity(path: PurePath) -> Identity | None:
    return identity(path) if isinstance(path, Path) else None


def _is_inside(path: PurePath, folder: PurePath) -> bool:
    """Whether a folder is above a path, by name or, where a file system has several names for it, by number."""
    if folder in path.parents:
        return True
    number = _identity(folder)
    return number is not None and any(number == _identity(parent) for parent in path.parents)


def _is_seen(path: PurePath, folder: PurePath) -> bool:
    """Whether readers of a folder take a file in it: not where it is hidden."""
    below = path.parts[len(folder.parts) :]
    return not any(part[0] in "._" for part in below)


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether a path is one of those that a pattern means, part by part; `**` stands for any number of parts."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[first:], pattern[1:]) for first in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


_RULES = {
    Meeting.SAME: "must not be {what}",
    Meeting.INSIDE: "must not lie in {what}",
    Meeting.MATCHES: "must not match {what}",
    Meeting.HOLDS: "must not be a folder that holds {what}",
}
_FOLDERS = ("checkpoint", "--checkpoint")
_OWN = (*_FOLDERS, "json_lines", "--json-lines", "--metrics")
"""What Windrow writes itself, on either engine."""


class Outputs:
    """All that one run writes, by the parameter that names it; refused here when two of them are one place."""

    def __init__(self, targets: Mapping[str, str | Path | None]) -> None:
        self.targets = {parameter: _written(parameter, target) for parameter, target in targets.items() if target}
        for (first, others), (parameter, places) in combinations(self.targets.items(), 2):
            for place in places:
                _refuse(parameter, place, others, f"what `{first}` writes", "give each a place of its own")

    def refuse_text(self, file: str | None) -> None:
        """None of them is the file that holds the query; that may lie beside them."""
        if file is not None:
            self._refuse(file, "the file of the query", {Meeting.SAME})

    def refuse_streams(self, paths: Mapping[str, Iterable[str | Path]]) -> None:
        """None of them is what a stream reads, or would be read by it the next time."""
        for name, read in paths.items():
            for path in read:
                self._refuse(path, f"what the stream {name} reads")

    def refuse_sources(self, sources: Iterable[tuple[str, Source]]) -> None:
        """The same, by what each source states that it `reads`."""
        for name, source in sources if self.targets else ():  # Spark may have to list files to answer
            self.refuse_streams({name: source.reads})

    def _refuse(self, path: str | Path, what: str, meetings: Container[Meeting] = frozenset(Meeting)) -> None:
        hint = "write to another place: a run must leave what it reads as it is"
        for parameter, places in self.targets.items():
            for place in places:
                _refuse(parameter, place, places_of(path), what, hint, meetings)


def _written(parameter: str, target: str | Path) -> tuple[Place, ...]:
    """The place of an output; all that is in the folder of a checkpoint belongs to it."""
    folder = parameter in _FOLDERS
    if parameter in _OWN:
        hint = "name a folder or file of this machine, mounted if it is a store; before a name with a colon, write ./"
        refuse_address(target, parameter, hint)
    return tuple(replace(place, private=folder) for place in places_of(target, folder=folder, written=True))


def _refuse(
    parameter: str,
    place: Place,
    others: Iterable[Place],
    what: str,
    hint: str,
    meetings: Container[Meeting] = frozenset(Meeting),
) -> None:
    for other in others:
        meeting = place.meets(other)
        if meeting is not None and meeting in meetings:
            rule = _RULES[meeting].format(what=f"{what} ({other.text})")
            raise ConfigurationError(rule, parameter=parameter, value=place.text, hint=hint)


def refuse_overwriting(
    sources: Iterable[tuple[str, Source]], options: Mapping[str, Any], **targets: str | Path | None
) -> None:
    """Refuse what a run would write, by its options and beside them, over what its streams read or each other."""
    named = {name: options.get(name) for name in ("checkpoint", "json_lines")}
    Outputs({**targets, **named}).refuse_sources(sources)
