"""Rows that are lost without anybody having chosen it: one warning a run, wherever an answer is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.pipeline.metrics import Metrics
from windrow.query import Query
from windrow.query.late_rows import SQL, sentences

ROWS = pa.table({"t": [10, 3, 5, 50, 44, 45], "k": ["a", "b", "a", "b", "a", "b"]})
LOST = "4 of 6 rows came too late and are missing from some or all of their windows"
REMEDY = 'say .late("drop") if that is meant, .late("side") to get them or .late("revise") to correct their windows.'
SLACK = "a slack of 7 would have kept them"


def ordered(data: Any = ROWS) -> Query:
    return wr.stream(data, time="t", progress=wr.ordered())


def counted(stream: Query) -> Query:
    return stream.window(range=4, slide=2).agg(n=wr.count())


def warned(run: Callable[[], Any]) -> list[wr.LateRowsWarning]:
    """The warnings of a run; each names a line of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    assert {__file__} >= {one.filename for one in caught}
    messages = [one.message for one in caught]
    assert all(isinstance(one, wr.LateRowsWarning) for one in messages)
    return [one for one in messages if isinstance(one, wr.LateRowsWarning)]


WAYS: dict[str, Callable[[Query, Path], Any]] = {
    "run": lambda query, _: query.run(),
    "collect": lambda query, _: query.collect(),
    "to_pandas": lambda query, _: query.to_pandas(),
    "to_polars": lambda query, _: query.to_polars(),
    "batches": lambda query, _: list(query.batches()),
    "write": lambda query, folder: query.write(folder / "answer.csv"),
    "wr.run": lambda query, _: wr.run([query]),
    "sql": lambda query, _: wr.sql("SELECT count(*) FROM s [RANGE 4 SLIDE 2 WATTR t]", s=ordered()).collect(),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_an_answer_warns_once(way: str, tmp_path: Path) -> None:
    (warning,) = warned(lambda: WAYS[way](counted(ordered()), tmp_path))
    assert f"{LOST}: {SLACK}; {REMEDY}" == str(warning)
    assert (6, 4, 0, 4, 7) == (warning.rows, warning.late, warning.early, warning.lost, warning.slack)


def test_a_warning_can_be_an_error_or_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", wr.LateRowsWarning)
        with pytest.raises(wr.LateRowsWarning, match=r"\A4 of 6 rows came too late"):
            counted(ordered()).collect()
        warnings.simplefilter("ignore", wr.LateRowsWarning)
        counted(ordered()).collect()


SQL_QUERY = "SELECT count(*) AS n FROM s [RANGE 4 SLIDE 2 WATTR t]"
JOIN = "SELECT a.t FROM s AS a [RANGE 9] JOIN s AS b [RANGE 9] ON a.k = b.k"


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(counted(ordered()).late("drop"), id="drop"),
        pytest.param(ordered().window(range=4).late("drop").agg(n=wr.count()), id="drop before the aggregates"),
        pytest.param(counted(ordered()).late("side"), id="side"),
        pytest.param(counted(ordered()).late("revise", within=1), id="revise for so long"),
        pytest.param(counted(ordered()).late("revise", within=1).having("n > 0"), id="below a filter"),
        pytest.param(counted(ordered().distinct()).late("drop"), id="drop means DISTINCT, too"),
        pytest.param(ordered().join(ordered(), ["k"], range=9, late="drop"), id="a join"),
        pytest.param(ordered().join(ordered(), ["k"], range=9).late("drop"), id="a join, later"),
        pytest.param(wr.sql(f"{SQL_QUERY} LATE DROP", s=ordered()), id="SQL"),
        pytest.param(wr.sql(f"{JOIN} LATE DROP", s=ordered()), id="a join in SQL"),
        pytest.param(counted(ordered(ROWS.sort_by("t"))), id="no row is late"),
        pytest.param(counted(wr.stream(ROWS, time="t")), id="no row can be late"),
        pytest.param(ordered().select("t", "k"), id="nothing with state"),
        pytest.param(counted(ordered().where("t in (10, 50)")), id="late rows are filtered out"),
        pytest.param(counted(ordered(ROWS.slice(0, 0))), id="no rows"),
    ],
)
def test_what_was_chosen_or_is_not_late_is_silent(query: Query) -> None:
    assert [] == warned(query.run)


def test_corrections_that_nobody_bounded() -> None:
    """Rows that are too late even for the default bound are lost; those that are corrected are not."""
    stream = wr.stream(pa.table({"t": [1, 3, 6, 2, 20, 1]}), time="t", progress=wr.slack(1))
    (warning,) = warned(counted(stream).late("revise").collect)
    lost = "1 of 6 rows came too late and is in no correction of some or all of its windows"
    assert f"{lost}: a slack of 19 would have kept it; say for how long windows are corrected, WITHIN." == str(warning)
    assert (2, 1) == (warning.late, warning.lost)


