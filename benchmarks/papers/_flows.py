"""Packets of network flows on several links, for the joins of the thesis: those of one flow in opposite directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled

PORTS = 65_536
COLUMNS = ("srcIP", "srcPort", "destIP", "destPort")


@dataclass(frozen=True)
class Flows:
    """Connections that packets belong to, each a pair of addresses and ports."""

    number: int
    seed: int = 1

    def packets(self, seconds: float, rate: int, *, seed: int, back: bool = False) -> pa.Table:
        """Packets in order of time, `rate` a second; `back` swaps their source and destination."""
        random = np.random.default_rng(seed)
        times = np.sort(random.integers(0, int(seconds * 1e6), int(seconds * rate)))
        flow = random.integers(0, self.number, len(times))
        ends = dict(zip(COLUMNS, self._ends(), strict=True))
        if back:
            ends = dict(zip(COLUMNS, [ends[name] for name in (*COLUMNS[2:], *COLUMNS[:2])], strict=True))
        return tabled(**{name: values[flow] for name, values in ends.items()}, ts=times)

    def _ends(self) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
        random = np.random.default_rng(self.seed)
        return [random.integers(0, PORTS, self.number) for _ in COLUMNS]


SAME_FLOW = " AND ".join(
    f"{{0}}.{one} = {{1}}.{other}" for one, other in zip(COLUMNS, (*COLUMNS[2:], *COLUMNS[:2]), strict=True)
)
"""The condition of the queries, to be formatted with the names of two streams."""
