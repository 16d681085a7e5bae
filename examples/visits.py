"""Sessions: visits to a site, each over once its visitor has been away for half an hour."""

from __future__ import annotations

from datetime import datetime, timezone

import pyarrow as pa

import windrow as wr

clicks = [  # in order of arrival
    ("ann", "home", "09:00"),
    ("bob", "home", "09:05"),
    ("ann", "order", "09:40"),
    ("ann", "shoes", "09:20"),  # joins the two clicks of ann into one visit
    ("bob", "hats", "10:10"),
    ("ann", "home", "11:00"),
]
table = pa.table(
    {
        "visitor": [visitor for visitor, _, _ in clicks],
        "page": [page for _, page, _ in clicks],
        "time": [datetime(2024, 1, 2, int(clock[:2]), int(clock[3:]), tzinfo=timezone.utc) for _, _, clock in clicks],
    }
)

query = (
    wr.stream(table, time="time", progress=wr.slack("30 min"))
    .group_by("visitor")
    .window(gap="30 min")
    .agg(clicks=wr.count(), entry=wr.first("page"), path=wr.collect("page"))
)
for row in query.collect().to_pylist():
    print(row["visitor"], f"{row['window_start']:%H:%M}", row["clicks"], row["entry"], "->".join(row["path"]))

# It prints:
# bob 09:05 1 home home
# ann 09:00 3 home home->shoes->order
# bob 10:10 1 hats hats
# ann 11:00 1 home home