def test_corrections_of_sessions_that_nobody_bounded() -> None:
    """2 corrects the session of 1, which is reported with 6; the last row is below all that is corrected."""
    stream = wr.stream(pa.table({"t": [1, 6, 2, 20, 1]}), time="t", progress=wr.slack(1))
    (warning,) = warned(stream.window(gap=2).agg(n=wr.count()).late("revise").collect)
    assert (2, 1) == (warning.late, warning.lost)


def test_joins_and_rows_without_windows() -> None:
    (joined,) = warned(ordered().join(ordered(), ["k"], range=9, aliases=("a", "b")).collect)
    slacks = "a slack of 7 of stream and a slack of 7 of stream_2"
    remedy = 'say .late("drop") if that is meant, .late("side") to get them'
    assert f"8 of 12 rows came too late and joined nothing: {slacks} would have kept them; {remedy}." == str(joined)
    (once,) = warned(ordered().distinct().collect)
    assert f"4 of 6 rows came too late and are missing from the answer: {SLACK}." == str(once)
    (sorted_,) = warned(ordered().ordered_output().collect)
    assert str(once) == str(sorted_)


def test_several_queries_warn_once_together() -> None:
    stream = ordered()
    queries = [counted(stream), counted(stream).late("drop"), stream.window(gap=2).agg(n=wr.count())]
    (warning,) = warned(lambda: wr.run(queries))
    first, third = str(warning).splitlines()
    assert f"query 1: {LOST}: {SLACK}; {REMEDY}" == first
    assert third.startswith("query 3: 4 of 6 rows came too late and are missing from some or all of their windows: ")
    assert (12, 8, 8, 7) == (warning.rows, warning.late, warning.lost, warning.slack)


def test_equal_queries_of_which_one_chose() -> None:
    """They share everything that is computed, and not the warning."""
    stream = ordered()
    result = wr.run([counted(stream).late("drop"), counted(stream)])
    assert [0, 4] == [one.metrics.rows_lost for one in result]
    assert (4, 4) == (result.metrics.rows_lost, result[1].metrics.rows_late)


def test_a_reader_of_batches_who_stops_is_not_warned() -> None:
    def read_one() -> None:
        batches = counted(ordered()).batches()
        next(batches)
        batches.close()  # type: ignore[attr-defined]

    assert [] == warned(read_one)


# In words


def seconds(*values: int) -> pa.Table:
    return pa.table({"t": pa.array(values, pa.timestamp("s"))})


def said(query: Query) -> list[str]:
    return sentences(query.plan, query.run().metrics, SQL)


def test_slack_is_told_in_a_readable_amount() -> None:
    stream = wr.stream(seconds(0, 1000, 573, 2000), time="t", progress=wr.slack("30 s"))
    asked = stream.window(range="1 min").agg(n=wr.count())
    remedy = "say LATE DROP if that is meant, LATE SIDE to get it or LATE REVISE to correct its windows"
    lost = "1 of 4 rows came too late and is missing from some or all of its windows"
    assert [f"{lost}: SLACK 8 MINUTES would have kept it; {remedy}"] == said(asked)
    (warning,) = warned(asked.collect)
    assert "8 min" == warning.slack
    again = wr.stream(seconds(0, 1000, 573, 2000), time="t", progress=wr.slack("8 min"))
    assert [] == warned(again.window(range="1 min").agg(n=wr.count()).collect)


def test_slack_in_rows_is_told_in_time() -> None:
    stream = wr.stream(ROWS, time="t", progress=wr.slack("1 row"))
    assert "SLACK 5 would have kept them" in said(counted(stream))[0]


def test_of_a_stream_that_is_not_waited_for_no_slack_is_told() -> None:
    ahead = wr.stream(pa.table({"t": list(range(0, 200, 2))}), time="t", progress=wr.ordered(), name="ahead")
    behind = wr.stream(pa.table({"t": [5, 1, 3]}), time="t", progress=wr.ordered(), idle=10, name="behind")
    assert "slack" not in str(warned(counted(ahead.union(behind)).collect)[0])


def test_how_late_rows_are_by_punctuations() -> None:
    elements = [{"t": 1}, *map(wr.Punctuation, (5, 10, 15, 20)), {"t": 4}, {"t": 3}, {"t": 30}]
    stream = wr.stream(elements, time="t", progress=wr.punctuated(), name="s", schema=pa.schema([("t", pa.int64())]))
    remedy = "say LATE DROP if that is meant, LATE SIDE to get them"
    lost = "2 of 4 rows came too late and are missing from some or all of their windows"
    query = stream.window(gap=2).agg(n=wr.count())
    assert [f"{lost}: up to 17 below what s had promised; {remedy}"] == said(query)


