"""Refuse to write over what is read, and twice to one place, before anything runs; on both engines."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.errors import ConfigurationError
from windrow.query.places import Meeting, Place, places_of

if TYPE_CHECKING:
    from windrow.sources.base import Source

_RULES = {
    Meeting.SAME: "must not be {what}",
    Meeting.INSIDE: "must not lie in {what}",
    Meeting.MATCHES: "must not match {what}",
    Meeting.HOLDS: "must not be a folder that holds {what}",
}
_FOLDERS = ("checkpoint", "--checkpoint")


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
