"""Outputs of a run that may never end: each checkpoint is made together with them, and nothing is given twice.

A sink saves where it is, and rows that it gives out only once the checkpoint is whole. These lie in files beside the
folders, named after the checkpoint, like those of the ledger.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from windrow.durable.sealed_files import Seal, read_stream, verify, write_stream
from windrow.errors import ConfigurationError
from windrow.sinks.base import Saved, Sink

PENDING = "pending"

SavedOutputs: TypeAlias = "dict[str, Saved]"
"""By the names of the sinks."""


class KeptOutputs:
    """The sinks of a run, by name, and what the checkpoints in a folder have of them."""

    def __init__(self, folder: Path, sinks: Mapping[str, Sink]) -> None:
        self.folder = folder
        self.sinks = dict(sinks)
        self._files: dict[int, list[str]] = {}
        """Those of each checkpoint with rows to be given out."""

    def take(self, number: int) -> SavedOutputs:
        """Where they are now, and what they keep back for the checkpoint of this number."""
        return {name: sink.save(number) for name, sink in self.sinks.items()}

    def write(self, number: int, taken: SavedOutputs) -> dict[str, Any]:
        """What a manifest has of them; the rows lie in files then."""
        listed: dict[str, Any] = {}
        self._files[number] = []
        for place, (name, saved) in enumerate(taken.items()):
            listed[name] = {"place": saved.place}
            if saved.pending:
                file = f"{PENDING}.{place}-{number}.arrow"
                self._files[number].append(file)
                listed[name] |= {"file": file, "seal": asdict(write_stream(self.folder / file, list(saved.pending)))}
        return listed

    def settle(self, number: int) -> None:
        """That checkpoint is whole."""
        for sink in self.sinks.values():
            sink.settle(number)

    def go_on(self, number: int, listed: Mapping[str, Any]) -> None:
        """Bring the sinks to where they were; one that is new begins where it is."""
        self._files[number] = [one["file"] for one in listed.values() if "file" in one]
        for name, sink in self.sinks.items():
            if name in listed:
                one = listed[name]
                path = self.folder / one["file"] if "file" in one else None
                pending = () if path is None else tuple(read_stream(path, Seal(**one["seal"])))
                sink.go_on(number, Saved(one["place"], pending))

    def needed(self, kept: Collection[int | None]) -> set[str]:
        """The files that checkpoints which are kept need; the others are forgotten."""
        self._files = {number: files for number, files in self._files.items() if number in kept}
        return {file for files in self._files.values() for file in files}


def refuse_held_back(sinks: Mapping[str, Sink]) -> None:
    """Refuse sinks that give rows only with checkpoints, where a run that never ends writes none."""
    for name, sink in sinks.items():
        if sink.holds_back:
            raise ConfigurationError(
                "gives rows only with checkpoints, and this run writes none while it goes on",
                parameter=name,
                hint="give --checkpoint DIR and --every N (checkpoint=..., checkpoint_every=...), or leave out "
                "delivery=exactly-once",
            )


def verify_pending(folder: Path, listed: Mapping[str, Any]) -> None:
    """Every bit of the files that a manifest lists is as it was written."""
    for one in listed.values():
        if "file" in one:
            verify(folder / one["file"], Seal(**one["seal"]))
