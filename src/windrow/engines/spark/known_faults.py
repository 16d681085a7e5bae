"""Failures of Spark itself that users meet, told by its own words, and the way out of each."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias
from urllib.parse import unquote

from windrow.errors import ConfigurationError, SourceError, WindrowError

Match: TypeAlias = "re.Match[str]"


def known(text: str) -> WindrowError | None:
    """The error for what Spark says, by the first pattern that fits; None when none does."""
    for pattern, explain in _FAULTS:
        found = pattern.search(text)
        if found:
            return explain(found)
    return None


def _worker_died(_: Match) -> WindrowError:
    return ConfigurationError(
        "lost a Python worker, which crashed or was killed, most often for lack of memory",
        parameter="Spark",
        hint="take fewer rows in a micro-batch, fewer cores, or a machine with more memory; "
        "spark.python.worker.faulthandler.enabled=true shows where a crash was",
    )


def _java_memory(_: Match) -> WindrowError:
    return ConfigurationError(
        "is too small for the JVM",
        parameter="memory",
        hint="give Spark more, such as memory='4g', or take fewer rows in a micro-batch",
    )


def _disk_full(_: Match) -> WindrowError:
    return ConfigurationError(
        "is full (no space left on device)",
        parameter="disk",
        hint="make room where the checkpoint, the output and spark.local.dir are, then go on from the checkpoint",
    )


def _state_unwritten(_: Match) -> WindrowError:
    return ConfigurationError(
        "cannot be written",
        parameter="checkpoint",
        hint="check that its disk has room and that the folder may be written to, then go on from it",
    )


def _output_unwritten(found: Match) -> WindrowError:
    return ConfigurationError(
        "cannot be written",
        parameter="output",
        value=_path(found[1]),
        hint="check that its disk has room and that the folder may be written to, then go on from the checkpoint",
    )


def _other_query(found: Match) -> WindrowError:
    return ConfigurationError(
        "is of another query, or of this one before it changed",
        parameter="checkpoint",
        value=" ".join(found[0].split()).rstrip("."),
        hint="begin with an empty checkpoint folder, or run the query that wrote this one",
    )


def _wrong_column(found: Match) -> WindrowError:
    return SourceError(
        f"has another type than declared in {_path(found[1])}",
        parameter=found[2],
        value=f"{found[4]} where {found[3]} was expected",
        hint="declare the column as it is in the file",
    )


def _unreadable(found: Match) -> WindrowError:
    return SourceError(
        "cannot be read; it is damaged, incomplete or of another format",
        parameter="file",
        value=_path(found[1]),
        hint="replace or remove it",
    )


def _missing(found: Match) -> WindrowError:
    return SourceError("does not exist", parameter="path", value=_path(found[1]), hint="check the path")


def _output_mode(found: Match) -> WindrowError:
    return ConfigurationError(
        "must be append, because a result is given once, when its window closes",
        parameter="output mode",
        value=found[1],
        hint="leave it out",
    )


def _kafka(_: Match) -> WindrowError:
    return ConfigurationError(
        "is not part of this Spark",
        parameter="kafka",
        hint="start Spark with the package org.apache.spark:spark-sql-kafka-0-10_2.13 of its own version "
        "in spark.jars.packages",
    )


def _no_format(found: Match) -> WindrowError:
    return ConfigurationError(
        "is not a format that this Spark knows",
        parameter=found[1],
        hint="start Spark with the package that has it in spark.jars.packages",
    )


def _no_module(found: Match) -> WindrowError:
    return ConfigurationError(
        "is not installed where Spark's workers run",
        parameter=found[1],
        hint="install it there too, or set PYSPARK_PYTHON to a Python that has it",
    )


def _other_python(found: Match) -> WindrowError:
    return ConfigurationError(
        "must be the same version for the driver and the workers",
        parameter="Python",
        value=f"{found[1]} in a worker, {found[2]} in the driver",
        hint="set PYSPARK_PYTHON to the driver's Python",
    )


def _path(text: str) -> str:
    """A file as users write it.

    >>> _path("file:///tmp/a%20b.parquet"), _path("s3://bucket/a.parquet")
    ('/tmp/a b.parquet', 's3://bucket/a.parquet')
    """
    return unquote(re.sub(r"\Afile:/+", "/", text)) if text.startswith("file:/") else text


# The first that fits is taken: causes before what they lead to.
_FAULTS: tuple[tuple[re.Pattern[str], Callable[[Match], WindrowError]], ...] = tuple(
    (re.compile(pattern), explain)
    for pattern, explain in (
        (r"No space left on device", _disk_full),
        (r"java\.lang\.OutOfMemoryError", _java_memory),
        (r"Python worker exited unexpectedly \(crashed\)", _worker_died),
        (r"Python in worker has different version: (.+?) than that in driver: (.+?), PySpark", _other_python),
        (r"\[CANNOT_WRITE_STATE_STORE", _state_unwritten),
        (r"\[TASK_WRITE_FAILED\] Task failed while writing rows to (\S+?)\.(?=\s|$)", _output_unwritten),
        (r"There are \[\d+\] sources in the checkpoint offsets and now there are \[\d+\]", _other_query),
        (r"Provided (?:key|value) schema does not match existing state (?:key|value) schema", _other_query),
        (r"Streaming stateful operator name does not match with the operator in state metadata", _other_query),
        (r"No usable value for logOffset", _other_query),
        (
            r"PARQUET_COLUMN_DATA_TYPE_MISMATCH\] Encountered error while reading file (\S+)\. "
            r"Data type mismatches when reading Parquet column \[(.+?)\]\. "
            r"Expected Spark type (.+?), actual Parquet type (\S+)\.",
            _wrong_column,
        ),
        (r"Encountered error while reading file (\S+)\.(?=\s|$)", _unreadable),
        (r"\[PATH_NOT_FOUND\] Path does not exist: (\S+)\.(?=\s|$)", _missing),
        (r"Invalid streaming output mode: (\w+)\.", _output_mode),
        (r"\[KAFKA_DATA_SOURCE_NOT_ENABLED\]", _kafka),
        (r"\[DATA_SOURCE_NOT_FOUND\] Failed to find the data source: (\S+)\.(?=\s|$)", _no_format),
        (r"ModuleNotFoundError: No module named '([^']+)'", _no_module),
    )
)
