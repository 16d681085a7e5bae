"""COMPRESS after a query: what it says of the windows and of the joins of its SELECT."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from windrow.errors import QueryError
from windrow.language.expressions.names import Scope
from windrow.language.expressions.positions import checked
from windrow.language.grammar.clauses import Suffix
from windrow.language.grammar.compress import CompressClause
from windrow.plan.compression import Compression, CompressionMode
from windrow.plan.nodes import Node, WindowAggregate


def is_compress(suffix: Suffix) -> bool:
    return isinstance(suffix.value, CompressClause)


def compression_of_joins(suffixes: Iterable[Suffix]) -> Compression:
    """How the joins of a SELECT keep their rows: by the mode alone."""
    modes = (s.value.mode for s in suffixes if isinstance(s.value, CompressClause))
    return Compression(next(modes, None) or CompressionMode.AUTO)


def refuse_bounds(suffix: Suffix) -> None:
    """Refuse columns with bounds in a query that has joins and no window."""
    for one in suffix.value.bounds:
        raise QueryError(
            "goes with the aggregates of a window: a join compares its columns and gives them as they came",
            parameter="within",
            value=f"{one.column.name} within {one.bound!r}",
            hint="leave it out, or put a window over the join",
            position=one.column.where,
        )


def resolved(suffix: Suffix, scope: Scope) -> Suffix:
    """The suffix with the columns of its bounds found in the input of the window."""
    if not isinstance(suffix.value, CompressClause):
        return suffix
    bounds = tuple((scope.attribute(one.column), one.bound) for one in suffix.value.bounds)
    return replace(suffix, field="compression", value=Compression(suffix.value.mode or CompressionMode.AUTO, bounds))


def check_bounds(suffix: Suffix, node: Node) -> None:
    """Whether a window can do with each bound of COMPRESS, with the error at the column that it is for."""
    if not isinstance(node, WindowAggregate) or not is_compress(suffix):
        return
    for place, one in enumerate(suffix.value.bounds):
        alone = replace(node.compression, within=node.compression.within[: place + 1])
        checked(replace(node, compression=alone), one.column.where)
