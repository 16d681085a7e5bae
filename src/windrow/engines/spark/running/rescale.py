"""Another number of shuffle partitions for the state in a checkpoint of Spark.

Groups stay in the shards that the first run divided them into; shards are what moves, each as a whole, so that answers
cannot change. Spark moves them, offline, in a micro-batch of its own that reads nothing and gives nothing: sources and
sinks go on from where they are, and what was written once stays written once. A micro-batch that was begun is done
first, as it was begun.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from windrow.engines.spark.running.logs import SINK, entries, last
from windrow.engines.spark.running.observing import Watch
from windrow.engines.spark.session.sessions import PARTITIONS
from windrow.errors import ConfigurationError
from windrow.sources.addresses import STORES, scheme_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

INTERVAL = "spark.sql.streaming.fileSink.log.compactInterval"
"""Spark writes the log of a folder of files as a whole in each so many micro-batches."""


def partitions_of(checkpoint: Path, batch: int | None = None) -> int | None:
    """Among how many partitions the state lies, at the last micro-batch unless another is named; None without one."""
    path = entries(checkpoint / "offsets").get(last(checkpoint / "offsets") if batch is None else batch)
    return None if path is None else int(json.loads(path.read_text().splitlines()[1])["conf"][PARTITIONS])


def is_rescaling(checkpoint: Path, batch: int) -> bool:
    """Whether a micro-batch is one that only moved state: it reads what the one before read, elsewhere."""
    found = entries(checkpoint / "offsets")
    if batch not in found or batch - 1 not in found:
        return False
    mine, before = (found[number].read_text().splitlines() for number in (batch, batch - 1))
    return mine[2:] == before[2:] and partitions_of(checkpoint, batch) != partitions_of(checkpoint, batch - 1)


def rescale(
    spark: SparkSession, checkpoint: Path, partitions: int, once: Callable[[], StreamingQuery], stop: Event
) -> None:
    """Have the state of a checkpoint in so many partitions; `once` runs the one micro-batch that is not done yet."""
    offsets, commits = checkpoint / "offsets", checkpoint / "commits"
    if last(offsets) < 0 or (partitions_of(checkpoint) == partitions and last(offsets) == last(commits)):
        return
    if last(offsets) > last(commits) and not is_rescaling(checkpoint, last(offsets)):
        _run(once(), stop)
    elif last(offsets) > last(commits):  # one that was broken off must be repeated as it was
        _move(spark, checkpoint, partitions_of(checkpoint) or partitions)
    if partitions_of(checkpoint) != partitions:
        _move(spark, checkpoint, partitions)


def _run(query: StreamingQuery, stop: Event) -> None:
    watch = Watch(query, stop=stop)
    try:
        while not watch.has_ended():
            pass
    finally:
        query.stop()


def _move(spark: SparkSession, checkpoint: Path, partitions: int) -> None:
    manager: Any = getattr(spark, "_streamingCheckpointManager", None)
    if manager is None:
        raise ConfigurationError(
            "can be changed for a checkpoint from Spark 4.2 on",
            parameter="shards",
            value=partitions,
            allowed=(partitions_of(checkpoint),),
            hint="go on with the number there was, or begin with an empty checkpoint folder",
        )
    manager.repartition(str(checkpoint), partitions)


def log_of(files: str, checkpoint: Path, partitions: int | None) -> Path | None:
    """The folder that Spark writes files to, whose log must not have gaps; None where it is on no disk of this machine.

    There the state stays where it is.
    """
    if scheme_of(files) not in set(STORES) - {"file"}:
        return Path(re.sub(r"\Afile:/+", "/", files)).absolute()
    known = partitions_of(checkpoint)
    if partitions is not None and known not in (None, partitions):
        raise ConfigurationError(
            "must stay while files are written to a store: the log that Spark keeps of them there must not have gaps",
            parameter="shards",
            value=partitions,
            allowed=(known,),
            hint="go on with the number there was, or write to a table or to Kafka from an empty checkpoint on",
        )
    return None


def fill_gaps(checkpoint: Path, given: Path, interval: int = 10) -> None:
    """Let the log of a folder of files say that micro-batches which moved state gave none, as it says of all others.

    Spark writes every entry of the log anew in each `interval`-th, and misses one that is not there.
    """
    log = given / SINK
    for batch in range(last(log) + 1, last(checkpoint / "commits") + 1) if last(log) >= 0 else ():
        if not is_rescaling(checkpoint, batch):
            return
        is_whole = (batch + 1) % interval == 0
        lines = _lines(log) if is_whole else []
        draft = log / f".{batch}.draft"
        draft.write_text("\n".join(["v1", *lines]), encoding="utf-8")
        draft.replace(log / (f"{batch}.compact" if is_whole else str(batch)))


def _lines(log: Path) -> list[str]:
    """What all entries say together."""
    found = entries(log)
    whole = max((number for number, path in found.items() if path.suffix), default=0)
    return [line for number in sorted(found) if number >= whole for line in found[number].read_text().splitlines()[1:]]
