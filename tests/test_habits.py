"""The workflow, the hooks and the package speak of the same Pythons and the same commands as the Makefile."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_workflow_tests_every_python_of_the_package() -> None:
    declared = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text_of("pyproject.toml"))
    matrix = re.search(r"^ +python: \[(.+)\]$", text_of(".github/workflows/check.yml"), re.MULTILINE)
    assert matrix is not None
    assert declared == re.findall(r'"(.+?)"', matrix[1])
    assert f'requires-python = ">={declared[0]}"' in text_of("pyproject.toml")


def test_the_workflow_runs_targets_of_the_makefile_only() -> None:
    commands = re.findall(r"^ +- run: (.+)$", text_of(".github/workflows/check.yml"), re.MULTILINE)
    assert ["make lint", "make test", "make site"] == commands
    assert "run: |" not in text_of(".github/workflows/check.yml")


def test_the_hooks_run_what_lint_runs() -> None:
    recipe = text_of("Makefile").split("\nlint:")[1].split("\n\n")[0]
    name = r"(\S+(?: (?:check|format)\b)?)"
    linted = re.findall(rf"^\t\$\(BIN\)/{name}", recipe, re.MULTILINE)
    hooked = re.findall(
        r"^ +entry: \.venv/bin/(\S+(?: (?:check|format)\b)?)", text_of(".pre-commit-config.yaml"), re.MULTILINE
    )
    assert linted == hooked
