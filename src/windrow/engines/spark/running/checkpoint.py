"""The folder of a run: who may use it, what it is of, and whether all of it is there.

    windrow.lock   one run at a time has the folder
    windrow.json   the query that it is of
    spark/, late/  Spark's checkpoints, with our state in them
    given/         the ledger: everything that was given, in Parquet files, unless Spark itself writes it elsewhere
    metrics.json   what was counted up to the last micro-batch
    spool/         a copy of data in memory, made anew by each run

All of it may be moved and copied as a whole.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from windrow.durable.folder_lock import CheckpointLock, unusable
from windrow.durable.manifests import SPARK_MANIFEST, damaged, holds_a_run, read_manifest, refuse_other_engine
from windrow.durable.sealed_files import Damaged, read_json, write_json
from windrow.durable.temporary_folders import temporary_folder
from windrow.engines.spark.query.frames import Frames
from windrow.engines.spark.running.logs import SINK, check_logs, last, places_of, relocate
from windrow.engines.spark.running.rescale import fill_gaps
from windrow.engines.spark.session.faults import explained
from windrow.errors import ConfigurationError
from windrow.sharded.chunks import VERSION
from windrow.sharded.signature import check_facts
from windrow.sources.addresses import STORES, scheme_of
from windrow.sources.base import Source
from windrow.sources.files.file_source import FileSource, last_place, refuse_changed

METRICS = "metrics.json"
"""What was counted up to the last micro-batch, for a run that is restored and finds nothing left to do."""
SPARK, LATE_CHECKPOINT, REJECTED_CHECKPOINT = "spark", "late", "rejected"
GIVEN = "given"


@contextmanager
def working_folder(checkpoint: str | None, *, restore: bool) -> Iterator[Path]:
    """Where a run keeps its checkpoint and its ledger: the user's folder, or one that is gone afterwards.

    The user's folder is locked, and refused unless it is empty or what is in it is whole and shall be gone on from.
    """
    if checkpoint:
        folder = Path(checkpoint).absolute()
        with CheckpointLock(folder):
            _inspect(folder, restore)
            with _readable(folder):
                yield folder
        return
    folder = temporary_folder("run")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """What Spark cannot make sense of before it has done anything with a folder that it goes on from is damaged."""
    commits = folder / SPARK / "commits"
    before = last(commits)
    try:
        yield
    except Exception as error:
        if before < 0 or before != last(commits) or not _is_puzzled(error):
            raise
        named = re.search(rf"{re.escape(str(folder))}/[^\s,;:'\"]*[^\s,;:.'\"]", str(error))
        what = f"{named[0]} cannot be read" if named else f"Spark says: {str(error).partition(chr(10))[0].rstrip('.')}"
        raise damaged(what) from error


def _is_puzzled(error: Exception) -> bool:
    """Whether an error is of Spark's own, and nobody knows a better word for it; Python code has its own errors."""
    is_sparks = type(error).__module__.partition(".")[0] in ("pyspark", "py4j")
    return is_sparks and explained(error) is error and "Traceback (most recent" not in str(error)


@contextmanager
def whole(folder: Path) -> Iterator[None]:
    """What is found damaged in a folder is refused by name."""
    try:
        yield
    except Damaged as damage:
        raise damaged(str(damage)) from damage
    except OSError as error:
        raise unusable(folder, error) from error


def _inspect(folder: Path, restore: bool) -> None:
    """All that can be known of a folder before Spark starts."""
    with whole(folder):
        if not (folder / SPARK_MANIFEST).exists():
            refuse_other_engine(folder, spark=True)
            known = (SPARK, LATE_CHECKPOINT, REJECTED_CHECKPOINT, GIVEN)
            remains = [name for name in known if (folder / name).exists()]
            if remains:  # which are not known to be of this query
                raise Damaged(folder / SPARK_MANIFEST, f"is missing where {folder / remains[0]} is there")
            return
        if not restore:
            raise holds_a_run(folder)
        has_ledger = read_manifest(folder / SPARK_MANIFEST, VERSION).get("ledger", False)
        ledger = folder / GIVEN if has_ledger else None
        for name, given in ((SPARK, ledger), (LATE_CHECKPOINT, None), (REJECTED_CHECKPOINT, None)):
            if given is not None:
                fill_gaps(folder / name, given)
            check_logs(folder / name, given)
            relocate(folder / name)


