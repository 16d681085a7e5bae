"""Checkpoints: the state of all operators and how far each source was read, written as a whole or not at all.

A checkpoint is a folder of Arrow IPC files, one a table, with a manifest. It is written beside the last one and
becomes the last one by renaming, so a crash at any moment leaves a whole checkpoint. No pickle.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.engines.local.ledger import Ledger, make_durable
from windrow.engines.local.other_query import first_difference, words_of
from windrow.engines.pipeline import Pipeline
from windrow.errors import ConfigurationError
from windrow.operators.base import Counters
from windrow.plan.nodes import Node

VERSION = 4


def fingerprint(*plans: Node) -> str:
    """A short name of a query, or of some that run together; another query's checkpoint has another."""
    return hashlib.sha256("\n".join(map(repr, plans)).encode()).hexdigest()[:16]


class Checkpoints:
    """The checkpoints of one query, or of some that run together, in one folder; the newest whole one counts."""

    def __init__(self, folder: str, plans: Sequence[Node]) -> None:
        self.folder = Path(folder)
        self.query = fingerprint(*plans)
        self.words = words_of(plans)
        self.ledger = Ledger(self.folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / ".writable").touch()
            (self.folder / ".writable").unlink()
        except OSError as error:
            raise ConfigurationError(
                f"must be a folder that can be written ({error.strerror})",
                parameter="checkpoint",
                value=str(folder),
                hint="choose another folder or mend its permissions",
            ) from error

    def _numbered(self) -> list[tuple[int, Path]]:
        found = [(int(p.name), p) for p in self.folder.iterdir() if p.name.isdigit() and (p / "manifest.json").exists()]
        return sorted(found)

    def save(self, pipeline: Pipeline, read: dict[str, int]) -> Path:
        numbered = self._numbered()
        number = numbered[-1][0] + 1 if numbered else 1
        draft = self.folder / f"{number}.draft"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        files = {}
        for place, stage in enumerate(pipeline.stages):
            for name, table in stage.operator.state().items():
                file = f"{place}-{name}.arrow"
                files[file] = [stage.label, name]
                _write(draft / file, table)
        manifest = {
            "version": VERSION,
            "query": self.query,
            "words": self.words,
            "read": read,
            "results": [end.results for end in pipeline.ends],
            "counters": {stage.label: asdict(stage.operator.counters) for stage in pipeline.stages},
            "files": files,
            "given": self.ledger.commit(number),
        }
        (draft / "manifest.json").write_text(json.dumps(manifest, indent=1))
        make_durable(draft / "manifest.json")
        make_durable(draft)
        target = self.folder / str(number)
        draft.replace(target)
        make_durable(self.folder)
        for _, old in numbered[:-1]:
            shutil.rmtree(old, ignore_errors=True)
        return target

    def restore(self, pipeline: Pipeline) -> dict[str, int]:
        """Bring the operators back; returns how many rows of each source are done. Nothing when there is none yet."""
        numbered = self._numbered()
        if not numbered:
            return {}
        folder = numbered[-1][1]
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
        self._check(manifest)
        states: dict[str, dict[str, pa.Table]] = {stage.label: {} for stage in pipeline.stages}
        for file, (label, name) in manifest["files"].items():
            states[label][name] = _read(folder / file)
        for stage in pipeline.stages:
            stage.operator.restore(states[stage.label])
            stage.operator.counters = Counters(**manifest["counters"][stage.label])
        for end, results in zip(pipeline.ends, manifest["results"], strict=True):
            end.results = results
        self.ledger.restore(manifest["given"])
        return dict(manifest["read"])

    def _check(self, manifest: dict[str, Any]) -> None:
        if manifest["version"] != VERSION:
            raise ConfigurationError(
                f"must be of format version {VERSION}",
                parameter="checkpoint",
                value=f"version {manifest['version']} in {self.folder}",
                hint="run the query from the start in an empty folder, or with the Windrow that wrote it",
            )
        if manifest["query"] != self.query:
            theirs, ours = first_difference(manifest["words"], self.words)
            raise ConfigurationError(
                f"must be of the same query; this one has {ours!r}",
                parameter="checkpoint",
                value=f"{theirs!r} in {self.folder}",
                hint="give each query a folder of its own",
            )


def _write(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    make_durable(path)


def _read(path: Path) -> pa.Table:
    with pa.OSFile(str(path), "rb") as file:
        return pa.ipc.open_file(file).read_all()
