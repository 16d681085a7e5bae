from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from windrow.engines.local import LocalOptions, Receiver, run
from windrow.errors import ConfigurationError
from windrow.plan.nodes import AggregateCall, Filter, Late, Node, Stream, Union, WindowAggregate
from windrow.semantics.progress.policies import External, Ordered
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import Sliding
from windrow.sources.base import Source
from windrow.sources.memory import TableSource

TABLE = pa.table(
    {
        "t": [1, 2, 5, 3, 6],
        "k": list("abaab"),
        "x": [1, 2, 3, 4, 5],
        "p": [None, None, None, None, 6],
        "note": list("vwxyz"),
    }
)
SCHEMA = TABLE.schema
WINDOW = Sliding("t", 4, 4)
TOTAL = AggregateCall("total", "sum", Column("x"))


@dataclass(frozen=True)
class Watched(TableSource):
    """Remembers which columns were asked for."""

    asked: list[list[str]] = field(default_factory=list)

    def select(self, columns: Sequence[str]) -> Source:
        self.asked.append(list(columns))
        return super().select(columns)


def watched() -> Watched:
    return Watched("s", SCHEMA, TABLE)


def answers(plan: Node, **sources: Source) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    results: list[pa.RecordBatch] = []
    late: list[pa.RecordBatch] = []
    run([plan], sources, Receiver.of_one(results.append, late.append))
    return [row for batch in results for row in batch.to_pylist()], [row for b in late for row in b.to_pylist()]


def test_only_the_columns_of_the_query_are_read() -> None:
    source = watched()
    results, _ = answers(WindowAggregate(Stream("s", SCHEMA, "t"), WINDOW, (), (TOTAL,)), s=source)
    assert [["t", "x"]] == source.asked
    assert [(4, 7), (8, 8)] == [(row["window_end"], row["total"]) for row in results]


def test_late_rows_are_whole() -> None:
    source = watched()
    plan = WindowAggregate(Stream("s", SCHEMA, "t", Ordered()), WINDOW, (), (TOTAL,), late=Late.SIDE)
    _, late = answers(plan, s=source)
    assert [] == source.asked
    assert [{"t": 3, "k": "a", "x": 4, "p": None, "note": "y"}] == [
        {name: row[name] for name in SCHEMA.names} for row in late
    ]


def test_a_union_of_narrowed_streams() -> None:
    """One side carries punctuations, the other is filtered: both keep the columns of both."""
    one, other = watched(), watched()
    few = Filter(Stream("other", SCHEMA, "t"), Call("=", (Column("k"), Literal("b"))))
    plan = WindowAggregate(Union((Stream("one", SCHEMA, "t", External("p")), few)), WINDOW, (), (TOTAL,))
    results, _ = answers(plan, one=one, other=other)
    assert [["t", "k", "x", "p"]] * 2 == [*one.asked, *other.asked]
    assert [(4, 9), (8, 8)] == [(row["window_end"], row["total"]) for row in results]


@pytest.mark.parametrize(
    "name", ["threads", "batch_rows", "checkpoint_every", "flush_rows", "flush_windows", "flush_cells"]
)
def test_options_below_one_are_refused(name: str) -> None:
    options: dict[str, Any] = {name: 0}
    with pytest.raises(ConfigurationError, match=rf"\A`{name}` must be (a whole number of )?at least 1.*\b0\b"):
        LocalOptions(**options).check()


@pytest.mark.parametrize("options", [{"checkpoint_every": 10}, {"restore": True}])
def test_checkpoints_need_a_folder(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"\A`checkpoint` needs a folder\. Hint: give checkpoint='folder' "):
        LocalOptions(**options).check()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *product(["batch_rows", "flush_rows", "flush_windows", "flush_cells"], ["x", 1.5, 0]),
        *product(["checkpoint_every"], [1.5, 0, True]),
    ],
)
def test_options_that_count_are_whole_numbers(name: str, value: object) -> None:
    options = LocalOptions(**{"checkpoint": "folder", name: value})  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=rf"^`{name}` must be a whole number of at least 1, got {value}\.$"):
        options.check()
