"""Options of the format `windrow`: what they mean, and what is said when they are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.engines.spark.connect.format_options import PunctuationRows, read_options
from windrow.errors import WindrowError
from windrow.generate.stream import RecipeSource
from windrow.semantics.scalars.amounts import Domain


@pytest.fixture
def path(tmp_path: Path) -> str:
    columns: dict[str, Any] = {
        "t": pa.array([1], pa.timestamp("us")),
        "n": [1],
        "word": ["a"],
        "u": pa.array([1], pa.uint64()),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    return str(tmp_path / "a.parquet")


def test_names_may_be_in_any_case(path: str) -> None:
    options = read_options({"PATH": path, "batchrows": "1_000", "Rate": "2.5", "partitions": "3"})

    assert (1000, 2.5, 3, None) == (options.batch_rows, options.rate, options.partitions, options.marks)


def test_what_is_left_out_has_a_default(path: str) -> None:
    options = read_options({"path": path})

    assert (100_000, None, 1, None) == (options.batch_rows, options.rate, options.partitions, options.marks)


def test_slack_is_in_units_of_the_time(path: str) -> None:
    assert (
        PunctuationRows("t", Domain.TIME, 30_000_000)
        == read_options({"path": path, "punctuate": "30 s", "time": "t"}).marks
    )
    assert (
        PunctuationRows("n", Domain.INTEGER, 30) == read_options({"path": path, "punctuate": "30", "time": "n"}).marks
    )
    recipe = read_options({"recipe": "TRADES", "rows": "1", "punctuate": "0 s"})
    assert PunctuationRows("time", Domain.TIME, 0) == recipe.marks


def test_a_recipe_has_the_settings_of_its_generator() -> None:
    options = read_options(
        {"recipe": "packets", "rows": "7", "sources": "2", "skew": "zipf 1.2", "start": "2020-01-01"}
    )

    assert isinstance(options.source, RecipeSource)
    stream = options.source.stream
    assert (7, 2, True) == (stream.rows, stream.sources, "source" in stream.schema.names)
    assert "7 generated packets" == options.source.describe()


@pytest.mark.parametrize(
    ("message", "options"),
    [
        (r"`path` or `recipe` must be given, one of the two\. Hint: say \.option", {}),
        (r"`path` or `recipe` must be given, one of the two\.", {"path": "PATH", "recipe": "trades"}),
        (r"`pth` is not an option of the windrow format \(one of path, recipe,", {"path": "PATH", "pth": "a"}),
        (r"`seed` goes only with `recipe`, got 3\. Hint: leave it out\.$", {"path": "PATH", "seed": "3"}),
        (r"`eventRate` goes only with `recipe`, got 3\.", {"path": "PATH", "eventrate": "3"}),
        (r"`path` must be a file, a folder or a glob pattern that exists, got gone", {"path": "gone.csv"}),
        (r"`recipe` must name a generated stream \(one of trades, .*\), got rain\.$", {"recipe": "rain"}),
        (r"`batchRows` must be a whole number from 1 on, got 0\. Hint: write it", {"path": "PATH", "batchRows": "0"}),
        (r"`batchRows` must be a whole number from 1 on, got many\.", {"path": "PATH", "batchrows": "many"}),
        (r"`seed` must be a whole number from 0 on, got -1\.", {"recipe": "bids", "seed": "-1"}),
        (r"`rate` must be a positive number, got 0\. Hint: write it like 5000\.$", {"path": "PATH", "rate": "0"}),
        (r"`rate` must be a positive number, got fast\.", {"path": "PATH", "rate": "fast"}),
        (r"`punctuations` must be true or false, got maybe\. Hint:", {"recipe": "bids", "punctuations": "maybe"}),
        (r"`lulls` must be 'START for DURATION', with commas .*, got 3 s\. Hint:", {"recipe": "bids", "lulls": "3 s"}),
        (r"`disorder` must be 'none', 'band DELAY', ", {"recipe": "bids", "disorder": "much"}),
        (r"`time` goes only with `punctuate`, got t\. Hint: leave it out\.$", {"path": "PATH", "time": "t"}),
        (
            r"`partitions` must be 1 with `punctuate`, because .*, got 2\. Hint: leave one of the two out\.$",
            {"path": "PATH", "partitions": "2", "punctuate": "1 s", "time": "t"},
        ),
        (
            r"`punctuate` cannot be added to data that has a column `punctuation` already, got 1 s\.",
            {"recipe": "bids", "punctuations": "true", "punctuate": "1 s"},
        ),
        (
            r"`time` must name the column of timestamps .* \(one of t, n\), got None\. Hint: say .*'t'\)\.$",
            {"path": "PATH", "punctuate": "1 s"},
        ),
        (
            r"`time` must name the column .* \(one of t, n\), got word\.",
            {"path": "PATH", "punctuate": "1 s", "time": "word"},
        ),
        (r"`time` must name the column .*, got u\.", {"path": "PATH", "punctuate": "1", "time": "u"}),
        (r"`punctuate` needs a time unit because .*, got 30\.", {"path": "PATH", "punctuate": "30", "time": "t"}),
        (r"`punctuate` must not be negative, got -1 s\. Hint", {"path": "PATH", "punctuate": "-1 s", "time": "t"}),
    ],
)
def test_a_wrong_option_is_told(message: str, options: dict[str, str], path: str) -> None:
    with pytest.raises(WindrowError, match="^" + message):
        read_options({name: path if value == "PATH" else value for name, value in options.items()})
