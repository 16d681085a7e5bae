from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner, Result

from windrow import generate
from windrow.cli import main
from windrow.cli.generate import KINDS


def windrow(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["generate", *map(str, arguments)])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_written(kind: str, tmp_path: Path) -> None:
    done = windrow(kind, tmp_path / "out.parquet", "--rows", "100", "--seed", "3")
    assert 0 == done.exit_code, done.output
    expected = getattr(generate, kind)(100, seed=3).table()
    assert expected.schema.names == parquet.read_schema(tmp_path / "out.parquet").names
    assert expected.column(0).to_pylist() == parquet.read_table(tmp_path / "out.parquet").column(0).to_pylist()


def test_every_setting_reaches_the_generator(tmp_path: Path) -> None:
    flags = ["--rows", "1000", "--disorder", "band 3 s", "--keys", "5", "--skew", "zipf 1.2", "--sources", "2"]
    more = ["--rate", "10", "--start", "2024-02-01", "--punctuations", "--every", "5 s"]
    done = windrow("trades", tmp_path / "out.parquet", *flags, *more)
    stream = generate.trades(
        1000,
        disorder="band 3 s",
        keys=5,
        skew="zipf 1.2",
        sources=2,
        rate=10,
        start="2024-02-01",
        punctuations=True,
        every="5 s",
    )
    assert f"1,000 rows of trades in {tmp_path}/out.parquet: {stream.disorder}\n" == done.stderr
    written = parquet.read_table(tmp_path / "out.parquet")
    assert stream.table().to_pylist() == written.to_pylist()


def test_disorder_that_cannot_be_read(tmp_path: Path) -> None:
    done = windrow("trades", tmp_path / "out.parquet", "--disorder", "chaos")
    assert 2 == done.exit_code
    assert "Error: `disorder` must be 'none', 'band DELAY'" == done.stderr[:46]
    assert [] == list(tmp_path.iterdir())


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    assert 2 == windrow("tardes", tmp_path / "out.parquet").exit_code


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--every", "5 s"), "Error: `--every` needs --punctuations.\n"),
        (("--rate", "1e-300"), "Error: `rate` must keep rows within reach, got 1e-300. Hint: give more rows a second"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_settings_that_lead_nowhere(tmp_path: Path, options: tuple[str, str], message: str) -> None:
    done = windrow("trades", tmp_path / "a.csv", "--rows", "10", *options)
    assert 2 == done.exit_code
    assert message in done.stderr
    assert [] == list(tmp_path.iterdir())
