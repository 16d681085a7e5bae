"""Checkpoints: the state of all operators and the position of each source, written as a whole or not at all.

A checkpoint is a folder with a manifest, which has the seals of the files that belong to it: those with the chunks of
the state, and those of the ledger. These lie beside the folders, are never touched again, and may belong to several
checkpoints. The folder is written under another name and becomes a checkpoint by renaming, so a crash at any moment
leaves a whole one. The one before it stays for the case that a file of the last is damaged. No pickle.

The ledger is what a run has given out, so that a restored run gives the whole answer, once. Results and late rows since
the last checkpoint are written before it counts. A run that breaks off loses what came after its last checkpoint, and
makes it again; what came before is read from the ledger.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from windrow.durable.folder_lock import unusable
from windrow.durable.manifests import LOCAL_MANIFEST, damaged, holds_a_run, read_manifest, refuse_other_engine
from windrow.durable.sealed_files import Damaged, Seal, make_durable, read_stream, verify, write_json, write_stream
from windrow.engines.local.outputs import PENDING, KeptOutputs, SavedOutputs, verify_pending
from windrow.engines.local.state_files import KeptState, StateFiles, States, TakenState
from windrow.errors import ConfigurationError, DamagedCheckpointWarning, reason_of
from windrow.operators.base import Counters
from windrow.physical.explain.plans import explain
from windrow.pipeline.graph import Pipeline
from windrow.plan.nodes import Node
from windrow.sharded.chunks import VERSION
from windrow.sinks.base import Sink

RESULTS, LATE = "results", "late"
_FILE = re.compile(rf"(?:(?:{RESULTS}|{LATE}|{PENDING})(?:\.\d+)?-([0-9]+)\.arrow|state-([1-9][0-9]*)\.chunks)")
"""Files that lie beside the folders, by the number of the checkpoint that wrote them."""
_NUMBER = re.compile(r"[1-9][0-9]*")
_DRAFT = re.compile(r"[1-9][0-9]*\.draft")
_RAILS = re.compile(r"\A[│├└─\s]+")


def fingerprint(*plans: Node) -> str:
    """A short name of a query, or of some that run together; another query's checkpoint has another."""
    return hashlib.sha256("\n".join(map(repr, plans)).encode()).hexdigest()[:16]


def words_of(plans: Sequence[Node]) -> list[str]:
    """The lines in which `explain` shows the plans, without the drawing: to name where another query differs."""
    return [" ".join(_RAILS.sub("", line).split()) for plan in plans for line in explain(plan).splitlines()]


Given: TypeAlias = "dict[str, list[pa.RecordBatch]]"
"""Batches by kind."""


@dataclass(frozen=True)
class Draft:
    """What a checkpoint must hold, as it was at one moment: nothing that happens in the run since changes it."""

    number: int
    manifest: dict[str, Any]
    given: Given
    state: TakenState
    outputs: SavedOutputs


