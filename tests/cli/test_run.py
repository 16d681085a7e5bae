from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner, Result

import windrow as wr
from tests.fake_engine import FakeEngine, Options
from tests.fake_engine import engine as engine
from windrow.cli import main
from windrow.errors import ConfigurationError, DataError
from windrow.plan.compression import Compression, CompressionMode
from windrow.plan.nodes import JoinStrategy, Late, Strategy, WindowAggregate, walk

TABLE = pa.table({"symbol": ["a", "b", "c"], "time": pa.array([0, 1_000_000, 500_000], pa.timestamp("us", tz="UTC"))})
ACCOUNT = "rows in 10 = used 7 + late 1 + filtered 2; 3 results in 0.50 s (20 rows/s)\n"
WINDOW = "SELECT symbol, count(*) AS number FROM trades [RANGE 1 MINUTE WATTR time] GROUP BY symbol"


@pytest.fixture
def declared(tmp_path: Path) -> str:
    parquet.write_table(TABLE, tmp_path / "trades.parquet")
    return f"CREATE STREAM trades FROM '{tmp_path}/trades.parquet' PROGRESS ON time; "


def windrow(*arguments: str | Path, text: str | None = None) -> Result:
    return CliRunner().invoke(main, ["run", "--engine", "local", *map(str, arguments)], input=text)


def test_the_answer_goes_to_stdout_and_the_account_to_stderr(engine: FakeEngine, declared: str) -> None:
    done = windrow("-e", declared + "SELECT symbol, time FROM trades")
    assert 0 == done.exit_code, done.output
    assert ["symbol", "a", "b", "c"] == [line.split()[0] for line in done.stdout.splitlines() if line[0] != "-"]
    assert ACCOUNT == done.stderr


def test_sql_comes_from_a_file_or_from_stdin(engine: FakeEngine, declared: str, tmp_path: Path) -> None:
    (tmp_path / "query.sql").write_text(declared + "SELECT symbol, time FROM trades")
    from_file = windrow(tmp_path / "query.sql")
    from_stdin = windrow("-", text=declared + "SELECT symbol, time FROM trades")
    assert from_file.stdout == from_stdin.stdout
    assert "symbol" in from_file.stdout


def test_an_output_file_has_the_columns_of_the_answer(engine: FakeEngine, declared: str, tmp_path: Path) -> None:
    done = windrow("-e", declared + "SELECT time, symbol FROM trades", "--output", tmp_path / "answer.parquet")
    assert ("", ACCOUNT) == (done.stdout, done.stderr)
    assert ["time", "symbol"] == parquet.read_table(tmp_path / "answer.parquet").column_names


def test_a_limit_shows_fewer_rows(engine: FakeEngine, declared: str) -> None:
    done = windrow("-e", declared + "SELECT symbol, time FROM trades", "--limit", "1")
    assert "... 2 more rows" == done.stdout.splitlines()[-1]


def test_settings_reach_the_plan_and_the_engine(engine: FakeEngine, declared: str, tmp_path: Path) -> None:
    engine.error = DataError("is broken", parameter="source")
    flags: list[str | Path] = ["--strategy", "wid", "--late", tmp_path / "late.parquet", "--threads", "2"]
    windrow("-e", declared + WINDOW, *flags, "--checkpoint", tmp_path / "state", "--every", "1000", "--restore")
    assert (Strategy.WID, Late.SIDE) == (engine.plans[0].strategy, engine.plans[0].late)
    assert [Options(2, checkpoint=str(tmp_path / "state"), checkpoint_every=1000, restore=True)] == engine.asked


def test_settings_reach_a_join(engine: FakeEngine, declared: str, tmp_path: Path) -> None:
    join = "SELECT * FROM trades AS a JOIN trades AS b [RANGE TUMBLING 1 MINUTE] ON a.symbol = b.symbol"
    windrow("-e", declared + join, "--strategy", "scan", "--late", tmp_path / "late.parquet")
    windrow("-e", declared + join + " LATE SIDE", "--strategy", "auto", "--late", tmp_path / "late.parquet")
    assert [(JoinStrategy.SCAN, Late.SIDE), (JoinStrategy.AUTO, Late.SIDE)] == [
        (p.strategy, p.late) for p in engine.plans
    ]


