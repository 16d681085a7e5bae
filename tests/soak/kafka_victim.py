"""Runs one query from a topic to topics, exactly once, on from its checkpoint: `python kafka_victim.py ENGINE FOLDER`.

The folder has `addresses.json`: those of the trades, the results and the rejects.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

import windrow as wr
from windrow.engines.run import Receiver, untagged
from windrow.plan.checks.nodes import shape_of
from windrow.query.running import begin
from windrow.sinks.kafka.sink import open_kafka
from windrow.sources.rejects import REJECTS

TEXT = """
CREATE STREAM trades (symbol STRING, price INT, ts TIMESTAMP)
  FROM '{address}' PROGRESS ON ts SLACK {slack} SECONDS;
SELECT symbol, count(*) AS n, sum(price) AS total, max(price) AS high
FROM trades [RANGE 10 SECONDS SLIDE 5 SECONDS WATTR ts] GROUP BY symbol
"""
SLACK = 60


def main(engine: str, folder: Path) -> None:
    addresses = json.loads((folder / "addresses.json").read_text())
    query = wr.sql(TEXT.format(address=addresses["trades"], slack=SLACK))
    state = folder / "state"
    began = state.exists() and any(state.glob("[1-9]*" if engine == "local" else "*.json"))
    options: dict[str, Any] = {"engine": engine, "checkpoint": state, "restore": began}
    (_on_spark if engine == "spark" else _in_process)(query, addresses, options)
    (folder / "done").touch()


def _in_process(query: wr.Query, addresses: dict[str, str], options: dict[str, Any]) -> None:
    answer = open_kafka(addresses["results"], shape_of(query.plan).bounded_answer)
    aside = open_kafka(addresses["rejects"], REJECTS)
    into = Receiver(
        lambda _, batch: answer.write(batch), on_reject=aside.write, sinks={"output": answer, "rejected": aside}
    )
    begin([query.plan], [query.sources], untagged, into=into, batch_rows=300, checkpoint_every=900, **options)
    answer.close()
    aside.close()


def _on_spark(query: wr.Query, addresses: dict[str, str], options: dict[str, Any]) -> None:
    inner = {"output": addresses["results"], "rejected_output": addresses["rejects"], "once": True}

    def ignore(_query: int, _batch: pa.RecordBatch) -> None:
        """Spark itself writes."""

    begin([query.plan], [query.sources], untagged, into=Receiver(ignore), inner=inner, **options)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
