"""What went wrong inside Spark, in words for those who must act.

Errors of the workers reach the driver as text: a Python traceback inside a Java one. Those that Windrow raised are
given back as they were; the failures of Spark itself that users meet are known by its own words, and get a message with
a way out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from traceback import walk_tb
from typing import Any, TypeAlias
from urllib.parse import unquote

from windrow import errors
from windrow.durable.manifests import damaged
from windrow.errors import ConfigurationError, Position, SourceError, WindrowError

Match: TypeAlias = "re.Match[str]"
Fault: TypeAlias = tuple["re.Pattern[str]", Callable[[Match], WindrowError]]
"""What Spark says, and the error for it."""

_OURS = re.compile(r"^windrow\.errors\.(\w+): (.*?)(?=\n? SQLSTATE: |\n\n|\n\s+at [\w$./]+\(|\n=== |\Z)", re.M | re.S)
_SPARKS = ("pyspark", "py4j", "grpc")
_PLACE = re.compile(r"\nline (\d+), column (\d+):\n  (.*)\n  \s*(\^+)\Z")
_PARTS = re.compile(r"\A(?:`([^`]+)` )?(.*?)(?: Hint: (.*))?\.\Z", re.S)
_SUBMIT = "PYSPARK_SUBMIT_ARGS='--packages GROUP:NAME:VERSION pyspark-shell'"


def explained(error: Exception) -> Exception:
    """The error as a WindrowError where its cause is known, else the error itself."""
    if isinstance(error, WindrowError) or not _is_sparks(error):
        return error
    texts = list(_texts(error))
    ours = next((found for found in map(_ours, texts) if found is not None), None)
    return ours or known("\n".join(texts)) or error


@contextmanager
def clear_words() -> Iterator[None]:
    """What goes wrong in the block is raised as `explained` puts it."""
    try:
        yield
    except Exception as error:
        clear = explained(error)
        if clear is error:
            raise
        raise clear from error


def _is_sparks(error: Exception) -> bool:
    """Asked by name: neither PySpark nor its gateway need be there to ask."""
    kinds = [kind.__module__ for kind in type(error).__mro__]
    places = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    return any(name.split(".")[0] in _SPARKS for name in [*kinds, *places[-1:]])


def _texts(error: BaseException | None) -> Iterator[str]:
    """What the error says, and what the errors behind it say: the first line often leaves out the cause."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield str(error)
        error = error.__cause__ or error.__context__


def _ours(text: str) -> WindrowError | None:
    """The error of Windrow's that a traceback ends with."""
    found = _OURS.findall(text)
    kind: Any = getattr(errors, found[-1][0], None) if found else None
    return rebuilt(kind, found[-1][1]) if isinstance(kind, type) and issubclass(kind, WindrowError) else None


def rebuilt(kind: type[WindrowError], message: str) -> WindrowError:
    """An error whose text is exactly this message.

    >>> again = rebuilt(WindrowError, "`time` must not be null, got null at row 3. Hint: filter it.")
    >>> again.parameter, again.hint, str(again)
    ('time', 'filter it', '`time` must not be null, got null at row 3. Hint: filter it.')
    """
    place = _PLACE.search(message)
    parts = _PARTS.match(message[: place.start()] if place else message)
    if parts is None:
        return kind(message.rstrip("."))
    parameter, rule, hint = parts.groups()
    return kind(
        rule.removesuffix("." if hint else ""), parameter=parameter, hint=hint, position=place and _position(place)
    )


def _position(place: re.Match[str]) -> Position:
    """The place, in a text that has only its line."""
    line, column, text, carets = place.groups()
    start = int(line) - 1 + int(column) - 1
    return Position("\n" * (int(line) - 1) + text, start, start + len(carets))


def known(text: str) -> WindrowError | None:
    """The error for what Spark says, by the first pattern that fits; None when none does."""
    for pattern, explain in _FAULTS:
        found = pattern.search(text)
        if found:
            return explain(found)
    return None


def not_started(lines: Sequence[str]) -> WindrowError:
    """The error for a JVM that ended while it started, by what it said without its stack."""
    plain = [line for line in lines if not re.match(r"\s*(at [\w$./<>]+\(|\.\.\. \d+ more)", line)] or lines
    return known("\n".join(lines)) or ConfigurationError(
        f"did not start ({'; '.join(line.strip() for line in plain[-3:]).rstrip('.')})",
        parameter="Spark",
        hint="check memory, JAVA_HOME and the settings given to Spark",
    )


def _path(text: str) -> str:
    """A file as users write it.

    >>> _path("file:///tmp/a%20b.parquet"), _path("s3://bucket/a.parquet")
    ('/tmp/a b.parquet', 's3://bucket/a.parquet')
    """
    return unquote(re.sub(r"\Afile:/+", "/", text)) if text.startswith("file:/") else text


