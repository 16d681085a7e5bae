"""Stretches of a source: the rows between two offsets of a stream, and where such a stretch is cut for parallel work.

An offset is `{"rows": n}`, and `{"rows": n, "ended": true}` once the source is known to be over. Everything here is a
function of offsets and of the source's layout alone, so that a restart reads what was read before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from windrow.sources import Source
from windrow.sources.files.file_source import FileSource

Offset: TypeAlias = dict[str, Any]

LEAST_ROWS = 1 << 16
"""A span is not cut into pieces of fewer rows than this: starting a task costs more than reading them."""


@dataclass(frozen=True)
class RowSpan:
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


def span_between(start: Mapping[str, Any], end: Mapping[str, Any]) -> RowSpan:
    """The rows after one offset up to another; the end of the source lies in the span that first knows of it."""
    return RowSpan(start["rows"], end["rows"], bool(end.get("ended")) and not start.get("ended"))


def cut_span(span: RowSpan, pieces: int, seams: Sequence[int] | None) -> list[RowSpan]:
    """The span in up to `pieces` spans of about the same size, cut only at `seams` (None: anywhere).

    >>> cut_span(RowSpan(0, 300_000, True), 2, seams=[100_000, 200_000])
    [RowSpan(first=0, last=100000, ends=False), RowSpan(first=100000, last=300000, ends=True)]
    """
    pieces = min(pieces, span.rows // LEAST_ROWS)
    ideal = [span.first + span.rows * i // pieces for i in range(1, pieces)]
    cuts = ideal if seams is None else [_nearest(seams, row) for row in ideal]
    inner = sorted({row for row in cuts if row is not None and span.first < row < span.last})
    bounds = [span.first, *inner, span.last]
    return [RowSpan(first, last, span.ends and last == span.last) for first, last in pairwise(bounds)]


def _nearest(seams: Sequence[int], row: int) -> int | None:
    at = bisect_left(seams, row)
    return min(seams[max(0, at - 1) : at + 1], key=lambda seam: abs(seam - row), default=None)


def seams_of(source: Source) -> Sequence[int] | None:
    """Rows at which reading can begin without reading what lies before; None where that is any row."""
    if not source.can_seek:
        return []
    return source.seams() if isinstance(source, FileSource) else None
