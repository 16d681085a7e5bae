"""What sources have in common that bring what comes, for as long as somebody wants it."""

from __future__ import annotations

from windrow.sources.base import Delivery, Source


class EndlessSource(Source):
    """Rows that come here and nowhere else, and come once."""

    @property
    def is_live(self) -> bool:
        return True

    @property
    def is_endless(self) -> bool:
        return True

    @property
    def in_process_only(self) -> bool:
        return True

    @property
    def delivery(self) -> Delivery:
        return Delivery.AT_MOST_ONCE
