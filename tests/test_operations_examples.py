"""The page for operators and its examples: they speak of what there is."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from windrow.cli.run import command
from windrow.operations import board, measures
from windrow.operations.process import of_process

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "operations"
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def known() -> Iterator[tuple[str, str, str]]:
    """Every metric: name as it is scraped, type, meaning."""
    for family in of_process("local", 1.0):
        yield family.name + family.kind.suffix, family.kind.value, family.help
    for name, kind, _, meaning in board.STATE:
        yield name + kind.suffix, kind.value, meaning
    yield from measures.names_of(list(measures.MEASURES.values()), measures.PREFIX)
    own = [*measures.SOURCE_MEASURES.values(), measures.LAG, measures.HOLDS_BACK]
    yield from measures.names_of(own, measures.SOURCE_PREFIX)


def test_the_page_has_every_metric() -> None:
    expected = [f"| `{name}` | {kind} | {meaning} |" for name, kind, meaning in known()]
    assert expected == re.findall(r"^\| `(?:windrow|process)_.*$", PAGE, re.MULTILINE), "\n".join(expected)


def test_metrics_that_are_named_exist() -> None:
    names = {name for name, _, _ in known()} | {"windrow_watermark_low", "windrow_source_low", "windrow_rows_in"}
    for text in (PAGE, (EXAMPLES / "alerts.yml").read_text(encoding="utf-8")):
        assert set() == set(re.findall(r"\b(?:windrow|process)_[a-z_]+[a-z]\b", text)) - names


def flags_of(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


@pytest.mark.parametrize("name", ["windrow@.service", "Containerfile"])
def test_flags_of_the_examples_exist(name: str) -> None:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    used = re.split(r"\n\n|\nFROM", text[text.index("\nExecStart" if "ExecStart" in text else "run /query.sql") :])[0]
    options = {flag for one in command.params if isinstance(one, click.Option) for flag in one.opts}
    assert flags_of(used) >= {"--checkpoint", "--restore", "--restart", "--metrics-port", "--log", "--stop-within"}
    assert flags_of(used) <= options


def test_rules_and_scrapes_are_yaml() -> None:
    yaml: Any = pytest.importorskip("yaml")
    rules: Any = yaml.safe_load((EXAMPLES / "alerts.yml").read_text(encoding="utf-8"))
    found = [rule for group in rules["groups"] for rule in group["rules"]]
    assert len(found) >= 5
    assert all({"alert", "expr", "labels", "annotations"} <= set(rule) for rule in found)
    scraped: Any = yaml.safe_load((EXAMPLES / "prometheus.yml").read_text(encoding="utf-8"))
    assert ["alerts.yml"] == scraped["rule_files"]


def test_the_unit_ends_later_than_the_run() -> None:
    """systemd kills only what has not ended within the time that it gives itself."""
    unit = (EXAMPLES / "windrow@.service").read_text(encoding="utf-8")
    within = re.search(r'--stop-within "(\d+) s"', unit)
    stop = re.search(r"^TimeoutStopSec=(\d+)s$", unit, re.MULTILINE)
    assert within is not None
    assert stop is not None
    assert int(within[1]) < int(stop[1])
    assert "\nSuccessExitStatus=143\n" in unit


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = (EXAMPLES / "windrow@.service").read_text(encoding="utf-8")
    (tmp_path / "windrow@.service").write_text(unit.replace("/opt/windrow/bin/windrow", "/bin/true"), encoding="utf-8")
    checked = [shutil.which("systemd-analyze") or "", "verify", str(tmp_path / "windrow@trades.service")]
    done = subprocess.run(checked, capture_output=True, text=True, check=False)
    assert (0, "") == (done.returncode, "\n".join(line for line in done.stderr.splitlines() if "windrow" in line))
