"""Brokers that do not answer for a while: waited for, logged, and in the end given up."""

from __future__ import annotations

import json
from collections.abc import Callable
from logging import WARNING
from time import monotonic
from typing import Any

from windrow.errors import SourceError
from windrow.events import tell
from windrow.sources.kafka.address import KafkaAddress
from windrow.sources.kafka.client import Faults, refused, text_of


class Connection:
    """What one client has reported of its brokers and of the topic."""

    def __init__(self, name: str, address: KafkaAddress, clock: Callable[[], float] = monotonic) -> None:
        self.name = name
        self.address = address
        self.clock = clock
        self.faults = Faults()
        self.partitions: set[int] = set()
        """Those that the client has heard of."""
        self.is_up = True
        self.since: float | None = None
        """When the brokers went away."""

    def note_statistics(self, text: str) -> None:
        """The client's callback: whether a broker answers, and which partitions there are."""
        found = json.loads(text)
        self.is_up = any(broker["state"] == "UP" for broker in found["brokers"].values())
        partitions = found["topics"].get(self.address.topic, {}).get("partitions", {})
        self.partitions.update(int(one) for one in partitions if int(one) >= 0)

    def look(self, has_come: bool) -> None:
        """Take note of an outage or its end; raises once it is too long. `has_come`: there was a message just now."""
        faults = self.faults
        if faults.fatal is not None:
            raise SourceError("cannot be read", parameter=self.name, value=text_of(faults.fatal))
        away, faults.away = faults.away, None
        if self.since is None:
            if (away or faults.refused) is not None and not has_come:
                self._go_away(faults.refused or faults.reason or away)
        elif has_come or (self.is_up and away is None):
            self._come_back()
        elif self.clock() - self.since > self.address.patience:
            raise self._given_up()

    def _go_away(self, fault: Any) -> None:
        self.since, self.is_up = self.clock(), False
        told = f"{self.address.text}: no broker answers ({text_of(fault)}); waiting"
        tell("source.away", told, level=WARNING, source=self.name)

    def _come_back(self) -> None:
        assert self.since is not None
        silence, self.since, self.faults.refused = self.clock() - self.since, None, None
        told = f"{self.address.text}: answers again after {silence:.1f} s"
        tell("source.back", told, level=WARNING, source=self.name, seconds=round(silence, 1))

    def _given_up(self) -> Exception:
        if self.faults.refused is not None:
            return refused(self.address, self.name, self.faults.refused)
        return SourceError(
            f"must have a broker that answers; none did for {self.address.patience:g} seconds",
            parameter=self.name,
            value=self.address.shown,
            hint="a run with a checkpoint goes on with --restore once one does; patience=1 hour in the address waits "
            "longer",
        )