def test_early_rows_are_told_like_late_ones() -> None:
    table = pa.table({"t": [10, 3, 5, 5000, 50, 44, 45]})
    stream = wr.stream(table, time="t", progress=wr.ordered(lead=100))
    (warning,) = warned(counted(stream).collect)
    missing = "are missing from some or all of their windows"
    kept = "a slack of 7 would have kept those that were late"
    lost = f"5 of 7 rows came too late, or were too far ahead (1 of them), and {missing}"
    assert f"{lost}: {kept}; {REMEDY}" == str(warning)
    assert (7, 4, 1, 5, 7) == (warning.rows, warning.late, warning.early, warning.lost, warning.slack)
    assert [] == warned(counted(stream).late("drop").collect)
    remedy = "say LATE DROP if that is meant, LATE SIDE to get it"
    lost = "1 of 3 rows was too far ahead and is missing from some or all of its windows"
    few = wr.stream(pa.table({"t": [1, 5000, 2]}), time="t", progress=wr.slack(5, lead=100))
    assert [f"{lost}: {remedy}"] == said(counted(few))
    assert ["1 of 3 rows was too far ahead and is missing from the answer"] == said(few.select("t"))


YEAR_9999 = 253_402_300_799


def far_ahead(place: int) -> pa.Table:
    times = [1_700_000_000 + second for second in range(2000)]
    return seconds(*times[:place], YEAR_9999, *times[place:])


@pytest.mark.parametrize("batch_rows", [100, 5000])
def test_the_row_that_moved_progress_is_named(batch_rows: int) -> None:
    stream = wr.stream(far_ahead(1203), time="t", progress=wr.slack("30 s"), name="trades")
    query = stream.window(range="1 min").agg(n=wr.count())
    first, second = sentences(query.plan, query.run(batch_rows=batch_rows).metrics, SQL)
    assert "SLACK" not in first
    assert (
        "row 1,204 of trades (time 9999-12-31 23:59:59) moved progress 7,976 years ahead, "
        "and 797 rows after it came too late; LEAD 1 HOUR would have set it aside"
    ) == second
    (warning,) = warned(lambda: query.collect(batch_rows=batch_rows))
    assert str(warning).endswith("too late; a lead of 1 hour would have set it aside.")
    assert warning.slack is None


def test_with_a_filter_not_all_that_is_behind_is_late() -> None:
    stream = wr.stream(far_ahead(100), time="t", progress=wr.slack("30 s"), name="trades")
    query = stream.where("second(t) > 5").window(range="1 min").agg(n=wr.count())
    assert "1,900 rows after it came too late (or would have, but for filters); LEAD" in said(query)[1]


def test_a_punctuation_that_moved_progress_is_named() -> None:
    elements = [*({"t": t} for t in range(20)), wr.Punctuation(1 << 40), *({"t": t} for t in range(20, 60))]
    stream = wr.stream(elements, time="t", progress=wr.punctuated(), name="s", schema=pa.schema([("t", pa.int64())]))
    named = (
        "the punctuation before row 21 of s (time 1,099,511,627,776) moved progress 1,099,511,627,717 ahead, "
        "and 40 rows after it came too late"
    )
    assert named == said(counted(stream))[1]


def test_a_run_that_is_restored_says_the_same(tmp_path: Path) -> None:
    """What was noted is part of the checkpoint, and whether a policy was chosen is not."""
    data = far_ahead(300)
    query = wr.stream(data, time="t", progress=wr.slack("30 s")).window(range="1 min").agg(n=wr.count())
    whole = query.run(checkpoint=str(tmp_path / "c"), checkpoint_every=500).metrics
    again = query.late("drop").run(checkpoint=str(tmp_path / "c"), restore=True).metrics
    assert whole.sources == again.sources
    assert (1700, 0) == (whole.rows_lost, again.rows_lost)


def test_metrics_keep_it() -> None:
    metrics = counted(ordered()).run().metrics
    assert metrics == Metrics.from_dict(metrics.to_dict())
    stream = wr.stream(far_ahead(100), time="t", progress=wr.slack("30 s"), name="trades")
    metrics = stream.window(range="1 min").agg(n=wr.count()).run().metrics
    assert metrics.sources["trades"].jump is not None
    assert metrics == Metrics.from_dict(metrics.to_dict())
    assert 2 * metrics.rows_lost == metrics.plus(metrics).rows_lost


def test_a_row_somewhat_ahead_is_named_beside_the_slack_that_would_have_kept_the_others() -> None:
    stream = wr.stream(pa.table({"t": [1, 20, 2, 3, 4, 30]}), time="t", progress=wr.ordered())
    (warning,) = warned(lambda: stream.window(range=10).agg(n=wr.count()).collect())
    assert 18 == warning.slack
    assert "a slack of 18 would have kept them" in str(warning)
    assert "Row 2 of stream (time 20) moved progress 19 ahead, and 3 rows after it came too late." in str(warning)