def shards_in(folder: Path, asked: int | None) -> int | None:
    """Into how many shards the groups of a run are divided for good; as asked for where there is none yet."""
    manifest = folder / SPARK_MANIFEST
    if not manifest.exists():
        return asked
    with whole(folder):
        saved = int(read_manifest(manifest, VERSION)["shards"])
    if asked is not None and asked != saved:
        raise ConfigurationError(
            f"must be the number of the first run, {saved}: that of the partitions they are in may change",
            parameter="max_shards",
            value=asked,
            hint="leave it out, or begin with an empty checkpoint folder",
        )
    return saved


def claim(folder: Path, made: Frames, sources: Mapping[str, Source], *, ledger: bool) -> None:
    """The folder belongs to this query from now on, or is refused; with `ledger` what it gives is kept in there.

    So it is where the run came to its end, and files that it read are others than they were.
    """
    facts = {"version": VERSION, "query": made.bundle.signature, "shards": len(made.bundle.shards)}
    manifest = folder / SPARK_MANIFEST
    files = {name: source for name, source in sources.items() if isinstance(source, FileSource)}
    places = {} if manifest.exists() else {name: last_place(source) for name, source in files.items()}
    with whole(folder):
        if not manifest.exists():
            folder.mkdir(parents=True, exist_ok=True)
            write_json(manifest, {**facts, "ledger": ledger, "files": places})
            return
        saved = read_manifest(manifest, VERSION)
        check_facts(saved, facts)
    has_ended = _has_ended(folder, len(files))
    for name, place in saved.get("files", {}).items():
        if name in files and has_ended:
            refuse_changed(files[name], place)
    if saved["ledger"] != ledger:  # results that were given before are somewhere else
        ways = ("written to a place of Spark's, such as parquet:FOLDER", "given to this process")
        raise ConfigurationError(
            f"must be of a run whose results are {ways[ledger]}; those of this one were {ways[not ledger]}",
            parameter="checkpoint",
            value=str(folder),
            hint="go on with the same kind of output, or begin with an empty checkpoint folder",
        )


def transaction_name(checkpoint: Path) -> str:
    """Under which name the query with this checkpoint makes transactions, whoever runs it: made up once, and kept."""
    path = checkpoint.parent / f"{checkpoint.name}.transactions.json"
    with whole(checkpoint.parent):
        if not path.exists():
            write_json(path, {"name": f"windrow-{uuid4().hex}"})
        return str(read_json(path)["name"])


def _has_ended(folder: Path, streams: int) -> bool:
    """Whether the last micro-batch that is done has read so many streams to their end."""
    path = folder / SPARK / "offsets" / str(last(folder / SPARK / "commits"))
    return path.exists() and path.read_text().count('"ended"') >= streams


def check_output(target: str, checkpoint: Path) -> None:
    """Refuse a folder that Spark cannot go on writing to with this checkpoint, as far as it is on this machine.

    Spark's log of the files in it has their places, and readers see no others; a micro-batch whose number is in there
    counts as written, whichever run it was of.
    """
    if scheme_of(target) in set(STORES) - {"file"}:
        return
    folder = Path(re.sub(r"\Afile:/+", "/", target)).absolute()
    with whole(folder):
        elsewhere = sorted(places_of(folder) - {str(folder), str(folder.resolve())})
    written = last(folder / SINK)
    if elsewhere:
        rule = f"must be where it was when its files were written, {elsewhere[0]}: Spark finds them nowhere else"
        hint = "move it back, or write to a new folder and read the old files by their names"
    elif written > last(checkpoint / "offsets"):
        rule = "must not hold the results of another run: Spark would take those of this one for written"
        hint = "write to a new folder, or go on with that run by its checkpoint and restore"
    elif written < last(checkpoint / "commits"):
        rule = "must be the folder that the run has written to until now, with all that Spark has put there"
        hint = "name that folder, bring it back from a copy, or begin with an empty checkpoint folder"
    else:
        return
    raise ConfigurationError(rule, parameter="output", value=str(folder), hint=hint)
