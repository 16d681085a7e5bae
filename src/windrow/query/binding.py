"""Names for streams, so that two queries can be put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windrow.sources.base import Source


def fresh_names(wanted: Mapping[str, Source], taken: Mapping[str, Source]) -> dict[str, str]:
    """A name for each stream that no other data has: `trades`, `trades_2`, ..."""
    names: dict[str, str] = {}
    for name, source in wanted.items():
        fresh, number = name, 1
        while fresh in names.values() or taken.get(fresh, source) is not source:
            number += 1
            fresh = f"{name}_{number}"
        names[name] = fresh
    return names
