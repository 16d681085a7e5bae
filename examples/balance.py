"""Landmark windows: the balance of each account at the end of each day, from bookings that come late."""

from __future__ import annotations

import pyarrow as pa

import windrow as wr

bookings = pa.table(
    {  # the booking of day 1 over -40 arrives on day 2
        "account": ["giro", "savings", "giro", "giro", "savings", "giro"],
        "amount": [100, 1000, -30, -40, 500, 250],
        "day": [0, 0, 2, 1, 3, 3],
    }
)

query = (
    wr.stream(bookings, time="day", progress=wr.slack(1))
    .group_by("account")
    .window(range="unbounded", slide=1)
    .agg(balance=wr.sum("amount"))
)
for row in query.collect().to_pylist():
    print("up to day", row["window_end"], row["account"], row["balance"])

# It prints:
# up to day 1 giro 100
# up to day 1 savings 1000
# up to day 2 giro 60
# up to day 2 savings 1000
# up to day 3 giro 30
# up to day 3 savings 1000
# up to day 4 giro 280
# up to day 4 savings 1500