def _fault(pattern: str, says: str, hint: str, kind: type[WindrowError] = ConfigurationError) -> Fault:
    """In the texts {0} is all that the pattern found, {1} its first group, and so on."""
    fields = re.fullmatch(r"`(?P<parameter>.+?)` (?P<rule>.+?)(?:, got (?P<value>.+))?", says)
    assert fields is not None

    def explain(found: Match) -> WindrowError:
        parts = [" ".join(found[0].split()).rstrip("."), *(_path(part or "") for part in found.groups())]
        texts: dict[str, Any] = {name: text.format(*parts) for name, text in fields.groupdict().items() if text}
        return kind(**texts, hint=hint.format(*parts))

    return re.compile(pattern, re.M), explain


def _unresolved(found: Match) -> WindrowError:
    packages = re.findall(r"unresolved dependency: ([^#\s]+)#([^;\s]+);([^:\s,\]]+)", found[0])
    return ConfigurationError(
        "cannot be found or fetched",
        parameter="spark.jars.packages",
        value=", ".join(":".join(parts) for parts in packages),
        hint="check group, name and version, and that this machine reaches the repository; "
        "or give files that are here in spark.jars",
    )


def _no_store(found: Match) -> WindrowError:
    scheme = found[1].lower()
    amazons = ": org.apache.hadoop:hadoop-aws of its Hadoop's version, and write s3a://"
    return ConfigurationError(
        "is not a file system that this Spark knows",
        parameter=scheme,
        hint="start Spark with the package that has it in spark.jars.packages"
        f"{amazons if scheme in ('s3', 's3a', 's3n') else ''}",
    )


def _no_kafka(_: Match) -> WindrowError:
    return ConfigurationError(
        "is not part of this Spark",
        parameter="kafka",
        hint="give the address, FROM 'kafka://host:9092/topic', which needs no package of Spark's; for a DataFrame of "
        f"your own start Spark with org.apache.spark:spark-sql-kafka-0-10_2.13:{version('pyspark')} in "
        f"spark.jars.packages, or with {_SUBMIT}",
    )


def _no_table(found: Match) -> WindrowError:
    return ConfigurationError(
        "does not exist in this Spark",
        parameter="table",
        value=found[1].replace("`", ""),
        hint="check its name and its catalog; tables of another session or in memory are not seen here",
    )


def _damaged(found: Match) -> WindrowError:
    named = next((_path(part) for part in found.groups() if part), "something that Spark keeps there")
    return damaged(f"{named} is missing, cut off or changed")


