"""What Spark says when something fails, and what Windrow makes of it.

`fault_texts.json` holds what Spark 4.3 says on a classic and on a Connect session, less most lines of Java.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from windrow.engines.spark.session.faults import clear_words, explained, known, not_started, rebuilt
from windrow.errors import (
    ConfigurationError,
    DataError,
    Position,
    QueryError,
    SourceError,
    SumOverflowError,
    WindrowError,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS: dict[str, dict[str, dict[str, str]]] = json.loads(Path(__file__).with_name("fault_texts.json").read_text())

DISK = (
    "`disk` is full (no space left on device). Hint: make room where the checkpoint, the output and spark.local.dir "
    "are, then go on from the checkpoint."
)
DIED = (
    "`Spark` lost a Python worker, which crashed or was killed, most often for lack of memory. Hint: take fewer rows "
    "in a micro-batch, fewer cores, or a machine with more memory; spark.python.worker.faulthandler.enabled=true shows "
    "where a crash was."
)
DAMAGED = (
    "`file` cannot be read; it is damaged, incomplete or of another format, got /data/{}. Hint: replace or remove it."
)
OTHER = (
    "`checkpoint` is of another query, or of this one before it changed, got {}. Hint: begin with an empty checkpoint "
    "folder, or run the query that wrote this one."
)
MODE = (
    "`output mode` must be append, because a result is given once, when its window closes, got {}. Hint: leave it out."
)
SUBMIT = "PYSPARK_SUBMIT_ARGS='--packages GROUP:NAME:VERSION pyspark-shell'"
NULL_TIME = "`time` must not be null, got None. Hint: filter such rows\nor repair them."

EXPECTED: dict[str, tuple[type[WindrowError], str]] = {
    "map": (DataError, NULL_TIME),
    "stream": (DataError, NULL_TIME),
    "place in the query": (
        QueryError,
        "`range` must be positive, got 0.\nline 1, column 8:\n  SELECT x FROM s\n         ^",
    ),
    "state": (
        SumOverflowError,
        "`sum(x)` does not fit into 64 bits. Hint: sum a double: sum(x * 1.0).",
    ),
    "source offset": (SourceError, "`trades` must exist, got x.parquet. Hint: check the path."),
    "source read": (SourceError, "`trades` must be a Parquet file, got x.parquet."),
    "source options": (ConfigurationError, "`foo` is not an option (one of a, b)."),
    "worker exits": (ConfigurationError, DIED),
    "worker crashes": (ConfigurationError, DIED),
    "other state": (
        ConfigurationError,
        OTHER.format("Provided value schema does not match existing state value schema"),
    ),
    "other key": (
        ConfigurationError,
        OTHER.format("Provided key schema does not match existing state key schema"),
    ),
    "more sources": (
        ConfigurationError,
        OTHER.format("There are [1] sources in the checkpoint offsets and now there are [2]"),
    ),
    "other operators": (
        ConfigurationError,
        OTHER.format("Streaming stateful operator name does not match with the operator in state metadata"),
    ),
    "other source": (ConfigurationError, OTHER.format("No usable value for logOffset")),
    "damaged line": (SourceError, DAMAGED.format("m.jsonl")),
    "damaged footer": (SourceError, DAMAGED.format("corrupt/a.parquet")),
    "wrong type": (
        SourceError,
        "`id` has another type than declared in {file}, got BINARY where bigint was expected. "
        "Hint: declare the column as it is in the file.",
    ),
    "missing path": (SourceError, "`path` does not exist, got /data/nope. Hint: check the path."),
    "complete": (ConfigurationError, MODE.format("complete")),
    "update": (ConfigurationError, MODE.format("update")),
    "disk full in Python": (ConfigurationError, DISK),
    "no kafka": (
        ConfigurationError,
        "`kafka` is not part of this Spark. Hint: give the address, FROM 'kafka://host:9092/topic', which needs no "
        "package of Spark's; for a DataFrame of your own start Spark with "
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version('pyspark')} in spark.jars.packages, or with {SUBMIT}.",
    ),
    "no delta": (
        ConfigurationError,
        "`delta` is not a format that this Spark knows. Hint: start Spark with the package io.delta:delta-spark_2.13 "
        f"in spark.jars.packages, or with {SUBMIT}.",
    ),
    "no module": (
        ConfigurationError,
        "`nosuchmodule` is not installed where Spark's workers run. Hint: install it there too, or set PYSPARK_PYTHON "
        "to a Python that has it.",
    ),
}


def raised(mode: str, name: str) -> Exception:
    """An error of PySpark's that says what Spark said."""
    told = TEXTS[mode][name]
    kind: type[Exception] = type(told["kind"], (Exception,), {"__module__": "pyspark.errors"})
    return kind(told["text"])


