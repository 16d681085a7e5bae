from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from windrow import __version__
from windrow.cli import COMMANDS, main


def test_help_lists_every_command_and_teaches_with_an_example() -> None:
    done = CliRunner().invoke(main, ["--help"])
    assert 0 == done.exit_code
    assert [] == [name for name in COMMANDS if f"\n  {name} " not in done.output]
    assert "windrow generate trades trades.parquet" in done.output


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_explains_itself_with_an_example(name: str) -> None:
    done = CliRunner().invoke(main, [name, "--help"])
    assert 0 == done.exit_code
    assert f"windrow {name}" in done.output


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom windrow.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print([m for m in ('pyarrow', 'numba', 'sqlglot', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]" == done.stdout.splitlines()[-1]


def test_the_version() -> None:
    assert f"windrow, version {__version__}\n" == CliRunner().invoke(main, ["--version"]).output


def test_an_unknown_command() -> None:
    done = CliRunner().invoke(main, ["rnu"])
    assert 2 == done.exit_code
    assert "No such command 'rnu'" in done.output
