"""`windrow calibrate` writes constants that can be read again, all of them above zero."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from windrow.cli import main
from windrow.engines.local import calibrating
from windrow.physical.costs import MEASURED, calibrated


def test_constants_are_measured_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(calibrating, "ROWS", 1 << 12)
    monkeypatch.setattr(calibrating, "ROUNDS", 2)
    result = CliRunner().invoke(main, ["calibrate"])
    assert 0 == result.exit_code, result.output
    assert f"written to {tmp_path / 'windrow' / 'costs.json'}" in result.output
    found = calibrated()
    assert found != MEASURED
    assert all(value > 0 for value in asdict(found).values())