class LocalLedger:
    """Batches given out, by kind, in files named after the checkpoint that made them count."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, Seal] = {}
        """Those that count."""
        self._pending: dict[str, list[pa.RecordBatch]] = {}

    def note(self, kind: str, batch: pa.RecordBatch) -> None:
        self._pending.setdefault(kind, []).append(batch)

    def take(self) -> Given:
        """What was given since the last checkpoint, which stays pending until it is in one."""
        return {kind: list(batches) for kind, batches in self._pending.items() if batches}

    def write(self, number: int, given: Given) -> dict[str, Seal]:
        """What was taken in files of a checkpoint; returns all files that count once it does."""
        written = {f"{kind}-{number}.arrow": batches for kind, batches in given.items()}
        return self.files | {file: write_stream(self.folder / file, batches) for file, batches in written.items()}

    def count(self, given: Given, files: dict[str, Seal]) -> None:
        """What was taken counts now; more may have come behind it."""
        self.files = files
        for kind, batches in given.items():
            del self._pending[kind][: len(batches)]

    def replay(self, kind: str) -> Iterator[pa.RecordBatch]:
        for file, seal in self.files.items():
            if file.startswith(kind + "-"):
                yield from read_stream(self.folder / file, seal)


class Checkpoints:
    """The checkpoints of one query, or of some that run together, in one folder; the newest whole one counts."""

    def __init__(self, folder: str, plans: Sequence[Node]) -> None:
        self.folder = Path(folder)
        self.query = fingerprint(*plans)
        self.words = words_of(plans)
        self.ledger = LocalLedger(self.folder)
        self.state = StateFiles(self.folder)
        self.outputs = KeptOutputs(self.folder, {})
        self.last: int | None = None
        """The checkpoint that this run began with or wrote last."""
        self._unsettled: int | None = None
        """A checkpoint that is whole, and outputs do not know it yet."""
        self.bytes = 0
        """Of the last checkpoint that was written."""
        self.shards = 1
        """Among how many operators groups are divided."""
        self.listed: dict[str, Any] = {}
        """What the manifest of a restored run has of its outputs."""
        self.found: tuple[int, dict[str, Any], tuple[KeptState, States]] | None = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / ".writable").touch()
            (self.folder / ".writable").unlink()
        except OSError as error:
            raise unusable(self.folder, error) from error
        refuse_other_engine(self.folder, spark=False)

    def begin(self) -> None:
        """Refuse to begin anew where there is something to go on from."""
        with self._readable():
            numbers = self._numbers()
        if numbers:
            raise holds_a_run(self.folder)

    def _numbers(self) -> list[int]:
        return sorted(int(path.name) for path in self.folder.iterdir() if _NUMBER.fullmatch(path.name))

    def save(self, pipeline: Pipeline, read: dict[str, int], positions: dict[str, Any]) -> Path:
        """Write a checkpoint: `read` rows of each source, up to these positions; if it fails, the last one stays."""
        target = self.write(self.take(pipeline, read, positions))
        self.settle()
        return target

    def take(self, pipeline: Pipeline, read: dict[str, int], positions: dict[str, Any]) -> Draft:
        """What a checkpoint of this moment must hold. The last one must have been written, or have failed."""
        given, state = self.ledger.take(), self.state.take(pipeline)  # settles what waits, and counts that
        try:
            number = max(self._numbers(), default=0) + 1
        except OSError as error:
            raise unusable(self.folder, error) from error
        manifest = {
            "number": number,
            "version": VERSION,
            "query": self.query,
            "words": self.words,
            "shards": self.shards,
            "read": dict(read),
            "positions": positions,
            "results": [end.results for end in pipeline.ends],
            "early": [end.early for end in pipeline.ends],
            "counters": {stage.label: asdict(stage.operator.counters) for stage in pipeline.stages},
        }
        return Draft(number, manifest, given, state, self.outputs.take(number))

    def write(self, draft: Draft) -> Path:
        """Make a checkpoint of it, in whichever thread; if it fails, the last one stays."""
        number = draft.number
        try:
            target, state, files = self._write(number, draft)
        except OSError as error:
            self._discard(number)
            raise unusable(self.folder, error) from error
        self.state.count(number, state)
        self.ledger.count(draft.given, files)
        before, self.last = self.last, number
        self._sweep({before, number})
        self._unsettled = number
        return target

    def settle(self) -> int | None:
        """In the thread of the run: what outputs kept back for a checkpoint that is whole now may be given.

        Its number; None where there is none since this was last asked.
        """
        number, self._unsettled = self._unsettled, None
        if number is not None:
            self.outputs.settle(number)
        return number

    def _write(self, number: int, draft: Draft) -> tuple[Path, KeptState, dict[str, Seal]]:
        folder = self.folder / f"{number}.draft"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        files = self.ledger.write(number, draft.given)
        state, listed = self.state.write(number, draft.state)
        parts = {"state": listed, "outputs": self.outputs.write(number, draft.outputs)}
        parts["given"] = {file: asdict(seal) for file, seal in files.items()}
        make_durable(self.folder)  # files have names before a manifest counts that names them
        write_json(folder / LOCAL_MANIFEST, draft.manifest | parts)
        target = folder.replace(self.folder / str(number))
        make_durable(self.folder)
        written = [seal.size for file, seal in files.items() if file not in self.ledger.files]
        self.bytes = state.seals[number].size + sum(written) + (target / LOCAL_MANIFEST).stat().st_size
        return target, state, files

    def _discard(self, number: int) -> None:
        """Make room again: the disk may be full."""
        with suppress(OSError):
            shutil.rmtree(self.folder / f"{number}.draft", ignore_errors=True)
            if not (self.folder / str(number)).exists():
                for path, found in self._files():
                    if number == found:
                        path.unlink(missing_ok=True)

    def _files(self) -> Iterator[tuple[Path, int]]:
        for path in list(self.folder.iterdir()):
            if found := _FILE.fullmatch(path.name):
                yield path, int(found[1] or found[2])

    def _sweep(self, kept: set[int | None]) -> None:
        """Remove older checkpoints, damaged ones, and what was left of those that never became whole."""
        with suppress(OSError):
            for path in self.folder.iterdir():
                is_old = _NUMBER.fullmatch(path.name) and int(path.name) not in kept
                if is_old or _DRAFT.fullmatch(path.name):
                    shutil.rmtree(path, ignore_errors=True)
            needed = {*self.ledger.files, *self.state.needed(kept), *self.outputs.needed(kept)}
            for path, _ in self._files():
                if path.name not in needed:
                    path.unlink(missing_ok=True)

    def look(self) -> int | None:
        """Find the checkpoint to go on from: among how many shards its state is divided; None when there is none."""
        with self._readable():
            self.found = self._newest_whole()
        return None if self.found is None else int(self.found[1]["shards"])

    def restore(self, pipeline: Pipeline) -> tuple[dict[str, int], dict[str, Any]]:
        """Bring the operators back: how many rows of each source are done, and its position; none when none is yet."""
        if self.found is None and self.look() is None:
            return {}, {}
        assert self.found is not None
        (self.last, manifest, (state, states)), self.found = self.found, None
        self.state.count(self.last, state)
        for stage in pipeline.stages:
            stage.operator.restore(states.get(stage.label, {}))
            stage.operator.counters = Counters(**manifest["counters"][stage.label])
        for end, results, early in zip(pipeline.ends, manifest["results"], manifest["early"], strict=True):
            end.results, end.early = results, early
        self.ledger.files = _seals(manifest["given"])
        self.listed = manifest["outputs"]
        return manifest["read"], manifest["positions"]

    def go_on(self, sinks: Mapping[str, Sink]) -> None:
        """Outputs keep their own places from now on; those of a restored run go on from where they were."""
        self.outputs = KeptOutputs(self.folder, sinks)
        if self.last is not None:
            with self._readable():
                self.outputs.go_on(self.last, self.listed)

    def replay(self, kind: str) -> Iterator[pa.RecordBatch]:
        """What was given before the checkpoint that was restored."""
        with self._readable():
            yield from self.ledger.replay(kind)

    def _newest_whole(self) -> tuple[int, dict[str, Any], tuple[KeptState, States]] | None:
        """The newest checkpoint of which every bit is as it was written; nothing is changed before one is found."""
        damages: list[Damaged] = []
        reached: int | None = None  # what the last one had read, where its manifest is still whole
        for number in reversed(self._numbers()):
            done: int | None = None
            try:
                path = self.folder / str(number) / LOCAL_MANIFEST
                manifest = read_manifest(path, VERSION)
                self._check(manifest)
                if manifest.get("number") != number:
                    raise Damaged(path, "is that of another checkpoint")
                done = sum(manifest["read"].values())
                states = self.state.read(number, manifest["state"])
                for file, seal in _seals(manifest["given"]).items():
                    verify(self.folder / file, seal)
                verify_pending(self.folder, manifest["outputs"])
            except Damaged as damage:
                reached = reached if damages else done
                damages.append(damage)
                continue
            if damages:
                _warn(damages, self.folder / str(number), done, reached)
            return number, manifest, states
        if damages:
            raise damaged(_listed(damages), self.folder) from damages[0]
        return None

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except Damaged as damage:
            raise damaged(str(damage), self.folder) from damage
        except OSError as error:
            raise ConfigurationError(
                f"must be a folder that can be read ({error.filename}: {reason_of(error)})",
                parameter="checkpoint",
                value=str(self.folder),
                hint="mend the permissions of its files, or bring the folder back from a copy",
            ) from error

    def _check(self, manifest: dict[str, Any]) -> None:
        if manifest["version"] != VERSION:
            raise ConfigurationError(
                f"must be of format version {VERSION}",
                parameter="checkpoint",
                value=f"version {manifest['version']} in {self.folder}",
                hint="run the query from the start in an empty folder, or with the Windrow that wrote it",
            )
        if manifest["query"] != self.query:
            pairs = zip_longest(manifest["words"], self.words, fillvalue="nothing more")
            theirs, ours = next((pair for pair in pairs if pair[0] != pair[1]), ("another plan", "another plan"))
            raise ConfigurationError(
                f"must be of the same query; this one has {ours!r}",
                parameter="checkpoint",
                value=f"{theirs!r} in {self.folder}",
                hint="give each query a folder of its own",
            )


def _seals(files: dict[str, dict[str, Any]]) -> dict[str, Seal]:
    return {file: Seal(**seal) for file, seal in files.items()}


def _listed(damages: list[Damaged]) -> str:
    """Each once: checkpoints share files of chunks and of the ledger."""
    return "; ".join(dict.fromkeys(map(str, damages)))


def _warn(damages: list[Damaged], used: Path, done: int, reached: int | None) -> None:
    again = "the rows" if reached is None else f"{reached - done:,} rows"
    warnings.warn(
        f"the last checkpoint is damaged: {_listed(damages)}. The run goes on from the one before, {used}; {again} "
        f"behind its {done:,} are read again",
        DamagedCheckpointWarning,
        stacklevel=2,
    )