def test_a_mode_reaches_all_that_keeps_rows(engine: FakeEngine, declared: str) -> None:
    inner = f"({WINDOW} COMPRESS blocks) [RANGE 1 HOUR]"
    windrow("-e", f"{declared} SELECT sum(number) AS n FROM {inner} COMPRESS number WITHIN 1")
    windrow("-e", f"{declared} SELECT sum(number) AS n FROM {inner} COMPRESS number WITHIN 1", "--compress", "off")
    found = [[n.compression for n in walk(p) if isinstance(n, WindowAggregate)] for p in engine.plans]
    auto, off, blocks = CompressionMode.AUTO, CompressionMode.OFF, CompressionMode.BLOCKS
    bound = (("number", 1.0),)
    assert [[Compression(auto, bound), Compression(blocks)], [Compression(off, bound), Compression(off)]] == found


def test_a_strategy_of_windows_is_not_one_of_joins(engine: FakeEngine, declared: str) -> None:
    join = "SELECT * FROM trades AS a JOIN trades AS b [RANGE TUMBLING 1 MINUTE] ON a.symbol = b.symbol"
    done = windrow("-e", declared + join, "--strategy", "wid")
    assert 2 == done.exit_code
    assert done.stderr.startswith("Error: `strategy` belongs to a window, and this is a join, got wid.")


def test_the_query_decides_about_late_rows_where_it_says_so(engine: FakeEngine, declared: str, tmp_path: Path) -> None:
    windrow("-e", declared + WINDOW + " LATE REVISE", "--late", tmp_path / "late.parquet")
    assert Late.REVISE is engine.plans[0].late


def test_a_stream_is_read_from_elsewhere(engine: FakeEngine, declared: str, tmp_path: Path) -> None:
    parquet.write_table(TABLE.slice(0, 1), tmp_path / "other.parquet")
    done = windrow("-e", declared + "SELECT symbol, time FROM trades", "--set", f"trades={tmp_path}/other.parquet")
    assert 3 == len(done.stdout.splitlines())


def test_the_day_on_which_weeks_begin_is_told_once(engine: FakeEngine, declared: str) -> None:
    week = "SELECT count(*) AS number FROM trades [RANGE 1 WEEK WATTR time {}];"
    note = (
        "SLIDE 1 w counts weeks from Thursday, 1970-01-01: say ORIGIN DATE '1970-01-05' to have them begin on Monday."
    )
    asked = windrow("-e", declared + 2 * week.format(""))
    assert [note] == [line for line in asked.stderr.splitlines() if "week" in line]
    assert note not in windrow("-e", declared + week.format("ORIGIN DATE '1970-01-05'")).stderr


