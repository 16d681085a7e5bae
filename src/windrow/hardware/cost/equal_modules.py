"""Modules of a circuit that are equal: kept once, and counted as often as they are there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

BLOCK = re.compile(r'^(?=attribute \\generator "Amaranth")', re.MULTILINE)
NAME = re.compile(r"^module (\S+)", re.MULTILINE)
CHILD = re.compile(r"^  cell (\\top\.\S+) ", re.MULTILINE)
TOP = "top"


def with_equal_modules_once(text: str) -> str:
    """A circuit in RTLIL as Amaranth writes it, in which modules of the same content are one module.

    Two modules have the same content if they differ only in names of modules, their own and those inside of them.
    """
    head, *blocks = BLOCK.split(text)
    first: dict[str, str] = {}
    stands_for: dict[str, str] = {}
    kept: list[str] = []
    for block in reversed(blocks):  # a module comes before those inside of it
        name = _name(block)
        inside = CHILD.sub(lambda found: f"  cell {stands_for[found[1]]} ", block)
        content = NAME.sub("module", inside, count=1)
        stands_for[name] = first.setdefault(content, name)
        if stands_for[name] == name:
            kept.append(inside)
    return head + "".join(reversed(kept))


def _name(block: str) -> str:
    found = NAME.search(block)
    assert found is not None
    return found[1]


def instances(modules: Mapping[str, Any]) -> Counter[str]:
    """How often each module of a netlist is there in all.

    >>> cells = {"a": {"type": "top.core"}, "b": {"type": "top.core"}, "c": {"type": "LUT6"}}
    >>> core = {"cells": {"q": {"type": "top.core.queue"}}}
    >>> sorted(instances({"top": {"cells": cells}, "top.core": core, "top.core.queue": {"cells": {}}}).items())
    [('top', 1), ('top.core', 2), ('top.core.queue', 2)]
    """
    found: Counter[str] = Counter()

    def visit(name: str, number: int) -> None:
        found[name] += number
        for kind, uses in Counter(_kinds(modules[name])).items():
            if is_own(kind):
                visit(kind, number * uses)

    visit(TOP, 1)
    return found


def is_own(kind: str) -> bool:
    """Whether a cell is a module of the circuit, not one of the chip."""
    return kind.startswith(f"{TOP}.")


def _kinds(module: Mapping[str, Any]) -> Sequence[str]:
    return [cell["type"] for cell in module["cells"].values()]
