"""What each engine can do: a table, from which `docs/capabilities.md` is made.

    python -m windrow.engines.capabilities > docs/capabilities.md

A reason why not is what the error says that users get; a remark on how something runs on Spark is what `explain` says.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Yes:
    """It runs; the remark says what to know about it."""

    remark: str = ""

    def __str__(self) -> str:
        return f"yes; {self.remark}" if self.remark else "yes"


@dataclass(frozen=True)
class No:
    """It is refused, with these words."""

    reason: str

    def __str__(self) -> str:
        return f"no: {self.reason}"


Answer: TypeAlias = Yes | No


@dataclass(frozen=True)
class Feature:
    """Something a query may ask for, and what each engine answers."""

    name: str
    local: Answer = Yes()
    spark: Answer = Yes()
    hardware: Answer = Yes()


def nowhere(name: str, reason: str) -> Feature:
    """A feature that no engine has yet."""
    return Feature(name, No(reason), No(reason), No(reason))


def _no_circuit(what: str) -> No:
    """It is not built in hardware."""
    return No(f"{what} not available in hardware")


def _no_option(name: str, engine: str) -> No:
    """It cannot be said of a run on an engine."""
    return No(f"{name} is not an option of a run on the {engine} engine")


_COUNTED = "rows are sent: windows of rows count them one by one"
_PER_ROW = "rows are sent: windows that end with rows have no panes"
_TOGETHER = "one shard: rows of all groups are counted together"
_MERGED = Yes("rows are sent: session windows have no panes")
_VALUES = Yes("rows are sent: they keep values")
_NO_KEY = Yes("one shard: no key is common to all operators with state")
_NO_GROUPS = Yes("one shard: nothing in the query has groups")
_AFTER_BATCHES = Yes("after each micro-batch")

_BY_TIME = _no_circuit("joins by time are")
_OF_ROWS = _no_circuit("windows of rows are")
_BY_TUPLE = _no_circuit("slide-by-tuple windows are")
_SESSIONS = _no_circuit("session windows are")
_AGGREGATES = No("aggregates must be count, sum, min, max or avg in hardware")
_NO_WINDOWS = _no_circuit("queries without windows are")
_NESTED = _no_circuit("windows over windows are")
_OVER_JOINS = _no_circuit("windows over joins are")
_UNIONS = _no_circuit("unions of streams are")
_EMPTIES = _no_circuit("EMIT EMPTY is")
_STRATEGY = No("strategy must be auto, wid or panes in hardware")
_AHEAD = Yes("how far rows are ahead is taken from the data, or from `ahead`")
_BEFORE = Yes("judged before the circuit")
_AT_ONCE = Yes("read to their end first")
_ENDLESS = No("frame is a streaming DataFrame, which the local engine does not read")

_FOR_LANDMARKS = "strategy must be auto, panes or buffer for landmark windows"

TABLE: dict[str, tuple[Feature, ...]] = {
    "Windows": (
        Feature("sliding and tumbling windows, on time or on integers"),
        Feature("landmark windows", hardware=_no_circuit("landmark windows are")),
        Feature("session windows", spark=_MERGED, hardware=_SESSIONS),
        Feature("windows of rows (RANGE n ROWS)", spark=Yes(f"{_COUNTED}; {_TOGETHER}"), hardware=_OF_ROWS),
        Feature("windows of rows per key (PATTR)", spark=Yes(_COUNTED), hardware=_OF_ROWS),
        Feature("windows of rows in order of time (ORDER BY)", spark=Yes(_COUNTED), hardware=_OF_ROWS),
        Feature(
            "slide by tuple, by arrival and by rank (SLIDE n ROWS)",
            spark=Yes(f"{_PER_ROW}; {_TOGETHER}"),
            hardware=_BY_TUPLE,
        ),
        Feature("slide by tuple per key (PATTR), and SQL's OVER", spark=Yes(_PER_ROW), hardware=_BY_TUPLE),
    ),
    "Aggregates": (
        Feature("count, sum and avg", hardware=Yes("of whole numbers")),
        Feature("variance and stddev", hardware=_AGGREGATES),
        Feature("min and max of numbers and times", hardware=Yes("of whole numbers and times")),
        Feature("first and last of numbers and times", hardware=_AGGREGATES),
        Feature(
            "min, max, first and last of other values",
            spark=_VALUES,
            hardware=No("aggregates of strings must be count in hardware"),
        ),
        Feature(
            "median, quantile, mode, count distinct, top-k, heavy hitters and collect",
            spark=_VALUES,
            hardware=_AGGREGATES,
        ),
        Feature(
            "your own aggregates",
            spark=Yes("rows are sent: each keeps a state of its own. Their code travels to the workers"),
            hardware=_AGGREGATES,
        ),
    ),
    "Queries": (
        Feature(
            "filters and expressions, below and above windows",
            hardware=Yes("below: + - *, comparisons, IN, IS NULL, AND, OR, NOT; above: in software"),
        ),
        Feature(
            "groups by columns",
            hardware=Yes("of whole numbers, times, or strings with a dictionary; as many as there is room for"),
        ),
        Feature("groups by expressions", hardware=No("keys must be columns in hardware")),
        Feature("windows without groups", spark=Yes("one shard: there are no groups")),
        Feature("no windows: filters and expressions alone", spark=_NO_GROUPS, hardware=_NO_WINDOWS),
        Feature("unions of streams", hardware=_UNIONS),
        Feature("distinct rows", hardware=_no_circuit("DISTINCT is")),
        Feature("windows over the results of windows, with a key in common", hardware=_NESTED),
        Feature("windows over the results of windows, without one", spark=_NO_KEY, hardware=_NESTED),
        Feature(
            "landmark windows in a nested query",
            spark=Yes("one shard: landmark windows in a nested query look at the last row of all groups"),
            hardware=_NESTED,
        ),
        Feature("several windows over one stream, put together with UNION ALL", hardware=_UNIONS),
        nowhere("different windows in one SELECT", "window must be the same for all aggregates of a query"),
    ),
    "Joins": (
        Feature("by an equality, of any kind", hardware=_BY_TIME),
        Feature("by a band", spark=Yes("rows near the border of a cell go to two shards"), hardware=_BY_TIME),
        Feature(
            "by any predicate, or none",
            spark=Yes("rows go to several shards, so that every pair meets in one"),
            hardware=_BY_TIME,
        ),
        Feature(
            "left, right, semi and anti joins without an equality or a band",
            spark=Yes("rows of the other side go to every shard"),
            hardware=_BY_TIME,
        ),
        Feature(
            "full joins without an equality",
            spark=Yes("one shard: of a full join without an equality, rows of both sides must be in one place each"),
            hardware=_BY_TIME,
        ),
        Feature(
            "windows of rows, by arrival",
            spark=Yes("one shard: windows of rows of a join count the rows of all keys together"),
            hardware=Yes("inner joins of two streams as they are, on a chain of cores"),
        ),
        Feature("as-of joins by an equality", hardware=_BY_TIME),
        Feature("as-of joins without one", spark=Yes("rows of the right side go to every shard"), hardware=_BY_TIME),
        nowhere("as-of joins by another predicate", "on must be equalities besides the comparison of times"),
        Feature("joins of unions, windows and joins, by a key in common", hardware=_BY_TIME),
        Feature("windows over joins, by a key in common", hardware=_OVER_JOINS),
        Feature("windows over joins, without one", spark=_NO_KEY, hardware=_OVER_JOINS),
        Feature("LATE SIDE of joins", hardware=_BY_TIME),
        nowhere("joins over early results", "joins over results that are taken back are not available"),
        nowhere("joins over results of LATE REVISE", "joins over results that are corrected later are not available"),
    ),
    "Which windows are reported": (
        Feature("those that hold a row"),
        Feature("EMIT EMPTY", hardware=_EMPTIES),
        Feature("EMIT EARLY", spark=Yes("after micro-batches"), hardware=_no_circuit("EMIT EARLY is")),
        nowhere("EMIT EARLY of sessions", "early is not available for session windows"),
        nowhere("EMIT EARLY with LATE REVISE", "early is not available with LATE REVISE"),
        nowhere("windows over early results", "windows over early results are not available"),
        Feature(
            "ORDERED OUTPUT of windows",
            spark=Yes("in answers, files and batches; of a DataFrame, what each shard gives in a micro-batch"),
            hardware=Yes("in software"),
        ),
        Feature("ORDERED OUTPUT of filters and expressions alone", spark=_NO_GROUPS, hardware=_NO_WINDOWS),
        Feature(
            "ORDERED OUTPUT with EMIT EMPTY",
            spark=Yes("one shard: ORDERED OUTPUT with EMIT EMPTY waits for the slowest of all groups"),
            hardware=_EMPTIES,
        ),
        nowhere("ORDERED OUTPUT with LATE REVISE", "ordered output does not go with LATE REVISE"),
        nowhere("ORDERED OUTPUT with EMIT EARLY", "ordered output does not go with EMIT EARLY"),
        Feature(
            "EMIT COMPLETE",
            spark=Yes(
                "rows are sent: EMIT COMPLETE asks for the time of the first row, not only for its pane; "
                "one shard: EMIT COMPLETE looks at the first row of all groups"
            ),
            hardware=_no_circuit("EMIT COMPLETE is"),
        ),
    ),
    "Late rows": (
        Feature("LATE DROP, counted"),
        Feature(
            "LATE SIDE",
            spark=Yes("rows are sent: LATE SIDE keeps the rows themselves"),
            hardware=_no_circuit("LATE SIDE is"),
        ),
        Feature(
            "LATE REVISE",
            spark=Yes("rows are sent: LATE REVISE keeps the rows themselves"),
            hardware=_no_circuit("LATE REVISE is"),
        ),
        Feature("LATE REVISE of sessions", spark=_MERGED, hardware=_SESSIONS),
        nowhere(
            "LATE REVISE with EMIT COMPLETE of sessions", "late is not available for EMIT COMPLETE of session windows"
        ),
        nowhere("LATE REVISE of landmark windows", "late is not available for landmark windows"),
        nowhere("LATE REVISE of slide-by-tuple windows", "late is not available for slide-by-tuple windows"),
        nowhere("LATE REVISE of windows of rows", "late is not available for windows of rows"),
        nowhere("LATE REVISE with EMIT EMPTY", "late is not available for EMIT EMPTY"),
        nowhere(
            "windows over results of LATE REVISE", "windows over results that are corrected later are not available yet"
        ),
        Feature("generous and consistent"),
    ),
    "Progress": (
        Feature(
            "at the end",
            spark=Yes("streams of DataFrames end with `close=True`"),
            hardware=No("progress must say how windows close in hardware"),
        ),
        Feature("ordered", spark=_AFTER_BATCHES),
        Feature("slack in time", spark=_AFTER_BATCHES),
        Feature(
            "slack in rows",
            spark=Yes("after each micro-batch; rows of a DataFrame count in the order of its partitions"),
            hardware=_AHEAD,
        ),
        Feature("punctuations and heartbeats in a column", spark=_AFTER_BATCHES, hardware=_AHEAD),
        Feature(
            "punctuations among the elements of an iterator",
            spark=Yes("after each micro-batch; DataFrames carry them in a column"),
            hardware=Yes("the same"),
        ),
        Feature(
            "punctuations for single groups",
            local=Yes("counted windows need PATTR"),
            spark=Yes("the same, after each micro-batch"),
            hardware=_no_circuit("punctuations for single groups are"),
        ),
        Feature("progress by partition (PER)", spark=_AFTER_BATCHES, hardware=_no_circuit("progress by partition is")),
        Feature(
            "lead: rows too far ahead are early",
            spark=Yes("rows are sent: LEAD judges a row by all rows of its micro-batch"),
            hardware=_BEFORE,
        ),
        Feature(
            "lead by the clock",
            spark=Yes("judged by the clock of the task that reads the rows"),
            hardware=_BEFORE,
        ),
        Feature("idle by stream time"),
        Feature("idle by the clock", spark=Yes("judged when a micro-batch runs")),
    ),
    "Data": (
        Feature("files, Arrow, pandas, Polars", hardware=_AT_ONCE),
        Feature(
            "iterators of elements",
            spark=Yes("read to their end first, into files that the workers read"),
            hardware=_AT_ONCE,
        ),
        Feature(
            "static DataFrames of Spark",
            local=Yes("read into this process"),
            spark=Yes("nothing is late, everything closes at the end"),
            hardware=Yes("read into this process"),
        ),
        Feature("streaming DataFrames of Spark", local=_ENDLESS, hardware=_ENDLESS),
        Feature(
            "static and streaming DataFrames in one query",
            spark=No("streams must all be streams or all be static"),
            hardware=_ENDLESS,
        ),
    ),
    "Running": (
        Feature("strategy panes", hardware=Yes("a module for each open pane")),
        Feature(
            "strategy wid",
            spark=Yes("rows are sent: STRATEGY wid has no panes"),
            hardware=Yes("a module for each open window"),
        ),
        Feature("strategy buffer", spark=Yes("rows are sent: STRATEGY buffer has no panes"), hardware=_STRATEGY),
        Feature("strategy adaptive", spark=Yes("rows are sent: STRATEGY adaptive keeps rows"), hardware=_STRATEGY),
        Feature("COMPRESS off", hardware=Yes("as always there")),
        Feature("COMPRESS blocks", hardware=_no_circuit("COMPRESS blocks is")),
        Feature("COMPRESS ... WITHIN, for the aggregates of a window", hardware=_no_circuit("COMPRESS ... WITHIN is")),
        nowhere("COMPRESS ... WITHIN of a join", "within goes with the aggregates of a window"),
        nowhere("strategy wid for landmark windows", _FOR_LANDMARKS),
        nowhere("strategy adaptive for landmark windows", _FOR_LANDMARKS),
        nowhere("strategy wid, adaptive or buffer with LATE REVISE", "strategy must be panes or auto with LATE REVISE"),
        nowhere("strategy wid or buffer for windows of rows", "strategy must be auto or panes for windows of rows"),
        nowhere("a strategy for sessions", "strategy must be auto for session windows"),
        nowhere("a strategy for slide-by-tuple windows", "strategy must be auto for slide-by-tuple windows"),
        Feature(
            "several queries in one pass",
            local=Yes("equal parts and panes are shared"),
            spark=Yes("what is read and sent is shared, panes too"),
            hardware=Yes("`windrow synth` puts those over one stream into one circuit; a run simulates one each"),
        ),
        Feature(
            "checkpoint and restore",
            local=Yes("every so many rows, or by the clock"),
            spark=Yes("every micro-batch"),
            hardware=_no_option("checkpoint", "hardware"),
        ),
        Feature(
            "flush slow and lazy",
            local=Yes(
                "for sliding, tumbling and landmark windows of bounded aggregates by panes; others close at once"
            ),
            spark=Yes("a slice of each shard after a micro-batch; what waits leaves with the next one, or at the end"),
            hardware=_no_option("flush", "hardware"),
        ),
        Feature("threads", spark=_no_option("threads", "spark"), hardware=_no_option("threads", "hardware")),
        Feature("shards", local=_no_option("shards", "local"), hardware=_no_option("shards", "hardware")),
        Feature("rate", local=_no_option("rate", "local"), hardware=_no_option("rate", "hardware")),
    ),
}

_PREFACE = """\
# What runs where

Made by `python -m windrow.engines.capabilities`. What is refused is refused with these words. On
[Spark](spark.md), "rows are sent" means that rows themselves go to the shards, where otherwise pane aggregates do, and
"one shard" that one task does all of the work above the shuffle; `explain` says so too. [Hardware](hardware.md) is a
simulated circuit.
"""


def page() -> str:
    """The table as a page of the docs."""
    return "\n".join([_PREFACE, *(line for topic, rows in TABLE.items() for line in _section(topic, rows))])


def _section(topic: str, rows: tuple[Feature, ...]) -> Iterator[str]:
    yield from (f"## {topic}", "", "| | local | Spark | hardware |", "|---|---|---|---|")
    yield from (f"| {row.name} | {row.local} | {row.spark} | {row.hardware} |" for row in rows)
    yield ""


if __name__ == "__main__":
    sys.stdout.write(page())