def test_metrics_are_written_as_json(engine: FakeEngine, declared: str, tmp_path: Path) -> None:
    query = "SELECT symbol, time FROM trades"
    windrow("-e", declared + query, "--metrics", tmp_path / "one.json")
    windrow("-e", declared + query + ";" + query, "--metrics", tmp_path / "two.json")
    assert 10 == json.loads((tmp_path / "one.json").read_text())["rows_in"]
    assert [10, 10] == [metrics["rows_in"] for metrics in json.loads((tmp_path / "two.json").read_text())]


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("`FILE` must be given, or -e TEXT instead, got neither. Hint: windrow run query.sql.", []),
        ("`FILE` must be given, or -e TEXT instead, got both. Hint: windrow run query.sql.", ["a.sql", "-e", "SELECT"]),
        (
            "`FILE` cannot be read (No such file or directory), got nowhere.sql. Hint: give a SQL file, - or -e TEXT.",
            ["nowhere.sql"],
        ),
        (
            "`FILE` must hold a query, got TEXT. Hint: add a SELECT after the declarations.",
            ["-e", "CREATE STREAM s (t TIMESTAMP) PROGRESS ON t"],
        ),
        ("`--set` must be NAME=PATH, got trades.", ["-e", "SELECT 1", "--set", "trades"]),
        (
            "`--set` must name each stream once, got s 2 times. "
            "Hint: one stream of several files has a pattern or a folder: --set 's=*.parquet'.",
            ["-e", "SELECT t FROM s", "--set", "s=a.csv", "--set", "s=b.csv"],
        ),
        (
            "`trads` is not a stream of the text, so the data given for it would not be read. "
            "Hint: did you mean trades? The streams of the text are trades.",
            ["-e", "SELECT time FROM trades", "--set", "trads=nowhere.parquet"],
        ),
        ("`--every` needs --checkpoint DIR.", ["-e", "SELECT 1", "--every", "5"]),
        ("`--restore` needs --checkpoint DIR.", ["-e", "SELECT 1", "--restore"]),
        ("`--flush-rows` needs --flush slow or --flush lazy.", ["-e", "SELECT 1", "--flush-rows", "5"]),
        (
            "`--limit` is for the terminal. Hint: leave out --limit or --output.",
            ["-e", "SELECT 1", "--limit", "5", "--output", "x.csv"],
        ),
    ],
)
def test_mistakes_end_with_code_2_and_one_message(engine: FakeEngine, message: str, arguments: list[str]) -> None:
    done = windrow(*arguments)
    assert (2, f"Error: {message}\n") == (done.exit_code, done.stderr)


@pytest.mark.parametrize(
    ("engine_name", "flag", "other"),
    [
        ("spark", ["--threads", "2"], "local"),
        ("local", ["--shards", "2"], "spark"),
        ("local", ["--json-lines", "x"], "spark"),
    ],
)
def test_an_option_of_the_other_engine_is_refused(engine_name: str, flag: list[str], other: str, declared: str) -> None:
    done = windrow("-e", declared + "SELECT symbol, time FROM trades", "--engine", engine_name, *flag)
    assert 2 == done.exit_code
    hint = f"Hint: leave it out, or say --engine {other}."
    assert f"Error: `{flag[0]}` is for the {other} engine. {hint}\n" == done.stderr


def test_a_mistake_in_the_text_is_shown_in_its_place(engine: FakeEngine, declared: str) -> None:
    done = windrow("-e", "SELECT symbl FROM trades", "--set", "trades=nowhere.parquet")
    assert 2 == done.exit_code
    done = windrow("-e", declared + "\nSELECT symbl, time FROM trades")
    assert 2 == done.exit_code
    assert ["Error: ", "line 2, column 8:", "  SELECT symbl, time FROM trades", "         ^^^^^"] == [
        done.stderr[:7],
        *done.stderr.splitlines()[-3:],
    ]


def test_several_queries_are_shown_in_their_order(declared: str, tmp_path: Path) -> None:
    text = f"{declared}{WINDOW}; SELECT time, symbol FROM trades WHERE symbol <> 'b';"
    done = windrow("-e", text, "--metrics", tmp_path / "metrics.json")
    assert 0 == done.exit_code, done.output
    heads = [line.split()[:2] for line in done.stdout.splitlines() if "symbol" in line]
    assert [["symbol", "window_start"], ["time", "symbol"]] == heads
    assert ["filtered 0", "filtered 1"] == re.findall(r"filtered \d", done.stderr)
    assert [3, 2] == [told["results"] for told in json.loads((tmp_path / "metrics.json").read_text())]


def test_files_are_not_shared_by_several_queries(engine: FakeEngine, declared: str, tmp_path: Path) -> None:
    query = "SELECT symbol, time FROM trades;"
    done = windrow("-e", declared + query + query, "--output", tmp_path / "answer.parquet")
    message = "Error: `--output` takes one query, got 2 of them. Hint: put each in its own file.\n"
    assert (2, message) == (done.exit_code, done.stderr)


def test_metrics_that_cannot_be_written(engine: FakeEngine, declared: str, tmp_path: Path) -> None:
    done = windrow("-e", declared + "SELECT symbol, time FROM trades", "--metrics", tmp_path / "no" / "m.json")
    assert 2 == done.exit_code
    expected = (
        f"Error: `--metrics` must be a file that can be written (no such file or directory), got {tmp_path}/no/m.json. "
        "Hint: name a file in a folder that exists and that you may write to.\n"
    )
    assert expected == done.stderr  # before the run


