"""Runs one query in process, from its checkpoint where there is one, to its end: `local_victim.py CASE THREADS FOLDER`.

A checkpoint is due after every batch, and batches are small. The answer appears in the folder when all is done.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as parquet

from tests.soak.queries import CASES, MEMORY

STATE = "state"
ANSWERS = ("late.parquet", "results.parquet")
"""Written in this order: with the second all is there."""


def main(case: str, threads: int, folder: Path) -> None:
    query = {one.__name__: one for one in CASES}[case](folder)
    result = query.run(
        engine="local",
        batch_rows=10,
        threads=threads,
        checkpoint=str(folder / STATE),
        checkpoint_every="1 ms",
        restore=True,
        memory=MEMORY,
    )
    for name, table in zip(ANSWERS, (result.late, result.table), strict=True):
        parquet.write_table(table, folder / "unfinished")
        (folder / "unfinished").rename(folder / name)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
