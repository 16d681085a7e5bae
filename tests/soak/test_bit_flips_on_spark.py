"""A bit of a checkpoint on Spark flips, or a file of it is cut: each restore gives the right answer or is refused.

`WINDROW_SPARK_FLIPS` is how often, 50 when left out, in one session; a few more through the command line.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import windrow as wr
from tests.soak.damage import REFUSED, command_line, trials
from tests.soak.queries import SCHEMA, rows
from tests.strategies import comparable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.pipeline.metrics import Metrics

pytestmark = [pytest.mark.soak]
FLIPS = int(os.environ.get("WINDROW_SPARK_FLIPS", "50"))
COMMANDS = 3
BATCH_ROWS = 150
QUERY = """
CREATE STREAM s FROM 's.parquet' PROGRESS ON ts SLACK 15;
SELECT k, count(*) AS n, median(x) AS middle FROM s [RANGE 60 SLIDE 20 WATTR ts] GROUP BY k LATE SIDE;
"""
RUN = ("run", "query.sql", "--checkpoint", "state", "--batch-rows", str(BATCH_ROWS), "--shards", "2")
ANSWER = "answer.parquet"


class Broken(Exception):
    """The power went off."""


def break_off(metrics: Metrics) -> None:
    """After some micro-batches, while others are left."""
    if metrics.rows_in >= 6 * BATCH_ROWS:
        raise Broken


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.Table.from_pylist(rows(1, late=0.1)[: 8 * BATCH_ROWS], SCHEMA), "s.parquet")
    Path("query.sql").write_text(QUERY)
    return tmp_path


def answer(**options: Any) -> tuple[list[Any], list[Any]]:
    result = wr.sql(QUERY).run(engine="spark", batch_rows=BATCH_ROWS, **options)
    return comparable(result.table.to_pylist()), comparable(result.late.to_pylist())


def test_a_restore_gives_the_right_answer_or_is_refused(spark: SparkSession, folder: Path) -> None:
    expected = answer(spark=spark)
    with pytest.raises(Broken):
        answer(spark=spark, checkpoint="whole", on_progress=break_off)
    again = partial(answer, spark=spark, restore=True)
    shutil.copytree("whole", "copy")
    assert expected == again(checkpoint="copy")
    outcomes: Counter[str] = Counter()
    for flip in range(FLIPS):  # each in a folder of its own: Spark may still tidy up in that of the one before
        restore = lambda state: again(checkpoint=str(state))  # noqa: E731
        outcomes += trials(Path("whole"), Path(f"flip-{flip}"), restore, expected, seeds=[f"spark {flip}"])
    print(f"in one session: {dict(outcomes)}")
    for flip in range(COMMANDS):
        judge = partial(by_command, folder)
        outcomes += trials(Path("whole"), Path("state"), str, expected[0], seeds=[f"command {flip}"], judge=judge)
    print(f"with the command line: {dict(outcomes)}")


def by_command(folder: Path, _: Callable[[], Any], expected: list[Any]) -> str:
    Path(ANSWER).unlink(missing_ok=True)
    outcome = command_line(*RUN, "--output", ANSWER, "--restore", cwd=folder)
    assert outcome == REFUSED or expected == comparable(parquet.read_table(ANSWER).to_pylist())
    return outcome