def test_metrics_leave_no_file_of_a_run_that_failed(tmp_path: Path) -> None:
    done = windrow("-e", "SELECT 1 FROM nowhere", "--metrics", tmp_path / "m.json")
    assert (2, []) == (done.exit_code, list(tmp_path.iterdir()))


def test_metrics_on_standard_output(engine: FakeEngine, declared: str) -> None:
    done = windrow("-e", declared + "SELECT symbol, time FROM trades", "--metrics", "-")
    assert 10 == json.loads(done.stdout[done.stdout.index("{") :])["rows_in"]


@pytest.mark.parametrize("flag", ["--checkpoint", "--metrics", "--json-lines"])
@pytest.mark.parametrize("address", ["s3a://bucket/place", "file:/tmp/place", "foo:bar"])
def test_what_windrow_writes_itself_is_on_this_machine(
    engine: FakeEngine, flag: str, address: str, declared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = windrow("-e", declared + "SELECT symbol, time FROM trades", "--engine", "spark", flag, address)
    message = (
        f"Error: `{flag}` must be a path on this machine, got {address}. "
        "Hint: name a folder or file of this machine, mounted if it is a store; before a name with a colon, "
        "write ./.\n"
    )
    assert (2, message) == (done.exit_code, done.stderr)
    assert not any(tmp_path.glob("*:*"))


def test_late_rows_to_an_address_are_refused_by_their_flag(declared: str) -> None:
    query = "SELECT count(*) AS number FROM trades [RANGE 1 SECOND WATTR time]"
    done = windrow("-e", declared + query, "--late", "s3://bucket/late.csv")
    assert (2, "Error: `late` must be a path on this machine, got s3://bucket/late.csv.") == (
        done.exit_code,
        done.stderr.partition(" Hint")[0],
    )


def test_the_folder_of_somebody_unknown_is_a_path_like_any_other(declared: str) -> None:
    done = windrow("-e", declared + "SELECT symbol, time FROM trades", "--output", "~nobody-1/a.csv")
    assert 2 == done.exit_code
    assert done.stderr.startswith("Error: `output` must be a file that can be written (no such file or directory)")


def test_sql_that_is_no_text(engine: FakeEngine, tmp_path: Path) -> None:
    (tmp_path / "query.sql").write_bytes(b"\xff\xfe\x00")
    done = windrow(tmp_path / "query.sql")
    expected = (
        f"`FILE` cannot be read (it is not UTF-8 text), got {tmp_path}/query.sql. Hint: give a SQL file, - or -e TEXT."
    )
    assert (2, f"Error: {expected}\n") == (done.exit_code, done.stderr)


@pytest.mark.parametrize("flags", [[], ["--flush", "lazy", "--flush-rows", "1", "--flush-windows", "1"]])
def test_an_answer_from_the_local_engine(flags: list[str], declared: str) -> None:
    done = windrow("-e", declared + "SELECT count(*) AS number FROM trades [RANGE 1 SECOND WATTR time]", *flags)
    assert 0 == done.exit_code, done.output
    assert ["2", "1"] == [line.split()[-1] for line in done.stdout.splitlines()[2:]]
    assert "rows in 3 = used 3 + late 0 + filtered 0; 2 results in " in done.stderr  # behind progress, where slow


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("s3://bucket/trades.parquet", "Spark reads it: say --engine spark"),
        ("table:trades", "Spark reads it: say --engine spark"),
    ],
)
def test_in_process_an_address_is_refused_without_starting_spark(
    address: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windrow.engines.spark.connect.frame_sources.embedded", None)
    text = f"CREATE STREAM s FROM '{address}' PROGRESS ON t; SELECT t FROM s"
    done = windrow("-e", text)
    message = f"Error: `s` must be a path on this machine in process, got {address}. Hint: {hint}."
    assert (2, message) == (done.exit_code, done.stderr.splitlines()[0])
    done = windrow("-e", "CREATE STREAM s FROM 'a.csv' PROGRESS ON t; SELECT t FROM s", "--set", f"s={address}")
    assert (2, message) == (done.exit_code, done.stderr.splitlines()[0])


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize("address", ["https://host/trades.csv", "foo:bar"])
def test_a_scheme_that_nobody_knows_is_refused_without_starting_anything(
    address: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windrow.engines.spark.connect.frame_sources.embedded", None)
    monkeypatch.setattr("windrow.sources.files.paths.Path", None)
    done = windrow("-e", f"CREATE STREAM s FROM '{address}' PROGRESS ON t; SELECT t FROM s", "--engine", engine)
    told = "Error: `s` must be a path, or an address with a scheme that is known (one of abfs, abfss, console, "
    assert (2, told) == (done.exit_code, done.stderr[: len(told)])
    assert f"table, tcp, udp, viewfs, wasb, wasbs), got {address}." in done.stderr


def test_an_address_that_can_only_be_written_is_refused_before_spark_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.engines.spark.connect.frame_sources.embedded", None)
    with pytest.raises(ConfigurationError, match=r"\A`source` can only be written to"):
        wr.stream("console:", time="t")


LATE = pa.table({"t": [10, 3, 5, 50, 44, 45]})
LOST = (
    "4 of 6 rows came too late and are missing from some or all of their windows: SLACK 7 would have kept them; "
    "say LATE DROP if that is meant, LATE SIDE to get them or LATE REVISE to correct their windows"
)


@pytest.fixture
def disordered(tmp_path: Path) -> str:
    parquet.write_table(LATE, tmp_path / "s.parquet")
    return f"CREATE STREAM s FROM '{tmp_path}/s.parquet' PROGRESS ON t ORDERED; "


def test_late_rows_that_nobody_chose_to_lose_stand_in_the_last_line(disordered: str, tmp_path: Path) -> None:
    query = disordered + "SELECT count(*) FROM s [RANGE 4 SLIDE 2 WATTR t]"
    done = windrow("-e", query)
    assert (0, f"warning: {LOST}") == (done.exit_code, done.stderr.splitlines()[-1])
    for chosen in ([query + " LATE DROP"], [query + " LATE SIDE"], [query, "--late", tmp_path / "late.csv"]):
        assert "warning" not in windrow("-e", *chosen).stderr
    several = windrow("-e", f"{query} LATE DROP; SELECT count(*) FROM s [RANGE 4 SLIDE 2 WATTR t];")
    assert f"warning: query 2: {LOST}" == several.stderr.splitlines()[-1]
    coloured = CliRunner().invoke(main, ["run", "--engine", "local", "-e", query], color=True)
    assert f"\x1b[33m\x1b[1mwarning: {LOST}\x1b[0m" == coloured.stderr.splitlines()[-1]


def test_the_row_that_moved_progress_stands_in_the_last_line(tmp_path: Path) -> None:
    times = [1_700_000_000 + second for second in range(200)]
    data = pa.table({"time": pa.array([*times[:100], 253_402_300_799, *times[100:]], pa.timestamp("s"))})
    parquet.write_table(data, tmp_path / "trades.parquet")
    stream = f"CREATE STREAM trades FROM '{tmp_path}/trades.parquet' PROGRESS ON time SLACK 30 SECONDS; "
    done = windrow("-e", stream + "SELECT count(*) FROM trades [RANGE 1 MINUTE WATTR time]")
    assert (
        "warning: row 101 of trades (time 9999-12-31 23:59:59) moved progress 7,976 years ahead, "
        "and 100 rows after it came too late; LEAD 1 HOUR would have set it aside"
    ) == done.stderr.splitlines()[-1]


@pytest.mark.parametrize("flag", ["--output", "--late", "--metrics", "--checkpoint", "--strategy"])
def test_an_option_that_is_empty_is_refused(declared: str, flag: str) -> None:
    done = windrow("-e", declared + WINDOW, flag, "")
    assert 2 == done.exit_code
    hint = "leave the option out, or see to the variable that was to fill it"
    assert f"Error: `{flag}` must not be empty. Hint: {hint}.\n" == done.stderr
