"""Memory of a tumbling-window join over unions whose sources lag: in order against out of order. Figure 8-9.

Query 8-3 joins packets of one flow in opposite directions in windows of ten seconds: those of A and B with those of C
and D. B arrives up to 100 seconds behind A, and D behind C. In order, the unions hold the rows of the source that is
ahead until the other has come as far; out of order the rows wait inside the join. 1,000 packets a second and source,
a tenth of the thesis'.
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

RATE, SECONDS, FLOWS = 1_000, 300, 20_000
SKEWS = (0, 10, 20, 40, 60, 80, 100)


def query(streams: dict[str, wr.Query]) -> Node:
    text = f"""
        SELECT M1.srcIP, M1.destIP, M1.ts FROM A UNION B AS M1, C UNION D AS M2 [RANGE TUMBLING 10000000, WA ts]
        WHERE {SAME_FLOW.format("M1", "M2")}"""
    return wr.sql(text, **streams).plan


def main(settings: Settings) -> None:
    flows, seconds = Flows(FLOWS), settings.rows(SECONDS)
    links = {
        name: flows.packets(seconds, RATE, seed=place, back=name in "CD") for place, name in enumerate("ABCD", start=2)
    }
    found = {skew: compared(links, query, {"B": skew, "D": skew}) for skew in SKEWS}
    save([report("Q8-3", "skew of arrival, s", found)])


if __name__ == "__main__":
    main(begin(__doc__))
