"""Memory of a tumbling-window join one of whose inputs has a few late rows: in order against out of order. Figure 8-10.

Query 8-4 joins packets of M1 with those of M2 and C in opposite directions in windows of a minute. C is a link with
less than a packet a second, which comes up to ten seconds late. In order, the rows of M2 wait for it before the join
may have them, and the join's state is let go as late; out of order they go into the join at once. 4,000 packets a
second on M1 and M2.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from _flows import SAME_FLOW, Flows
from _harness import Settings, begin
from _join_memory import compared, report
from _pictures import save

import windrow as wr
from windrow.plan.nodes import Node

RATE, SECONDS, FLOWS = 4_000, 240, 80_000
DELAYS = (0, 2, 4, 6, 8, 10)


def query(streams: dict[str, wr.Query]) -> Node:
    text = f"""
        SELECT M1.srcIP, M1.destIP, M1.ts FROM M1, M2 UNION C AS M3 [RANGE TUMBLING 60000000, WA ts]
        WHERE {SAME_FLOW.format("M1", "M3")}"""
    return wr.sql(text, **streams).plan


def main(settings: Settings) -> None:
    flows, seconds = Flows(FLOWS), settings.rows(SECONDS)
    links = {
        "M1": flows.packets(seconds, RATE, seed=2),
        "M2": flows.packets(seconds, RATE, seed=3, back=True),
        "C": flows.packets(seconds, 1, seed=4, back=True),
    }
    found = {delay: compared(links, query, {"C": delay}) for delay in DELAYS}
    save([report("Q8-4", "delay of C, s", found)])


if __name__ == "__main__":
    main(begin(__doc__))
