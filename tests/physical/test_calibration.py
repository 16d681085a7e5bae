"""Constants of this machine, where they were measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from windrow.errors import ConfigurationError
from windrow.physical.calibration import calibrated, config_file, keep
from windrow.physical.costs import MEASURED


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def test_without_a_file_they_are_the_defaults() -> None:
    assert MEASURED == calibrated()


def test_what_was_kept_is_read(folder: Path) -> None:
    mine = replace(MEASURED, row_to_pane=1.25)
    assert folder / "windrow" / "costs.json" == keep(mine)
    assert mine == calibrated()


@pytest.mark.parametrize("text", ["no JSON", "{}", "[]", '{"row_to_pane": null}'])
def test_a_file_of_something_else_is_refused(text: str) -> None:
    keep(MEASURED)
    config_file().write_text(text)
    with pytest.raises(
        ConfigurationError, match=r"^`costs.json` must be what `windrow calibrate` wrote, got .*costs.json. Hint: "
    ):
        calibrated()
