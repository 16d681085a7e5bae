"""Every snippet of README and docs runs, page by page from top to bottom, and prints what the page says it prints."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from windrow.errors import LateRowsWarning

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

_FENCE = re.compile(r"^```(\w+) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the note after it, its text and its line in the page."""

    language: str
    note: str
    text: str
    line: int

    @property
    def is_output(self) -> bool:
        """What the block before prints; a `text` block with a note is a drawing or a grammar."""
        return self.language == "text" and not self.note

    @property
    def needs_spark(self) -> bool:
        """Whether running it starts Spark, unless it is running."""
        if self.language == "sh":
            return any("windrow run " in line and "--engine" not in line for line in self.text.splitlines())
        return self.language == "python" and "spark" in self.text


def blocks_of(page: str) -> list[Block]:
    return [Block(m[1], m[2], m[3], page.count("\n", 0, m.start()) + 1) for m in _FENCE.finditer(page)]


@dataclass
class Reader:
    """Someone who reads a page from top to bottom and tries everything."""

    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    declarations: list[str] = field(default_factory=list)

    def run(self, block: Block) -> str:
        """What the block prints."""
        runners = {"python": self.run_python, "sql": self.run_sql, "sh": self.run_shell, "csv": self.save}
        runner = runners.get(block.language)
        if runner is None:
            assert block.language == "text", f"line {block.line}: nobody runs {block.language} blocks"
            return ""
        return runner(block)

    def save(self, block: Block) -> str:
        Path(block.note).write_text(block.text, encoding="utf-8")
        return ""

    def run_python(self, block: Block) -> str:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), warnings.catch_warnings():
            warnings.simplefilter("error", LateRowsWarning)  # a page that has late rows says what becomes of them
            exec(compile(block.text, f"line {block.line}", "exec"), self.names)
        return output.getvalue()

    def run_sql(self, block: Block) -> str:
        if block.note.startswith("file="):
            return self.save(Block("sql", block.note.removeprefix("file="), block.text, block.line))
        if "SELECT" not in block.text:
            self.declarations.append(block.text)
            return ""
        # What a page says about the language holds on every engine; this one starts at once.
        return windrow("run", "--engine", "local", "--execute", "".join([*self.declarations, block.text]))

    def run_shell(self, block: Block) -> str:
        commands = [shlex.split(line) for line in block.text.splitlines()]
        assert all(command[0] == "windrow" for command in commands), (
            f"line {block.line}: only windrow commands run here"
        )
        return "".join(windrow(*command[1:]) for command in commands)


def windrow(*arguments: str) -> str:
    """What the command prints to standard output; it must succeed."""
    from windrow.cli import main

    result = CliRunner().invoke(main, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "warning:" not in result.stderr
    return result.stdout


def trimmed(text: str) -> str:
    """Without blanks at line ends, which nobody sees on a page."""
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def on_spark(path: Path, needed: bool) -> Any:
    """A page or an example, which asks for the one session of all tests where it needs Spark."""
    return pytest.param(path, id=name_of(path), marks=pytest.mark.on_spark if needed else ())


def needs_spark(page: Path) -> bool:
    return any(block.needs_spark for block in blocks_of(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", [on_spark(page, needs_spark(page)) for page in PAGES])
def test_page_prints_what_it_says(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader, printed = Reader(), ""
    for block in blocks_of(path.read_text(encoding="utf-8")):
        if block.is_output:
            assert block.text == trimmed(printed), f"line {block.line}"
            assert block.text, f"line {block.line}: an empty output says nothing"
        printed = reader.run(block)


@pytest.mark.parametrize("path", [on_spark(path, "spark" in path.read_text(encoding="utf-8")) for path in EXAMPLES])
def test_example_prints_its_closing_comment(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    code, comment = path.read_text(encoding="utf-8").split("\n# It prints:\n")
    expected = "".join(line.removeprefix("#").removeprefix(" ") + "\n" for line in comment.splitlines())
    with warnings.catch_warnings():
        warnings.simplefilter("error", LateRowsWarning)
        exec(compile(code, str(path), "exec"), {"__name__": "__main__"})
    assert expected == trimmed(capsys.readouterr().out)


@pytest.mark.usefixtures("spark")
def test_trades_example_counts_as_duckdb_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    monkeypatch.chdir(tmp_path)
    database = duckdb.connect()
    Path("build/demo").mkdir(parents=True)
    windrow(
        "generate",
        "trades",
        "build/demo/trades.parquet",
        "--rows",
        "20000",
        "--rate",
        "20",
        "--seed",
        "1",
        "--disorder",
        "band 30 s",
    )
    windrow("run", str(ROOT / "examples" / "trades.sql"), "--output", "answer.parquet")
    expected = database.execute(
        """WITH ends AS (
             SELECT symbol, volume,
                    unnest(range((epoch_us(time) // 60000000 + 1), (epoch_us(time) // 60000000 + 11))) AS k
             FROM 'build/demo/trades.parquet' WHERE symbol = 'UBSN')
           SELECT symbol, k * 60000000 AS e, count(*) AS number, sum(volume) AS volume
           FROM ends GROUP BY symbol, k ORDER BY k"""
    ).fetchall()
    actual = database.execute(
        "SELECT symbol, epoch_us(window_end), number, volume FROM 'answer.parquet' ORDER BY window_end"
    ).fetchall()
    assert len(expected) > 10
    assert expected == actual
