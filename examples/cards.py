"""Slide-by-tuple windows: what each payment brings a card's spending of the last hour to, payments out of order."""

from __future__ import annotations

import pyarrow as pa

import windrow as wr

payments = pa.table(
    {  # the payment of minute 31 arrives after that of minute 55
        "card": ["red", "blue", "red", "blue", "red", "red"],
        "amount": [20, 90, 45, 10, 80, 15],
        "minute": [5, 12, 40, 55, 31, 66],
    }
)

HOUR = "(PARTITION BY card ORDER BY minute RANGE BETWEEN 60 PRECEDING AND CURRENT ROW)"
query = wr.sql(
    f"SELECT card, minute, count(*) OVER {HOUR} AS payments, sum(amount) OVER {HOUR} AS spent FROM payments",
    payments=wr.stream(payments, time="minute", progress=wr.slack(30)),
)
for row in query.collect().to_pylist():
    print("minute", row["minute"], row["card"], "payments", row["payments"], "spent", row["spent"])

# It prints:
# minute 5 red payments 1 spent 20
# minute 12 blue payments 1 spent 90
# minute 31 red payments 2 spent 100
# minute 40 red payments 3 spent 145
# minute 55 blue payments 2 spent 100
# minute 66 red payments 3 spent 140
