"""Query, logical plan, physical plan: for the queries of the papers and one for each way of executing.

Each file in `golden/physical` has the query and both plans. A query of our own stands in a `.sql` file beside it;
`-- how:` says how it is executed. What a change of a rule does to plans is seen by writing the files anew:

    WINDROW_WRITE_GOLDEN=1 python -m pytest tests/physical/test_golden.py && git diff tests/golden/physical
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.physical.plan_text import logical_text, physical_text
from windrow.language import parse
from windrow.physical import nodes
from windrow.physical.division.join_routing import Divided
from windrow.physical.how import Flush, How, When
from windrow.physical.make import make
from windrow.physical.nodes import each

GOLDEN = Path(__file__).parents[1] / "golden"
QUERIES = sorted([*(GOLDEN / "papers").glob("*.sql"), *(GOLDEN / "physical").glob("*.sql")], key=lambda path: path.stem)


def how_of(text: str) -> How:
    found = re.search(r"^-- how: (.*)$", text, re.MULTILINE)
    asked = dict(word.partition("=")[::2] for word in found[1].split()) if found else {}
    return How(
        threads=int(asked.get("threads", 1)),
        shards=int(asked.get("threads", 1)),
        trial="trial" in asked,
        flush=Flush(When(asked.get("flush", "eager"))),
        divided="divided" in asked,
    )


def plans_of(text: str) -> tuple[str, nodes.Plans]:
    asked = parse(text).queries
    return "\n".join(map(logical_text, asked)), make(asked, how_of(text))


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_plans(path: Path) -> None:
    text = path.read_text()
    logical, made = plans_of(text)
    found = f"{text.strip()}\n\nlogical\n\n{logical}\n\nphysical\n\n{physical_text(made)}\n"
    expected = GOLDEN / "physical" / f"{path.stem}.txt"
    if os.environ.get("WINDROW_WRITE_GOLDEN"):
        expected.write_text(found)
    assert expected.read_text() == found


def test_every_way_of_executing_is_among_them() -> None:
    made = {type(node) for path in QUERIES for node in each(plans_of(path.read_text())[1])}
    known = [*vars(nodes).values(), Divided]
    kinds = {kind for kind in known if isinstance(kind, type) and issubclass(kind, nodes.Physical)}
    within = {kind for kind in kinds if any(issubclass(other, kind) and other is not kind for other in kinds)}
    assert kinds - within - {nodes.Undecided} == made


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in QUERIES} == {path.stem for path in (GOLDEN / "physical").glob("*.txt")}
