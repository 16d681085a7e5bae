"""Tumbling windows: a minute's mean per room, from two gateways of which one lags behind."""

from __future__ import annotations

import pyarrow as pa

import windrow as wr

COLUMNS = ("room", "celsius", "second")
upstairs = [("attic", 31.0, 2), ("study", 22.5, 30), ("attic", 32.0, 65), ("study", 22.0, 59), ("attic", 30.5, 130)]
downstairs = [("cellar", 12.0, 10), ("hall", 19.0, 4), ("cellar", 12.5, 70), ("hall", 18.5, 61), ("cellar", 12.0, 128)]


def stream(name: str, rows: list[tuple[str, float, int]]) -> wr.Query:
    """One gateway: its rows come at most 20 seconds out of order."""
    table = pa.table(dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True)))
    return wr.stream(table, time="second", progress=wr.slack(20), name=name)


query = (
    stream("upstairs", upstairs)
    .union(stream("downstairs", downstairs))
    .group_by("room")
    .window(range=60)
    .agg(mean=wr.avg("celsius"), readings=wr.count())
)
query.write("-")

# It prints:
# room    window_start  window_end   mean  readings
# ------  ------------  ----------  -----  --------
# attic              0          60     31         1
# study              0          60  22.25         2
# cellar             0          60     12         1
# hall               0          60     19         1
# attic             60         120     32         1
# cellar            60         120   12.5         1
# hall              60         120   18.5         1
# attic            120         180   30.5         1
# cellar           120         180     12         1
