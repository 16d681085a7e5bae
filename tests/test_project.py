"""Promises of the project as a whole: layers, budgets, quick start-up, one version."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import windrow

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src" / "windrow").rglob("*.py"))
HEAVY = ("numba", "pandas", "polars", "duckdb", "sqlglot")


def functions_of(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def run_python(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def loaded_by(code: str) -> list[str]:
    """Which heavy packages a piece of code imports in a fresh interpreter."""
    report = f"import sys; sys.path.insert(0, 'src')\n{code}\nprint(*[n for n in {HEAVY!r} if n in sys.modules])"
    return run_python(report).splitlines()[-1].split()


def test_imports_point_downwards() -> None:
    code = (
        "import sys; sys.path.insert(0, 'src'); from importlinter import cli; sys.exit(cli.lint_imports(no_cache=True))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert 0 == result.returncode, result.stdout


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_keep_their_budget(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    lengths = [(f.name, (f.end_lineno or f.lineno) - f.lineno + 1) for f in functions_of(path)]
    assert [] == [(name, length) for name, length in lengths if length > 40]


def test_a_room_has_few_files() -> None:
    folders = {path.parent for path in [*SOURCES, *(ROOT / "tests").rglob("*.py")]}
    assert [] == [str(folder) for folder in folders if len(list(folder.glob("*.py"))) > 15]


def test_one_name_is_one_class() -> None:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES)
    names = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    assert [] == [name for name, count in names.items() if count > 1 and not name.startswith("_")]


def test_what_names_spark_is_less_than_a_tenth() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    spark = sum(count for path, count in lines.items() if "spark" in path.parts)
    assert spark < 0.1 * (sum(lines.values()) - spark)


def test_importing_windrow_is_light() -> None:
    assert [] == loaded_by("import windrow")


def test_help_is_light() -> None:
    assert [] == loaded_by("from windrow.cli import main\nmain(['--help'], standalone_mode=False)")


def test_version_is_the_one_of_the_package() -> None:
    declared = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert declared is not None
    assert declared[1] == windrow.__version__


def test_changelog_tells_of_the_version() -> None:
    assert f"\n## {windrow.__version__}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_menu_names_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony is not None
    menu = subprocess.run(["make"], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert phony[1].split() == [line.split()[1] for line in menu.splitlines()]