@pytest.mark.parametrize("mode", ["classic", "connect"])
@pytest.mark.parametrize("name", EXPECTED)
def test_what_spark_says_becomes_a_clear_error(mode: str, name: str) -> None:
    kind, message = EXPECTED[name]
    found = explained(raised(mode, name))
    part = next((word for word in TEXTS[mode][name]["text"].split() if word.startswith("file:///data/other")), "")
    assert (kind, message.replace("{file}", part.removeprefix("file://").rstrip("."))) == (type(found), str(found))


@pytest.mark.parametrize("mode", ["classic", "connect"])
@pytest.mark.parametrize("name", ["damaged file", "damaged file in a stream"])
def test_the_damaged_file_is_named(mode: str, name: str) -> None:
    found = explained(raised(mode, name))
    assert str(found) in {DAMAGED.format(f"corrupt/{letter}.parquet") for letter in "ab"}


@pytest.mark.parametrize("name", ["disk full at the checkpoint", "disk full at the output"])
def test_a_full_disk_is_told_from_the_cause(name: str) -> None:
    """On Connect the cause is in the text; on a classic session it is in the error behind the error."""
    assert DISK == str(explained(raised("connect", name)))
    error = raised("classic", name)
    error.__context__ = RuntimeError("Caused by: java.io.IOException: No space left on device")
    assert DISK == str(explained(error))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "disk full at the checkpoint",
            "`checkpoint` cannot be written. Hint: check that its disk has room and that the folder may be written to, "
            "then go on from it.",
        ),
        (
            "disk full at the output",
            "`output` cannot be written, got /full/out. Hint: check that its disk has room and that the folder may be "
            "written to, then go on from the checkpoint.",
        ),
    ],
)
def test_what_cannot_be_written_where_the_cause_is_not_told(name: str, message: str) -> None:
    found = explained(raised("classic", name))
    assert (ConfigurationError, message) == (type(found), str(found))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10 than that in driver: 3.11, PySpark "
            "cannot run with different minor versions.",
            "`Python` must be the same version for the driver and the workers, got 3.10 in a worker, 3.11 in the "
            "driver. Hint: set PYSPARK_PYTHON to the driver's Python.",
        ),
        (
            "Caused by: java.lang.OutOfMemoryError: Java heap space",
            "`memory` is too small for the JVM. Hint: give Spark more, such as memory='4g', or take fewer rows in a "
            "micro-batch.",
        ),
        (
            "org.apache.spark.SparkException: Python worker failed to connect back.\n"
            "Caused by: java.net.SocketTimeoutException: Timed out while waiting for the Python worker to connect back",
            "`Spark` has Python workers that cannot connect to it. Hint: connections on this machine must be allowed "
            "(127.0.0.1, firewalls), and PYSPARK_PYTHON must be a Python with PySpark and Windrow.",
        ),
        (
            "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Malformed records are detected in "
            "record parsing: [null,3].\nParse Mode: FAILFAST. To process malformed records as null result, try",
            "`record` cannot be read as the declared columns, got [null,3]. Hint: mend the data or the declaration; "
            "with the option mode=PERMISSIVE such records become NULLs.",
        ),
        (
            "Lost task 0.3 in stage 5.0 (TID 11): org.apache.hadoop.fs.FileAlreadyExistsException: Destination exists "
            "and is not a directory: /data/out\n\tat org.apache.hadoop.fs.RawLocalFileSystem.mkdirs(R.java:811)",
            "`output` cannot be written, got /data/out. Hint: check that its disk has room and that the folder may be "
            "written to, then go on from the checkpoint.",
        ),
        (
            "java.io.FileNotFoundException: /data/out/part-0.parquet (Permission denied)",
            "`output` cannot be written, got /data/out/part-0.parquet. Hint: check that its disk has room and that the "
            "folder may be written to, then go on from the checkpoint.",
        ),
        (
            "tv is not a temp view of streaming logical plan, please use batch API such as `DataFrameReader.table` to "
            "read it.",
            "`source` must be a table, or a view of a stream; this one is a view of static data, got table:tv. Hint: "
            "read it as it is from Python: wr.stream(spark.table('tv'), time=...).",
        ),
        (
            "[LOCATION_ALREADY_EXISTS] Cannot name the managed table as `spark_catalog`.`default`.`busy`, as its "
            "associated location 'file:/data/spark-warehouse/busy' already exists. Please pick a different table name, "
            "or remove the existing location first. SQLSTATE: 42710",
            "`output` must be a table that this Spark knows, or a new one; /data/spark-warehouse/busy has files of one "
            "it does not know, got busy. Hint: choose another name, use a catalog that outlives its session, or write "
            "to a folder, as in parquet:/folder.",
        ),
        (
            "[TABLE_OR_VIEW_NOT_FOUND] The table or view `main`.`tv` cannot be found. Verify the spelling",
            "`table` does not exist in this Spark, got main.tv. Hint: check its name and its catalog; tables of "
            "another session or in memory are not seen here.",
        ),
        (
            "An error occurred while calling o77.load.\n: org.apache.hadoop.fs.UnsupportedFileSystemException: No "
            'FileSystem for scheme "gs"\n\tat org.apache.hadoop.fs.FileSystem.getFileSystemClass(FileSystem.java:3586)',
            "`gs` is not a file system that this Spark knows. Hint: start Spark with the package that has it in "
            "spark.jars.packages.",
        ),
        (
            "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
            "`s3a` is not a file system that this Spark knows. Hint: start Spark with the package that has it in "
            "spark.jars.packages: org.apache.hadoop:hadoop-aws of its Hadoop's version, and write s3a://.",
        ),
        (
            "<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n",
            "`Spark` does not answer: its Connect server ended or cannot be reached. Hint: check SPARK_REMOTE and the "
            "server, then start again, with restore where there is a checkpoint.",
        ),
    ],
)
def test_faults_known_by_a_line(text: str, message: str) -> None:
    found = known(text)
    assert (SourceError if "record" in message else ConfigurationError, message) == (type(found), str(found))


