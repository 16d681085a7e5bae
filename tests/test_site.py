"""The web site of the docs, without building it: every page has its place, every link and anchor leads somewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import windrow

ROOT = Path(__file__).resolve().parents[1]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
OTHERS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md", "benchmarks/history/README.md"]
PAGES = [*DOCS, *(ROOT / name for name in OTHERS)]

_FENCED = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose_of(text: str) -> str:
    """A page without its fenced blocks, where `#` and brackets mean something else."""
    return _FENCED.sub("", text)


def links_of(text: str) -> list[str]:
    return _LINK.findall(_CODE.sub("", prose_of(text)))


def anchors_of(text: str) -> set[str]:
    """The anchors of the headings of a page, as GitHub and the site make them."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(prose_of(text))}


def leads_nowhere(link: str, page: Path) -> bool:
    target, _, anchor = link.partition("#")
    path = (page.parent / target).resolve() if target else page
    if not path.exists():
        return True
    return bool(anchor) and anchor not in anchors_of(path.read_text(encoding="utf-8"))


def navigation() -> list[str]:
    settings = runpy.run_path(str(ROOT / "docs" / "site" / "conf.py"))
    return [f"{page}.md" for pages in settings["NAVIGATION"].values() for page in pages]


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_and_anchors_lead_somewhere(path: Path) -> None:
    links = links_of(path.read_text(encoding="utf-8"))
    assert [] == [link for link in links if leads_nowhere(link, path)]


def test_links_in_prose_are_found_and_those_in_code_are_not() -> None:
    page = "See [a](b.md#c) and `[x](y)`.\n\n```text\n[no](where)\n```\n\n[d](e.md) [web](https://example.org)\n"
    assert ["b.md#c", "e.md"] == links_of(page)


def test_anchors_are_those_of_github() -> None:
    page = "# When nobody chose\n\n## `windrow run`: what, and how?\n\n```sh\n# no heading\n```\n"
    assert {"when-nobody-chose", "windrow-run-what-and-how"} == anchors_of(page)


def test_links_to_missing_pages_and_anchors_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("# Two\n", encoding="utf-8")
    page = tmp_path / "b.md"
    found = [leads_nowhere(link, page) for link in ("a.md", "a.md#one", "#two", "a.md#two", "c.md", "#one")]
    assert [False, False, False, True, True, True] == found


def test_every_page_is_in_the_navigation_once() -> None:
    listed = ["README.md", *navigation()]
    assert sorted(map(name_of, PAGES)) == sorted(listed)


def test_reference_has_every_public_name() -> None:
    reference = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    names = re.findall(r"^\.\. auto\w+:: windrow\.(\w+)", reference, re.MULTILINE)
    assert sorted(set(windrow.__all__) - {"__version__"}) == sorted(names)


@pytest.mark.parametrize("name", sorted(set(windrow.__all__) - {"__version__"}))
def test_every_public_name_has_a_docstring(name: str) -> None:
    assert getattr(windrow, name).__doc__
