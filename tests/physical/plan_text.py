"""Plans as plain text, a line a node, for comparing them: every field that differs from its default is printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import Any

import pyarrow as pa

from windrow.physical.nodes import Physical, Plans
from windrow.plan.nodes import Node, Stream, inputs_of

_BELOW = frozenset({"input", "inputs", "left", "right"})
_DECIDED = frozenset({"asked", "inputs", "reasons", "exchanges"})


def logical_text(plan: Node) -> str:
    return "\n".join(_logical(plan))


def physical_text(plans: Plans) -> str:
    """Physical plans with their reasons, top down; what is shared is printed once, and then named by its number."""
    shared = _Shared(plans)
    return "\n".join(line for plan in plans for line in shared.lines(plan))


def _logical(node: Node) -> Iterator[str]:
    yield f"{type(node).__name__}{_fields(node, _BELOW)}"
    for child in inputs_of(node):
        yield from (f"  {line}" for line in _logical(child))


class _Shared:
    """Knows the nodes that have several above them, by numbers, and which of them were printed."""

    def __init__(self, plans: Plans) -> None:
        self.users: Counter[int] = Counter()
        self.numbers: dict[int, int] = {}
        self.printed: set[int] = set()
        for plan in plans:
            self._count(plan)

    def _count(self, node: Physical) -> None:
        self.users[id(node)] += 1
        if self.users[id(node)] == 2:
            self.numbers[id(node)] = len(self.numbers) + 1
        if self.users[id(node)] == 1:
            for child in node.inputs:
                self._count(child)

    def lines(self, node: Physical) -> Iterator[str]:
        number = self.numbers.get(id(node))
        mark = "" if number is None else f" [{number}]"
        if id(node) in self.printed:
            yield f"{type(node).__name__}{mark} as above"
            return
        self.printed.add(id(node))
        name = getattr(node.asked, "name", None)
        yield f"{type(node).__name__}{mark}{'' if name is None else f' {name}'}{_fields(node, _DECIDED)}"
        yield from (f"  - {reason}" for reason in node.reasons)
        for child in (*getattr(node, "exchanges", ()), *node.inputs):
            yield from (f"  {line}" for line in self.lines(child))


def _fields(node: Any, without: Collection[str]) -> str:
    return "".join(f" {text}" for text in _shown(node, without))


def _shown(value: Any, without: Collection[str] = ()) -> Iterator[str]:
    for field in fields(value):
        content = getattr(value, field.name)
        if field.repr and field.name not in without and not _is_default(field, content):
            yield f"{field.name}={_text(content)}"


def _is_default(field: Field[Any], value: Any) -> bool:
    if field.default_factory is not MISSING:
        return bool(value == field.default_factory())
    return field.default is not MISSING and bool(value == field.default)


def _text(value: Any) -> str:
    """A value without its defaults, the same in every run."""
    if isinstance(value, Node):
        return value.name if isinstance(value, Stream) else type(value).__name__
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, pa.Schema):
        return _text(tuple(f"{field.name} {field.type}" for field in value))
    if isinstance(value, (frozenset, tuple)):
        items = sorted(map(_text, value)) if isinstance(value, frozenset) else map(_text, value)
        return f"({', '.join(items)})"
    if isinstance(value, Physical):
        return f"{type(value).__name__}{_fields(value, _DECIDED)}"
    if is_dataclass(value) and type(value).__str__ is object.__str__:
        return f"{type(value).__name__}({', '.join(_shown(value))})"
    return str(value)
