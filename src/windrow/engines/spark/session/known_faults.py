"""Failures of Spark itself that users meet, told by its own words, and the way out of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import TypeAlias
from urllib.parse import unquote

from windrow.errors import ConfigurationError, SourceError, WindrowError
from windrow.sharded.wire import damaged

Match: TypeAlias = "re.Match[str]"


_SUBMIT = "PYSPARK_SUBMIT_ARGS='--packages GROUP:NAME:VERSION pyspark-shell'"


def known(text: str) -> WindrowError | None:
    """The error for what Spark says, by the first pattern that fits; None when none does."""
    for pattern, explain in _FAULTS:
        found = pattern.search(text)
        if found:
            return explain(found)
    return None


def not_started(lines: Sequence[str]) -> WindrowError:
    """The error for a JVM that ended while it started, by what it said."""
    return known("\n".join(lines)) or ConfigurationError(
        f"did not start ({'; '.join(line.strip() for line in _telling(lines)[-3:]).rstrip('.')})",
        parameter="Spark",
        hint="check memory, JAVA_HOME and the settings given to Spark",
    )


def _telling(lines: Sequence[str]) -> list[str]:
    """The lines without those that say only where in the program an error was."""
    return [line for line in lines if not re.match(r"\s*(at [\w$./<>]+\(|\.\.\. \d+ more)", line)] or list(lines)


def _worker_died(_: Match) -> WindrowError:
    return ConfigurationError(
        "lost a Python worker, which crashed or was killed, most often for lack of memory",
        parameter="Spark",
        hint="take fewer rows in a micro-batch, fewer cores, or a machine with more memory; "
        "spark.python.worker.faulthandler.enabled=true shows where a crash was",
    )


def _jvm_died(_: Match) -> WindrowError:
    return ConfigurationError(
        "lost its JVM, which crashed or was killed, most often for lack of memory",
        parameter="Spark",
        hint="start again, with restore where there is a checkpoint; take a machine with more memory, or fewer rows in "
        "a micro-batch",
    )


def _unreachable(_: Match) -> WindrowError:
    return ConfigurationError(
        "does not answer: its Connect server ended or cannot be reached",
        parameter="Spark",
        hint="check SPARK_REMOTE and the server, then start again, with restore where there is a checkpoint",
    )


def _no_connection(_: Match) -> WindrowError:
    return ConfigurationError(
        "has Python workers that cannot connect to it",
        parameter="Spark",
        hint="connections on this machine must be allowed (127.0.0.1, firewalls), and PYSPARK_PYTHON must be a Python "
        "with PySpark and Windrow",
    )


def _unresolved(found: Match) -> WindrowError:
    packages = re.findall(r"unresolved dependency: ([^#\s]+)#([^;\s]+);([^:\s,\]]+)", found[0])
    return ConfigurationError(
        "cannot be found or fetched",
        parameter="spark.jars.packages",
        value=", ".join(":".join(parts) for parts in packages),
        hint="check group, name and version, and that this machine reaches the repository; "
        "or give files that are here in spark.jars",
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


def _damaged(found: Match) -> WindrowError:
    named = next((_path(part) for part in found.groups() if part), "something that Spark keeps there")
    return damaged(f"{named} is missing, cut off or changed")


def _half(_: Match) -> WindrowError:
    return ConfigurationError(
        "is used by another run, or lacks some of its files",
        parameter="checkpoint",
        hint="let one run at a time use it; where it was copied, copy the whole folder, or begin with an empty one",
    )


def _malformed(found: Match) -> WindrowError:
    return SourceError(
        "cannot be read as the declared columns",
        parameter="record",
        value=found[1],
        hint="mend the data or the declaration; with the option mode=PERMISSIVE such records become NULLs",
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
        hint=f"start Spark with the package org.apache.spark:spark-sql-kafka-0-10_2.13:{version('pyspark')} in "
        f"spark.jars.packages, or with {_SUBMIT}",
    )


def _no_format(found: Match) -> WindrowError:
    package = "the package io.delta:delta-spark_2.13" if found[1] == "delta" else "the package that has it"
    return ConfigurationError(
        "is not a format that this Spark knows",
        parameter=found[1],
        hint=f"start Spark with {package} in spark.jars.packages, or with {_SUBMIT}",
    )


def _no_store(found: Match) -> WindrowError:
    scheme = found[1] or found[2].lower()
    return ConfigurationError(
        "is not a file system that this Spark knows",
        parameter=scheme,
        hint=f"start Spark with the package that has it in spark.jars.packages{_STORES.get(scheme, '')}",
    )


_STORES = dict.fromkeys(
    ("s3", "s3a", "s3n"), ": org.apache.hadoop:hadoop-aws of its Hadoop's version, and write s3a://"
)


def _temporary_view(found: Match) -> WindrowError:
    return ConfigurationError(
        "must be a table, or a view of a stream; this one is a view of static data",
        parameter="source",
        value=f"table:{found[1]}",
        hint=f"read it as it is from Python: wr.stream(spark.table('{found[1]}'), time=...)",
    )


def _no_table(found: Match) -> WindrowError:
    return ConfigurationError(
        "does not exist in this Spark",
        parameter="table",
        value=found[1].replace("`", ""),
        hint="check its name and its catalog; tables of another session or in memory are not seen here",
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
    (re.compile(pattern, re.M), explain)
    for pattern, explain in (
        (r"No space left on device", _disk_full),
        (r"java\.lang\.OutOfMemoryError", _java_memory),
        (r"\[unresolved dependency: [^\]]+\]", _unresolved),
        (r"Python worker failed to connect back", _no_connection),
        (r"Python worker exited unexpectedly \(crashed\)", _worker_died),
        (r"Python in worker has different version: (.+?) than that in driver: (.+?), PySpark", _other_python),
        (r"\[CANNOT_WRITE_STATE_STORE", _state_unwritten),
        (r"\[TASK_WRITE_FAILED\] Task failed while writing rows to (\S+?)\.(?=\s|$)", _output_unwritten),
        (r"FileAlreadyExistsException: Destination exists and is not a directory: (\S+)", _output_unwritten),
        (r"FileNotFoundException: (\S+) \(Permission denied\)", _output_unwritten),
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
        (r"Malformed records are detected in record parsing: (.+?)\.\s*\n?Parse Mode", _malformed),
        (r"\[PATH_NOT_FOUND\] Path does not exist: (\S+)\.(?=\s|$)", _missing),
        (r"Invalid streaming output mode: (\w+)\.", _output_mode),
        (r"\[KAFKA_DATA_SOURCE_NOT_ENABLED\]", _kafka),
        (r"\[DATA_SOURCE_NOT_FOUND\] Failed to find the data source: (\S+)\.(?=\s|$)", _no_format),
        (r"No FileSystem for scheme \"(\w+)\"()", _no_store),
        (r"()Class org\.apache\.hadoop\.fs\.(?:\w+\.)?(\w+?)FileSystem not found", _no_store),
        (r"(\S+) is not a temp view of streaming logical plan", _temporary_view),
        (r"\[TABLE_OR_VIEW_NOT_FOUND\] The table or view (\S+) cannot be found", _no_table),
        (r"ModuleNotFoundError: No module named '([^']+)'", _no_module),
        (r"Multiple streaming queries are concurrently using|\[CONCURRENT_STREAM_LOG_UPDATE\]", _half),
        (
            r"Failed to read log file (\S+?)\. |Error reading streaming state file of (\S+)|Checksum error: (\S+)|"
            r"\[STREAMING_CHECKPOINT_MISSING_METADATA_FILE\] Checkpoint location (\S+)",
            _damaged,
        ),
        (
            r"\[CANNOT_LOAD_STATE_STORE|Log file was malformed|Unexpected end-of-input|No content to map due to end-of-"
            r"|com\.fasterxml\.jackson\.core\.JsonParseException|\(`StreamReadFeature\.INCLUDE_SOURCE_IN_LOCATION`",
            _damaged,
        ),
        (r"StatusCode\.UNAVAILABLE", _unreachable),
        (
            r"Answer from Java side is empty|Error while sending|\[Errno \d+\] Connection refused|"
            r"An error occurred while calling [\w.$]+\w$",
            _jvm_died,
        ),
    )
)
