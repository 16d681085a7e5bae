"""How `make site` turns README, docs and docstrings into a web site, by Sphinx, from the pages as they lie here.

The whole repository is the source folder, so that a link which works there works here. Its README is the home page.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

NAVIGATION: dict[str, list[str]] = {
    "Ideas": [
        "docs/concepts/streams",
        "docs/concepts/windows",
        "docs/concepts/progress",
        "docs/concepts/late-rows",
        "docs/concepts/early-rows",
        "docs/concepts/sessions",
        "docs/concepts/early-results",
        "docs/concepts/ordered-output",
        "docs/concepts/panes",
        "docs/concepts/sharing",
        "docs/concepts/adaptive",
        "docs/concepts/smoothing",
        "docs/concepts/compression",
        "docs/concepts/handshake",
    ],
    "Using it": [
        "docs/python",
        "docs/language",
        "docs/joins",
        "docs/aggregates",
        "docs/command-line",
        "docs/live",
        "docs/udp",
        "docs/kafka",
        "docs/operations",
        "docs/spark",
        "docs/hardware",
        "docs/capabilities",
        "docs/api",
    ],
    "Inside": [
        "docs/architecture",
        "docs/decisions",
        "docs/adding",
        "CONTRIBUTING",
        "docs/papers",
        "benchmarks/README",
        "benchmarks/history/README",
        "CHANGELOG",
    ],
}
"""Chapters and their pages in the order a newcomer reads them. Every page of docs is here: a test sees to it."""

project = "Windrow"
copyright = "the authors of Windrow"
root_doc = "README"
include_patterns = ["README.md", *(f"{page}.md" for pages in NAVIGATION.values() for page in pages)]
exclude_patterns = [".*", "build", "dist", "src", "tests", "examples"]  # not walked through

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
myst_heading_anchors = 4  # as GitHub makes them
suppress_warnings = ["misc.highlighting_failure"]  # Pygments does not know our window clause

default_role = "code"  # docstrings put code between single backticks
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("Length", "Expression", "Policy", "Columns", "Numbers", "Part")}
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "Windrow"
html_copy_source = False
html_show_sphinx = False


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", add_navigation)
    app.connect("autodoc-process-signature", shorten_aliases)
    app.connect("build-finished", add_index)


def add_navigation(_: Any, page: str, source: list[str]) -> None:
    """Put the chapters behind the text of the home page, where readers of the repository do not see them."""
    if page == root_doc:
        source[0] += "".join(map(chapter, NAVIGATION))


def chapter(name: str) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {name}", *NAVIGATION[name], "```", ""])


def shorten_aliases(*event: Any) -> tuple[str | None, ...]:
    """Signatures name the aliases above as they are, where Sphinx shows its own wrapping of them in unions."""
    return tuple(text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in event[-2:])


def add_index(app: Any, failure: Exception | None) -> None:
    """The home page once more, under the name that web servers look for."""
    if failure is None and app.builder.name == "html":
        built = Path(app.outdir)
        shutil.copyfile(built / f"{root_doc}.html", built / "index.html")
