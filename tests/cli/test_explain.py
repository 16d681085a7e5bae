from __future__ import annotations

from click.testing import CliRunner

from windrow.cli import main

DECLARED = "CREATE STREAM trades (symbol STRING, price INT, time TIMESTAMP) PROGRESS ON time SLACK 60 SECONDS;"
SELECT = "SELECT symbol, count(*) AS number FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE WATTR time] GROUP BY symbol;"


def test_every_query_is_explained_without_data() -> None:
    done = CliRunner().invoke(main, ["explain", "-"], input=DECLARED + SELECT + "SELECT symbol, time FROM trades")
    assert 0 == done.exit_code, done.output
    first, second, shared = done.stdout.split("\n\n")
    assert ["Query 1", "WindowAggregate"] == first.splitlines()[:2]
    assert ["Query 2", "Project symbol, time"] == second.splitlines()[:2]
    assert ["Shared", "- queries 1 and 2 read trades once"] == shared.splitlines()[:2]
    assert "RANGE 10 min SLIDE 1 min on time, each row in up to 10 windows" in first


def test_spark_has_a_section_of_its_own() -> None:
    done = CliRunner().invoke(main, ["explain", "-e", DECLARED + SELECT, "--engine", "spark"])
    assert 0 == done.exit_code, done.output
    first, second = done.stdout.split("\n\n")
    assert ["WindowAggregate", "On Spark"] == [first.splitlines()[0], second.splitlines()[0]]
    assert "shards     one for each of spark.sql.shuffle.partitions; rows are routed by symbol" in second


def test_how_rows_are_to_be_kept_is_shown() -> None:
    done = CliRunner().invoke(main, ["explain", "-e", DECLARED + SELECT, "--compress", "blocks"])
    assert 0 == done.exit_code, done.output
    assert "│  compress  blocks: kept rows are held in compressed blocks" in done.stdout


def test_a_mistake_ends_with_code_2() -> None:
    done = CliRunner().invoke(main, ["explain", "-e", DECLARED])
    assert (2, "Error: `FILE` must hold a query, got TEXT. Hint: add a SELECT after the declarations.\n") == (
        done.exit_code,
        done.stderr,
    )
