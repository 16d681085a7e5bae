"""From SQL to Verilog to the simulated answer: the papers' query on a circuit, beside the software."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

import windrow as wr
from windrow.cli import main

SQL = """
    CREATE STREAM trades FROM 'trades.parquet' PROGRESS ON ts SLACK 6;
    SELECT count(*) AS number, avg(price) AS mean
    FROM trades [RANGE 40 SLIDE 20 WATTR ts]
    WHERE symbol = 'UBSN' AND price > 10
"""
draw = random.Random(1)
trades: dict[str, Any] = {
    "symbol": [draw.choice(["UBSN", "CSGN"]) for _ in range(100)],
    "price": pa.array([draw.randrange(8, 20) for _ in range(100)], pa.uint8()),
    "ts": [second - draw.randrange(6) for second in range(6, 106)],  # up to 5 seconds late
}
pq.write_table(pa.table(trades), "trades.parquet")

# On the command line: windrow synth trades.sql --output trades.v --simulate
Path("trades.sql").write_text(SQL, encoding="utf-8")
small = ["--algorithm", "wid", "--not-null", "*", "--time-width", "16", "--width", "mean=16"]
done = CliRunner().invoke(
    main, ["synth", "trades.sql", "--output", "trades.v", "--simulate", "--simulator", "python", *small]
)
print(next(line for line in done.stdout.splitlines() if line.startswith("equal")))
circuit = json.loads(Path("trades.json").read_text(encoding="utf-8"))
print("a row has", circuit["row"]["bits"], "bits, UBSN is", circuit["row"]["columns"][0]["dictionary"].index("UBSN"))

# The same from Python, as an engine.
answer = wr.sql(SQL).run(engine="hardware", algorithm="wid", simulator="python", time_width=16)
for row in answer.table.to_pylist():
    print(row["window_start"], "to", row["window_end"], row["number"], f"{row['mean']:.2f}")

# It prints:
# equal      7 results, as the software gives them
# a row has 9 bits, UBSN is 1
# -20 to 20 3 17.67
# 0 to 40 10 15.10
# 20 to 60 12 14.25
# 40 to 80 15 15.47
# 60 to 100 14 15.86
# 80 to 120 6 15.33
# 100 to 140 2 14.50
