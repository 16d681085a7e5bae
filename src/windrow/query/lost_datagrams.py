"""What a run reports of datagrams that its sources know of and did not get."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from windrow.errors import LostDatagramsWarning
from windrow.query.late_rows import outside

if TYPE_CHECKING:
    from windrow.pipeline.metrics import Metrics


def lost_datagrams(each: Sequence[Metrics]) -> list[str]:
    """A sentence for each source, however many queries read it."""
    lost = dict[str, int]()
    for metrics in each:
        for name, source in metrics.sources.items():
            if source.lost:
                lost[name] = max(lost.get(name, 0), source.lost)
    return [
        f"{count:,} datagram{'s' if count > 1 else ''} of {name} {'were' if count > 1 else 'was'} lost, on the way or "
        "because the socket's buffer was full: answers lack their rows; a larger buffer=, fewer columns or a slower "
        "sender would help"
        for name, count in lost.items()
    ]


def warn_of_lost_datagrams(each: Sequence[Metrics]) -> None:
    """Warn once of all queries of a run, at the line of the user who asked for the answers."""
    texts = lost_datagrams(each)
    if texts:
        lost = max(metrics.datagrams_lost for metrics in each)
        warnings.warn(LostDatagramsWarning("; ".join(texts), lost=lost), stacklevel=outside())