DAMAGED_CHECKPOINT = (
    "`checkpoint` must hold a whole checkpoint; {} is missing, cut off or changed. Hint: bring the folder back from a "
    "copy, or run the query from the start in an empty folder."
)
SOMETHING = DAMAGED_CHECKPOINT.format("something that Spark keeps there")
HALF = (
    "`checkpoint` is used by another run, or lacks some of its files. Hint: let one run at a time use it; where it was "
    "copied, copy the whole folder, or begin with an empty one."
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Failed to read log file file:/c/commits/4. Incomplete log file",
            DAMAGED_CHECKPOINT.format("/c/commits/4"),
        ),
        (
            "Unexpected end-of-input in field name\n at [Source: REDACTED "
            "(`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: 1, column: 12]",
            SOMETHING,
        ),
        (
            "com.fasterxml.jackson.databind.exc.MismatchedInputException: No content to map due to end-of-input",
            SOMETHING,
        ),
        (
            "[STREAMING_CHECKPOINT_MISSING_METADATA_FILE] Checkpoint location file:/c is in an inconsistent state",
            DAMAGED_CHECKPOINT.format("/c"),
        ),
        (
            "[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state.  SQLSTATE: 58030",
            SOMETHING,
        ),
        (
            "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE] An error occurred during loading state. Error "
            "reading streaming state file of file:/c/state/0/1/5.changelog does not exist.",
            DAMAGED_CHECKPOINT.format("/c/state/0/1/5.changelog"),
        ),
        ("Multiple streaming queries are concurrently using file:/c/commits. SQLSTATE: XXKST", HALF),
        ("[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 3.", HALF),
    ],
)
def test_damage_to_what_spark_keeps_is_told(text: str, message: str) -> None:
    found = known(f"[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: {text}")
    assert (ConfigurationError, message) == (type(found), str(found))


JVM_DIED = (
    "`Spark` lost its JVM, which crashed or was killed, most often for lack of memory. Hint: start again, with restore "
    "where there is a checkpoint; take a machine with more memory, or fewer rows in a micro-batch."
)