# The first that fits is taken: causes before what they lead to.
_FAULTS: tuple[Fault, ...] = (
    _fault(
        r"No space left on device",
        "`disk` is full (no space left on device)",
        "make room where the checkpoint, the output and spark.local.dir are, then go on from the checkpoint",
    ),
    _fault(
        r"java\.lang\.OutOfMemoryError",
        "`memory` is too small for the JVM",
        "give Spark more, such as memory='4g', or take fewer rows in a micro-batch",
    ),
    (re.compile(r"\[unresolved dependency: [^\]]+\]"), _unresolved),
    _fault(
        r"Python worker failed to connect back",
        "`Spark` has Python workers that cannot connect to it",
        "connections on this machine must be allowed (127.0.0.1, firewalls), and PYSPARK_PYTHON must be a Python "
        "with PySpark and Windrow",
    ),
    _fault(
        r"Python worker exited unexpectedly \(crashed\)",
        "`Spark` lost a Python worker, which crashed or was killed, most often for lack of memory",
        "take fewer rows in a micro-batch, fewer cores, or a machine with more memory; "
        "spark.python.worker.faulthandler.enabled=true shows where a crash was",
    ),
    _fault(
        r"Python in worker has different version: (.+?) than that in driver: (.+?), PySpark",
        "`Python` must be the same version for the driver and the workers, got {1} in a worker, {2} in the driver",
        "set PYSPARK_PYTHON to the driver's Python",
    ),
    _fault(
        r"\[CANNOT_WRITE_STATE_STORE",
        "`checkpoint` cannot be written",
        "check that its disk has room and that the folder may be written to, then go on from it",
    ),
    _fault(
        r"\[TASK_WRITE_FAILED\] Task failed while writing rows to (\S+?)\.(?=\s|$)|"
        r"FileAlreadyExistsException: Destination exists and is not a directory: (\S+)|"
        r"FileNotFoundException: (\S+) \(Permission denied\)",
        "`output` cannot be written, got {1}{2}{3}",
        "check that its disk has room and that the folder may be written to, then go on from the checkpoint",
    ),
    _fault(
        r"There are \[\d+\] sources in the checkpoint offsets and now there are \[\d+\]|"
        r"Provided (?:key|value) schema does not match existing state (?:key|value) schema|"
        r"Streaming stateful operator name does not match with the operator in state metadata|"
        r"No usable value for logOffset",
        "`checkpoint` is of another query, or of this one before it changed, got {0}",
        "begin with an empty checkpoint folder, or run the query that wrote this one",
    ),
    _fault(
        r"PARQUET_COLUMN_DATA_TYPE_MISMATCH\] Encountered error while reading file (\S+)\. "
        r"Data type mismatches when reading Parquet column \[(.+?)\]\. "
        r"Expected Spark type (.+?), actual Parquet type (\S+)\.",
        "`{2}` has another type than declared in {1}, got {4} where {3} was expected",
        "declare the column as it is in the file",
        kind=SourceError,
    ),
    _fault(
        r"Encountered error while reading file (\S+)\.(?=\s|$)",
        "`file` cannot be read; it is damaged, incomplete or of another format, got {1}",
        "replace or remove it",
        kind=SourceError,
    ),
    _fault(
        r"Malformed records are detected in record parsing: (.+?)\.\s*\n?Parse Mode",
        "`record` cannot be read as the declared columns, got {1}",
        "mend the data or the declaration; with the option mode=PERMISSIVE such records become NULLs",
        kind=SourceError,
    ),
    _fault(
        r"\[PATH_NOT_FOUND\] Path does not exist: (\S+)\.(?=\s|$)",
        "`path` does not exist, got {1}",
        "check the path",
        kind=SourceError,
    ),
    _fault(
        r"Invalid streaming output mode: (\w+)\.",
        "`output mode` must be append, because a result is given once, when its window closes, got {1}",
        "leave it out",
    ),
    (re.compile(r"\[KAFKA_DATA_SOURCE_NOT_ENABLED\]"), _no_kafka),
    _fault(
        r"\[DATA_SOURCE_NOT_FOUND\] Failed to find the data source: (delta)\.(?=\s|$)",
        "`{1}` is not a format that this Spark knows",
        "start Spark with the package io.delta:delta-spark_2.13 in spark.jars.packages, or with " + _SUBMIT,
    ),
    _fault(
        r"\[DATA_SOURCE_NOT_FOUND\] Failed to find the data source: (\S+)\.(?=\s|$)",
        "`{1}` is not a format that this Spark knows",
        f"start Spark with the package that has it in spark.jars.packages, or with {_SUBMIT}",
    ),
    (re.compile(r"No FileSystem for scheme \"(\w+)\""), _no_store),
    (re.compile(r"Class org\.apache\.hadoop\.fs\.(?:\w+\.)?(\w+?)FileSystem not found"), _no_store),
    _fault(
        r"(\S+) is not a temp view of streaming logical plan",
        "`source` must be a table, or a view of a stream; this one is a view of static data, got table:{1}",
        "read it as it is from Python: wr.stream(spark.table('{1}'), time=...)",
    ),
    _fault(
        r"\[LOCATION_ALREADY_EXISTS\] Cannot name the managed table as (?:\S+\.)?`?([^`\s]+?)`?, as its associated "
        r"location '(\S+)' already exists",
        "`output` must be a table that this Spark knows, or a new one; {2} has files of one it does not know, got {1}",
        "choose another name, use a catalog that outlives its session, or write to a folder, as in parquet:/folder",
    ),
    (re.compile(r"\[TABLE_OR_VIEW_NOT_FOUND\] The table or view (\S+) cannot be found"), _no_table),
    _fault(
        r"ModuleNotFoundError: No module named '([^']+)'",
        "`{1}` is not installed where Spark's workers run",
        "install it there too, or set PYSPARK_PYTHON to a Python that has it",
    ),
    _fault(
        r"Multiple streaming queries are concurrently using|\[CONCURRENT_STREAM_LOG_UPDATE\]",
        "`checkpoint` is used by another run, or lacks some of its files",
        "let one run at a time use it; where it was copied, copy the whole folder, or begin with an empty one",
    ),
    (
        re.compile(
            r"Failed to read log file (\S+?)\. |Error reading streaming state file of (\S+)|Checksum error: (\S+)|"
            r"\[STREAMING_CHECKPOINT_MISSING_METADATA_FILE\] Checkpoint location (\S+)"
        ),
        _damaged,
    ),
    (
        re.compile(
            r"\[CANNOT_LOAD_STATE_STORE|Log file was malformed|Unexpected end-of-input|No content to map due to end-of-"
            r"|com\.fasterxml\.jackson\.core\.JsonParseException|\(`StreamReadFeature\.INCLUDE_SOURCE_IN_LOCATION`"
        ),
        _damaged,
    ),
    _fault(
        r"StatusCode\.UNAVAILABLE",
        "`Spark` does not answer: its Connect server ended or cannot be reached",
        "check SPARK_REMOTE and the server, then start again, with restore where there is a checkpoint",
    ),
    _fault(
        r"Answer from Java side is empty|Error while sending|\[Errno \d+\] Connection refused|"
        r"An error occurred while calling [\w.$]+\w$",
        "`Spark` lost its JVM, which crashed or was killed, most often for lack of memory",
        "start again, with restore where there is a checkpoint; take a machine with more memory, or fewer rows in "
        "a micro-batch",
    ),
)
