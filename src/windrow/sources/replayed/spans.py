"""Stretches of a source: the rows between two offsets of a stream, and where such a stretch is cut for parallel work.

An offset is `{"rows": n}`, and `{"rows": n, "ended": true}` once the source is known to be over. Everything here is a
function of offsets and of the source's layout alone, so that a restart reads what was read before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

from windrow.sources import Source
from windrow.sources.files.file_source import FileSource
from windrow.sources.files.paths import Kind

Offset: TypeAlias = dict[str, Any]

LEAST_ROWS = 1 << 16
"""A span is not cut into pieces of fewer rows than this: starting a task costs more than reading them."""


@dataclass(frozen=True)
class Span:
    """Rows `first` to `last` of a source, end exclusive; `ends` says that nothing follows."""

    first: int
    last: int
    ends: bool = False

    @property
    def rows(self) -> int:
        return self.last - self.first


def offset(rows: int, ended: bool) -> Offset:
    """What the stream remembers after its first `rows` rows.

    >>> offset(10, False), offset(12, True)
    ({'rows': 10}, {'rows': 12, 'ended': True})
    """
    return {"rows": rows, "ended": True} if ended else {"rows": rows}


def span_between(start: Mapping[str, Any], end: Mapping[str, Any]) -> Span:
    """The rows after one offset up to another; the end of the source lies in the span that first knows of it."""
    return Span(start["rows"], end["rows"], bool(end.get("ended")) and not start.get("ended"))


def cut_span(span: Span, pieces: int, seams: Sequence[int] | None) -> list[Span]:
    """The span in up to `pieces` spans of about the same size, cut only at `seams` (None: anywhere).

    >>> cut_span(Span(0, 300_000, True), 2, seams=[100_000, 200_000])
    [Span(first=0, last=100000, ends=False), Span(first=100000, last=300000, ends=True)]
    """
    pieces = min(pieces, span.rows // LEAST_ROWS)
    ideal = [span.first + span.rows * i // pieces for i in range(1, pieces)]
    cuts = ideal if seams is None else [_nearest(seams, row) for row in ideal]
    inner = sorted({row for row in cuts if row is not None and span.first < row < span.last})
    bounds = [span.first, *inner, span.last]
    return [Span(first, last, span.ends and last == span.last) for first, last in pairwise(bounds)]


def _nearest(seams: Sequence[int], row: int) -> int | None:
    at = bisect_left(seams, row)
    return min(seams[max(0, at - 1) : at + 1], key=lambda seam: abs(seam - row), default=None)


def can_seek(source: Source) -> bool:
    """Reading can begin in the middle; other sources are read, or made, from their beginning."""
    if isinstance(source, FileSource):
        return source.kind is Kind.PARQUET
    return source.total_rows is not None and getattr(source, "can_seek", True)


def seams_of(source: Source) -> Sequence[int] | None:
    """Rows at which reading can begin without decoding what lies before; None where that is any row."""
    if not can_seek(source):
        return []
    if not isinstance(source, FileSource):
        return None
    import pyarrow.parquet as pq

    metadata = [pq.read_metadata(path) for path in source.files]
    sizes = [one.row_group(group).num_rows for one in metadata for group in range(one.num_row_groups)]
    return list(accumulate(sizes))