@pytest.mark.parametrize(
    "text",
    [
        "Answer from Java side is empty",
        "Error while sending or receiving",
        "An error occurred while calling o55.isActive",
    ],
)
def test_a_jvm_that_died(text: str) -> None:
    kind: type[Exception] = type("Py4JError", (Exception,), {"__module__": "py4j.protocol"})
    found = explained(kind(text))
    assert (ConfigurationError, JVM_DIED) == (type(found), str(found))


def test_a_jvm_that_died_and_refuses_the_next_call() -> None:
    """The gateway raises what the system says, and is known by where that comes from."""
    gateway = {"__name__": "py4j.clientserver"}
    exec("def connect():\n    raise ConnectionRefusedError(111, 'Connection refused')", gateway)
    with pytest.raises(ConfigurationError, match=f"^{re.escape(JVM_DIED)}$"), clear_words():
        gateway["connect"]()  # type: ignore[operator]
    with pytest.raises(ConnectionRefusedError), clear_words():
        raise ConnectionRefusedError(111, "Connection refused")


def test_packages_that_cannot_be_fetched_are_named() -> None:
    lines = [
        ":: problems summary ::",
        'Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: '
        "io.delta#delta-spark_2.13;9.9.9: not found, unresolved dependency: com.x#y;1: not found]",
        "\tat org.apache.spark.util.MavenUtils$.resolveMavenCoordinates(MavenUtils.scala:539)",
    ]
    assert (
        "`spark.jars.packages` cannot be found or fetched, got io.delta:delta-spark_2.13:9.9.9, com.x:y:1. Hint: check "
        "group, name and version, and that this machine reaches the repository; or give files that are here in "
        "spark.jars."
    ) == str(not_started(lines))


def test_a_jvm_that_does_not_start_is_quoted_without_its_stack() -> None:
    lines = [
        "Error occurred during initialization of VM",
        "java.lang.Error: no",
        "\tat java.base/Main.main(Main.java:1)",
    ]
    assert (
        "`Spark` did not start (Error occurred during initialization of VM; java.lang.Error: no). Hint: check memory, "
        "JAVA_HOME and the settings given to Spark."
    ) == str(not_started(lines))


@pytest.mark.parametrize("mode", ["classic", "connect"])
@pytest.mark.parametrize("name", ["any error", "batch on a stream"])
def test_anything_else_stays_as_it_is(mode: str, name: str) -> None:
    error = raised(mode, name)
    assert error is explained(error)


def test_errors_that_are_not_sparks_stay_as_they_are() -> None:
    """Whatever their text says."""
    for error in (ValueError("No space left on device"), DataError("java.lang.OutOfMemoryError")):
        assert error is explained(error)


ERRORS = [
    DataError("must not be null", parameter="time", value="null at row 3", hint="filter it. Or not"),
    QueryError("is wrong"),
    QueryError("must be one", parameter="a b", value="", allowed=("x", "y")),
    ConfigurationError("has `ticks` inside... and dots", value=1.5),
    QueryError(
        "is late", parameter="late", hint="say\nLATE DROP", position=Position("SELECT a,\n\tb c\nFROM s", 11, 14)
    ),
    SourceError("is gone", parameter="file", value="Hint"),
]


@pytest.mark.parametrize("error", ERRORS, ids=str)
def test_an_error_rebuilt_says_the_same(error: WindrowError) -> None:
    found = rebuilt(type(error), str(error))
    assert (str(error), error.parameter, error.hint) == (str(found), found.parameter, found.hint)
    assert type(error) is type(found)


def test_an_error_of_a_worker_comes_back_whole(spark: SparkSession) -> None:
    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from windrow.errors import SourceError

        for _ in batches:
            try:
                raise OSError("first")
            except OSError as error:
                raise SourceError("is broken", parameter="trades", value="x.csv", hint="repair it") from error
        yield from ()

    with pytest.raises(Exception, match="is broken") as caught:
        spark.range(1).mapInArrow(fail, "x long").collect()
    found: Any = explained(caught.value)
    assert (SourceError, "`trades` is broken, got x.csv. Hint: repair it.") == (type(found), str(found))
    assert ("trades", "repair it") == (found.parameter, found.hint)
