from __future__ import annotations

from click.testing import CliRunner

from windrow.cli import main


def test_it_says_how_long_it_took() -> None:
    done = CliRunner().invoke(main, ["compile"])
    assert 0 == done.exit_code
    assert done.output.startswith("compiled in ")
